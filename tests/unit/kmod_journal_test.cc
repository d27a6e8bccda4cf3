#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/check.h"
#include "base/fd.h"
#include "kmod_setup/journal.h"
#include "tests/support/fake_kernel_fs.h"

namespace blkfair {
namespace {

constexpr int kDeadPid = 4242;

class JournalTest : public testing::Test {
 protected:
  void SetUp() override { fs_.AddProcess(::getpid(), "100"); }

  std::string JournalDir() const { return dir_.path() + "/journals"; }
  std::string KernelPath(const std::string& name) const { return fs_.roots().sys + "/" + name; }

  // The journal of a run that is no more.
  std::string WriteDeadJournal(const std::string& entries, const std::string& boot = "first-boot") {
    std::filesystem::create_directories(JournalDir());
    const std::string path = JournalDir() + "/journal-" + std::to_string(kDeadPid);
    EXPECT_TRUE(WriteWholeFile(
        path, fmt::format("blkfair-journal\t1\t{}\t55\t{}\n{}", kDeadPid, boot, entries)));
    return path;
  }
  CleanReport Clean() { return UndoJournals(JournalDir(), fs_, modules_, nullptr); }

  TempDir dir_;
  FakeKernelFs fs_{dir_.path() + "/kernel"};
  FakeModuleLoader modules_{&fs_};
};

TEST_F(JournalTest, ReadsBackWhatWasBegun) {
  Journal journal = Journal::Create(JournalDir(), fs_).value();
  const Operation odd = {OperationKind::kWrite, "/a\tb", "old\nvalue", "new\\n"};
  const Operation plain = {OperationKind::kMakeDir, "/c", "", ""};
  const uint64_t undone = journal.Begin(plain).value();
  ASSERT_TRUE(journal.Begin(odd));
  ASSERT_TRUE(journal.MarkUndone(undone));
  const JournalContents contents = ParseJournal(ReadWholeFile(journal.path()).value()).value();
  EXPECT_EQ(contents.owner, ::getpid());
  EXPECT_EQ(contents.owner_start_time, "100");
  EXPECT_EQ(contents.boot_id, "first-boot");
  ASSERT_EQ(contents.open.size(), 1u);
  EXPECT_EQ(contents.open[0].second, odd);
}

TEST_F(JournalTest, LeavesNoFileWhenEverythingWasUndone) {
  {
    Journal journal = Journal::Create(JournalDir(), fs_).value();
    const uint64_t id = journal.Begin({OperationKind::kSet, "/x", "", "1"}).value();
    EXPECT_TRUE(std::filesystem::exists(journal.path()));
    ASSERT_TRUE(journal.MarkUndone(id));
  }
  EXPECT_TRUE(std::filesystem::is_empty(JournalDir()));
}

TEST_F(JournalTest, KeepsItsFileWhileSomethingIsOpen) {
  {
    Journal journal = Journal::Create(JournalDir(), fs_).value();
    ASSERT_TRUE(journal.Begin({OperationKind::kSet, "/x", "", "1"}));
  }
  EXPECT_FALSE(std::filesystem::is_empty(JournalDir()));
}

TEST_F(JournalTest, TellsTwoJournalsOfOneProcessApart) {
  const Journal first = Journal::Create(JournalDir(), fs_).value();
  const Journal second = Journal::Create(JournalDir(), fs_).value();
  EXPECT_NE(first.path(), second.path());
}

TEST_F(JournalTest, LeavesOutATornLastLine) {
  const std::string head = "blkfair-journal\t1\t7\t8\tboot\n";
  const std::string whole = "do\t1\tmkdir\t/a\t\t\n";
  const std::string torn = "do\t2\twrite\t/b\t0\t1";
  const JournalContents contents = ParseJournal(head + whole + torn).value();
  ASSERT_EQ(contents.open.size(), 1u);
  EXPECT_EQ(contents.open[0].second.object, "/a");
  EXPECT_TRUE(ParseJournal("blkfair-jour").value().open.empty());
}

TEST_F(JournalTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_FALSE(ParseJournal("something else\n"));
  EXPECT_FALSE(ParseJournal("blkfair-journal\t1\t7\t8\tboot\ndo\t1\tfly\t/a\t\t\n"));
}

TEST_F(JournalTest, CleanLeavesALiveRunAlone) {
  Journal journal = Journal::Create(JournalDir(), fs_).value();
  ASSERT_TRUE(WriteWholeFile(KernelPath("knob"), "new\n"));
  ASSERT_TRUE(journal.Begin({OperationKind::kWrite, KernelPath("knob"), "old", "new"}));
  const CleanReport report = Clean();
  EXPECT_EQ(report.journals_live, 1u);
  EXPECT_EQ(fs_.ReadLine(KernelPath("knob")).value(), "new");
  EXPECT_TRUE(std::filesystem::exists(journal.path()));
}

TEST_F(JournalTest, CleanTakesAReusedPidForDead) {
  fs_.AddProcess(kDeadPid, "56");  // the journal says 55
  ASSERT_TRUE(WriteWholeFile(KernelPath("knob"), "none [new] old\n"));
  const std::string path =
      WriteDeadJournal(fmt::format("do\t1\twrite\t{}\told\tnew\n", KernelPath("knob")));
  const CleanReport report = Clean();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.journals_undone, 1u);
  EXPECT_EQ(fs_.ReadLine(KernelPath("knob")).value(), "old");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(JournalTest, CleanGoesOnPastFailuresAndFinishesLater) {
  ASSERT_TRUE(WriteWholeFile(KernelPath("first"), "1\n"));
  ASSERT_TRUE(WriteWholeFile(KernelPath("second"), "1\n"));
  const std::string path =
      WriteDeadJournal(fmt::format("do\t1\twrite\t{}\t0\t1\ndo\t2\twrite\t{}\t0\t1\ndo\t3\twri",
                                   KernelPath("first"), KernelPath("second")));
  fs_.FailMutation(0);
  const CleanReport failed = Clean();
  ASSERT_EQ(failed.failures.size(), 1u);
  EXPECT_NE(failed.failures[0].find("second: Input/output error"), std::string::npos)
      << failed.failures[0];
  EXPECT_EQ(fs_.ReadLine(KernelPath("first")).value(), "0");
  EXPECT_EQ(fs_.ReadLine(KernelPath("second")).value(), "1");
  EXPECT_TRUE(std::filesystem::exists(path));

  const CleanReport finished = Clean();
  EXPECT_TRUE(finished.ok());
  EXPECT_EQ(finished.operations_undone, 1u);
  EXPECT_EQ(fs_.ReadLine(KernelPath("second")).value(), "0");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(Clean().ok());
}

TEST_F(JournalTest, CleanRemovesNothingWithoutOurPrefix) {
  const std::string theirs = dir_.path() + "/precious";
  ASSERT_TRUE(std::filesystem::create_directory(theirs));
  WriteDeadJournal(fmt::format("do\t1\tmkdir\t{0}\t\t\ndo\t2\tfolder\t{0}\t\t\n", theirs));
  EXPECT_EQ(Clean().failures.size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(theirs));
}

TEST_F(JournalTest, CleanRemovesOnlyFoldersAfterAReboot) {
  const std::string folder = dir_.path() + "/blkfair-work";
  std::filesystem::create_directories(folder + "/inner");
  ASSERT_TRUE(WriteWholeFile(KernelPath("knob"), "1\n"));
  WriteDeadJournal(
      fmt::format("do\t1\twrite\t{}\t0\t1\ndo\t2\tfolder\t{}\t\t\n", KernelPath("knob"), folder),
      "another-boot");
  EXPECT_TRUE(Clean().ok());
  EXPECT_EQ(fs_.ReadLine(KernelPath("knob")).value(), "1");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

// A process that sends back the byte it gets, as long as it lives.
class EchoProcess {
 public:
  EchoProcess() {
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0);
    pid_ = ::fork();
    if (pid_ != 0) {
      ours_.Reset(ends_[0]);
      UniqueFd{ends_[1]}.Reset();
      return;
    }
    char byte = 0;
    while (::read(ends_[1], &byte, 1) == 1 && ::write(ends_[1], &byte, 1) == 1) {
    }
    ::_exit(0);
  }
  pid_t pid() const { return pid_; }
  bool Lives() const {
    char byte = 'x';
    return ::send(ours_.get(), &byte, 1, MSG_NOSIGNAL) == 1 && ::read(ours_.get(), &byte, 1) == 1;
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t pid_ = -1;
  UniqueFd ours_;
};

TEST_F(JournalTest, UndoEndsTheProcessThatWasStartedAndNoOther) {
  const EchoProcess process;
  KernelFs real(KernelRoots::Real());
  const Operation spawn = SpawnOperation(real, process.pid()).value();
  Operation earlier = spawn;
  earlier.before = "1";  // the same pid, long ago
  ASSERT_TRUE(UndoOperation(earlier, real, modules_));
  EXPECT_TRUE(process.Lives());
  ASSERT_TRUE(UndoOperation(spawn, real, modules_));
  int status = 0;
  ASSERT_EQ(::waitpid(process.pid(), &status, 0), process.pid());
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(UndoOperation(spawn, real, modules_));
}

}  // namespace
}  // namespace blkfair

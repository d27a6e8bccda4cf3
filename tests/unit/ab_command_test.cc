// `blkfair ab` and `compare` as a user calls them, on simulated queues: a kill and its resumption,
// planned looks, contradictions on the command line, the time that is left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "harness/cli/progress_line.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr const char* kScenario = R"(
name = "pair"
situation = "Two jobs share eight tags."
expectation = "The light one hardly notices."
why = "It is what ab is tested with."

[[fixture]]
name = "set"
kind = "sim"
queues = 2
depth = 8
service_time = ["10ms", "1ms"]
service_cv = 0.2

[[job]]
name = "heavy"
queue = "set:0"
iodepth = 32

[[job]]
name = "light"
queue = "set:1"

[[phase]]
name = "contention"
jobs = ["heavy", "light"]
settle = "0s"
ramp = "100ms"
runtime = "2s"

[[assert]]
kind = "gap"
phase = "contention"
job = "light"
max = "500ms"

[[compare]]
phase = "contention"
job = "light"
metric = "iops"
margin = "5%"
)";

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class AbCommandTest : public ::testing::Test {
 protected:
  AbCommandTest() {
    std::string name = ::testing::TempDir() + "/bf-ab-test-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    EXPECT_TRUE(WriteWholeFile(Path("pair.toml"), kScenario));
  }
  ~AbCommandTest() override { fs::remove_all(root_); }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }
  std::string Text(const std::string& name) const {
    return ReadWholeFile(Path(name)).value_or(std::string());
  }

  pid_t Start(Words words) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::setenv("XDG_STATE_HOME", Path("state").c_str(), 1);
    if (::chdir(root_.c_str()) != 0) ::_exit(126);
    for (const auto& [fd, name] : {std::pair(STDOUT_FILENO, "out"), {STDERR_FILENO, "err"}}) {
      const auto file = OpenFile(Path(name), O_WRONLY | O_CREAT | O_TRUNC);
      if (!file || ::dup2(file->get(), fd) < 0) ::_exit(126);
    }
    Execute(std::move(words));
  }
  [[noreturn]] static void Execute(Words words) {
    words.insert(words.begin(), BLKFAIR_EXECUTABLE);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(BLKFAIR_EXECUTABLE, argv.data());
    ::_exit(127);
  }
  Outcome Run(Words words) const {
    int status = 0;
    EXPECT_GT(::waitpid(Start(std::move(words)), &status, 0), 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Text("out"), Text("err")};
  }
  // A against B: the same but for its random numbers, and a device that is much slower.
  static Words Ab(const Words& more) {
    Words words = {"ab",      "pair.toml",
                   "--set-a", "fixture.set.policy=fair",
                   "--set-b", "fixture.set.policy=fcfs"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The texts of the records that a manifest names, by file.
  std::map<std::string, std::string> Records(const std::string& folder) const {
    std::map<std::string, std::string> records;
    const Json manifest = Json::parse(Text(folder + "/manifest.json"), nullptr, false);
    if (!manifest.is_object()) return records;
    for (const Json& name : manifest["records"]) {
      const std::string path = folder + "/" + name.get<std::string>();
      records[path] = Text(path);
    }
    return records;
  }

  fs::path root_;
};

void ExpectUsage(const Outcome& outcome, const std::string& words) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

// --- kill and resume ---

TEST_F(AbCommandTest, WhatAKillLeftIsTakenUpAndNothingIsRedone) {
  const Words longer = {"--set", "phase.contention.runtime=100s"};
  const auto ab = [&](const Words& more) {
    Words words = longer;
    words.insert(words.end(), more.begin(), more.end());
    return Ab(words);
  };
  ASSERT_EQ(Run(ab({"--out", "whole"})).exit_code, 1) << Text("err");
  const pid_t pid = Start(ab({"--out", "killed"}));
  std::map<std::string, std::string> before;
  while (before.size() < 4 && ::waitpid(pid, nullptr, WNOHANG) == 0) {
    before = Records("killed/a");
    before.merge(Records("killed/b"));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  before = Records("killed/a");
  before.merge(Records("killed/b"));
  ASSERT_GE(before.size(), 4U);
  ASSERT_LT(before.size(), 12U) << "it was over before it was killed";

  ExpectUsage(Run(ab({"--out", "killed"})), "--resume");
  ExpectUsage(Run(ab({"--out", "killed", "--resume", "--repeat", "9"})), "another command");
  const Outcome resumed = Run(ab({"--out", "killed", "--resume"}));
  EXPECT_EQ(resumed.exit_code, 1) << resumed.err;
  std::map<std::string, std::string> after = Records("killed/a");
  after.merge(Records("killed/b"));
  EXPECT_EQ(after.size(), 12U);
  // Their host parts too, which tell how long each took.
  for (const auto& [path, text] : before) EXPECT_EQ(after[path], text) << path;
  EXPECT_EQ(Text("killed/report.txt"), Text("whole/report.txt"));
  EXPECT_EQ(resumed.out, Text("whole/report.txt"));

  // What is whole is not run again at all.
  EXPECT_EQ(Run(ab({"--out", "killed", "--resume"})).exit_code, 1);
  for (const auto& [path, text] : after) EXPECT_EQ(Text(path), text) << path;
}

TEST_F(AbCommandTest, AScenarioThatChangedIsNotTakenUp) {
  ASSERT_EQ(Run(Ab({"--out", "x"})).exit_code, 1);
  std::string text = kScenario;
  text.replace(text.find("depth = 8"), 9, "depth = 6");
  ASSERT_TRUE(WriteWholeFile(Path("pair.toml"), text));
  ExpectUsage(Run(Ab({"--out", "x", "--resume"})), "was changed");
}

// --- planned looks ---

TEST_F(AbCommandTest, LooksAndErrorsArePlannedBeforehand) {
  const Words never = {"ab",      "pair.toml", "--set-a",      "seed=1",
                       "--set-b", "seed=2",    "--set",        "fixture.set.service_cv=0.9",
                       "--json",  "-q",        "--max-repeat", "14"};
  ASSERT_TRUE(WriteWholeFile(Path("pair.toml"), [] {
    std::string text = kScenario;
    return text.replace(text.find("\"5%\""), 4, "\"0.05%\"");
  }()));
  const Json report = Json::parse(Run(never).out);
  EXPECT_EQ(report["looks"], Json({6, 9, 14}));
  EXPECT_NEAR(report["confidence"].get<double>(), 1 - 0.05 / 3, 1e-12);
  EXPECT_EQ(report["metrics"][0]["n"], 14);
  EXPECT_EQ(report["exit_code"], 4);
}

TEST_F(AbCommandTest, ItStopsAtTheFirstLookThatDecidesAtTheLevelThatWasPlanned) {
  const Outcome outcome = Run(Ab({"--max-repeat", "14", "--json"}));
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["metrics"][0]["n"], 6);
  EXPECT_NEAR(report["confidence"].get<double>(), 1 - 0.05 / 3, 1e-12);
  EXPECT_EQ(outcome.exit_code, 1);
}

// --- contradictions ---

TEST_F(AbCommandTest, WhatMakesNoSenseIsRefusedBeforeAnythingRuns) {
  ExpectUsage(Run({"ab", "pair.toml"}), "nothing differs between A and B");
  ExpectUsage(Run({"ab", "pair.toml", "--kernel", "debian:6.12"}),
              "nothing differs between A and B");
  ExpectUsage(Run({"ab", "pair.toml", "--kernel", "a", "--kernel", "b", "--kernel", "c"}),
              "give --kernel twice");
  ExpectUsage(Run(Ab({"--kernel", "a", "--kernel", "b"})), "two things would differ");
  ExpectUsage(Run(Ab({"--kernel", "a"})), "simulated queues know no kernel");
  ExpectUsage(Run(Ab({"--time", "real"})), "simulated queues know no kernel");
  ExpectUsage(Run(Ab({"--repeat", "9", "--max-repeat", "6"})), "below --repeat 9");
  ExpectUsage(Run(Ab({"--set", "fixture.set.policy=fair"})), "keep one of them");
  ExpectUsage(Run({"ab", "pair.toml", "--set-b", "fixture.set.colour=red"}), "colour");
  EXPECT_EQ(Run(Ab({"--repeat", "1"})).exit_code, 2);
  EXPECT_EQ(Run({"ab", "none.toml", "--set-b", "seed=2"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(Path("blkfair-ab")));
}

TEST_F(AbCommandTest, TheCommandInTheReportRepeatsIt) {
  const Outcome outcome = Run(Ab({"--json"}));
  EXPECT_EQ(Json::parse(outcome.out)["command"],
            "blkfair ab --set-a fixture.set.policy=fair --set-b fixture.set.policy=fcfs --repeat 6 "
            "pair.toml");
}

// --- a single pair ---

TEST_F(AbCommandTest, B53TwoStoredSingleRunsReadConfidenceUnknown) {
  ASSERT_EQ(Run({"run", "pair.toml", "-q", "--out", "one"}).exit_code, 0) << Text("err");
  ASSERT_EQ(Run({"run", "pair.toml", "-q", "--out", "two", "--seed", "2"}).exit_code, 0);
  const Outcome outcome = Run({"compare", "one", "two", "--differ", "seed"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.out.find("Conclusion  change, confidence unknown: light iops ("),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(Run({"compare", "one", "two"}).exit_code, 2);  // another scenario
}

// --- progress ---

TEST(SeriesText, TellsWhatIsLeft) {
  EXPECT_EQ(SeriesText(0, 1, 0), "");
  EXPECT_EQ(SeriesText(0, 12, 0), "1 of 12 runs");
  EXPECT_EQ(SeriesText(4, 12, 40), "4 of 12 runs done, about 80 s left");
  EXPECT_EQ(SeriesText(1, 61, 60), "1 of 61 runs done, about 60 min left");
}

// Whatever a command writes to the terminal that it runs on.
std::string OnATerminal(const std::string& folder, Words words,
                        const std::function<void(Words)>& execute) {
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    if (::chdir(folder.c_str()) == 0) execute(std::move(words));
    ::_exit(126);
  }
  const UniqueFd fd(terminal);
  std::string all;
  std::array<char, 4096> chunk;
  for (ssize_t n = 0; (n = ::read(fd.get(), chunk.data(), chunk.size())) > 0;) {
    all.append(chunk.data(), static_cast<size_t>(n));
  }
  ::waitpid(pid, nullptr, 0);
  return all;
}

TEST_F(AbCommandTest, TheTimeThatIsLeftIsShown) {
  const std::string ab = OnATerminal(root_, Ab({}), Execute);
  EXPECT_NE(ab.find("1 of 12 runs; pair"), std::string::npos);
  EXPECT_NE(ab.find("3 of 12 runs done, about "), std::string::npos);
  const std::string run = OnATerminal(root_, {"run", "pair.toml", "--repeat", "3"}, Execute);
  EXPECT_NE(run.find("2 of 3 runs done, about "), std::string::npos);
  const std::string single = OnATerminal(root_, {"run", "pair.toml"}, Execute);
  EXPECT_EQ(single.find("runs done"), std::string::npos);
}

}  // namespace
}  // namespace blkfair

// Kernels as inputs, without a kernel: what a config lacks, manifests, a source copy that follows
// its original, and builds by real make of a stand-in tree.
#include "harness/kernels/kernel_build.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "harness/guest/built_kernel.h"
#include "harness/guest/config_check.h"
#include "harness/guest/guest.h"
#include "harness/kernels/bisect.h"
#include "harness/kernels/build_step.h"
#include "harness/kernels/source_tree.h"
#include "harness/run/catalog.h"
#include "scenarios/language/reader.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

Scenario Shipped(const std::string& name, const std::vector<std::string>& overrides = {}) {
  auto scenario =
      ReadScenarioFile(BLKFAIR_SOURCE_DIR "/scenarios/" + name + ".toml", TheCatalog(), overrides);
  EXPECT_TRUE(scenario.has_value());
  return std::move(*scenario);
}

std::vector<std::string> Symbols(const std::vector<ConfigNeed>& needs) {
  std::vector<std::string> symbols;
  for (const ConfigNeed& need : needs) symbols.push_back(need.symbol);
  return symbols;
}

TEST(KernelConfig, LaterLinesWinAndWhatIsUnsetIsNotThere) {
  const KernelConfig config = ParseKernelConfig(
      "# a comment\nCONFIG_A=y\nCONFIG_B=m\nCONFIG_C=\"x y\"\n# CONFIG_A is not set\nCONFIG_B=y\n"
      "CONFIG_D=n\n");
  EXPECT_EQ(config, (KernelConfig{{"B", "y"}, {"C", "\"x y\""}}));
}

TEST(KernelConfig, OwnFragmentLacksNothingThatAShippedScenarioNeeds) {
  const KernelConfig config = ParseKernelConfig(OwnConfigFragment());
  for (const auto& entry : fs::directory_iterator(BLKFAIR_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() != ".toml") continue;
    const Scenario scenario = Shipped(entry.path().stem());
    EXPECT_EQ(Symbols(MissingNeeds(config, ConfigNeedsOf(scenario), false)),
              std::vector<std::string>())
        << scenario.name;
  }
}

TEST(KernelConfig, WhatIsMissingIsNamedWithItsLine) {
  KernelConfig config = ParseKernelConfig(OwnConfigFragment());
  config.erase("BLK_DEV_NULL_BLK");
  config.erase("IOSCHED_BFQ");
  config["AIO"] = "m";  // no such thing: what must be built in is not met by a module
  const std::vector<ConfigNeed> needs =
      ConfigNeedsOf(Shipped("lopsided_null_blk", {"fixture.pair.scheduler=bfq"}));
  const std::vector<ConfigNeed> missing = MissingNeeds(config, needs, true);
  EXPECT_EQ(Symbols(missing), (std::vector<std::string>{"BLK_DEV_NULL_BLK", "IOSCHED_BFQ", "AIO"}));
  EXPECT_NE(ConfigLines(missing).find("CONFIG_BLK_DEV_NULL_BLK=y (module null_blk)"),
            std::string::npos);
  config.erase("IO_URING");
  Scenario scenario = Shipped("lopsided_null_blk", {"fixture.pair.scheduler=bfq"});
  scenario.phases[0].changed_jobs = {scenario.jobs[0]};
  scenario.phases[0].changed_jobs[0].engine = "io_uring";
  EXPECT_EQ(Symbols(MissingNeeds(config, ConfigNeedsOf(scenario), true)).back(), "IO_URING")
      << "a phase may set it";
  // A module does, where there are modules.
  config["BLK_DEV_NULL_BLK"] = "m";
  EXPECT_EQ(MissingNeeds(config, needs, true).size(), 2u);
  EXPECT_EQ(MissingNeeds(config, needs, false).size(), 3u);
}

TEST(KernelConfig, LinesThatKconfigLeftOutAreFound) {
  EXPECT_EQ(LinesNotTaken("CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=7\n", "CONFIG_A=y\nCONFIG_C=8\n"),
            (std::vector<std::string>{"CONFIG_B=y", "CONFIG_C=7"}));
}

TEST(KernelOrigins, ManifestReadsBackWithValuesOfSeveralLines) {
  const KernelOrigin origin = {{"source", "debian:6.12"},
                               {"edit", "12ab a: file.sh"},
                               {"edit", "34cd b.sh"},
                               {"config", "CONFIG_A=y\nCONFIG_B=\"x: y\"\n\tCONFIG_C=y"}};
  EXPECT_EQ(OriginFromText(OriginToText(origin)), origin);
  EXPECT_EQ(OriginValue(origin, "edit"), "12ab a: file.sh");
  EXPECT_EQ(OriginValue(origin, "commit"), "");
}

TEST(KernelNames, AreWordsThatMeanNothingElse) {
  for (const char* name : {"mine", "v6.12-rc1_a", "7"}) EXPECT_TRUE(IsKernelName(name)) << name;
  for (const char* name : {"", "host", "debian:6.12", "./mine", "a/b", ".x", "-x", "a b"}) {
    EXPECT_FALSE(IsKernelName(name)) << name;
  }
}

TEST(BuildOutput, TheFirstErrorOfACompilerSaysBestWhatWentWrong) {
  EXPECT_EQ(FirstComplaint("  CC a.o\na.c:1:1: error: no\nmake: *** [a.o] Error 1\n"),
            "a.c:1:1: error: no");
  EXPECT_EQ(FirstComplaint("  CC a.o\nmake: *** No rule\nlast\n"), "make: *** No rule");
  EXPECT_EQ(FirstComplaint("one\ntwo\n\n"), "two");
  EXPECT_EQ(FirstComplaint(""), "");
}

TEST(BisectAnswers, OnlyVerdictsOfACompleteRunAreGoodOrBad) {
  Judgement judgement;
  Record record;
  record.outcome = RunOutcome::kComplete;
  const auto code = [&](int exit_code) {
    judgement.exit_code = exit_code;
    return AnswerByVerdict(judgement, std::vector<Record>{record}).exit_code;
  };
  EXPECT_EQ(code(0), 0);
  EXPECT_EQ(code(1), 1);
  EXPECT_EQ(code(2), 128);
  for (const int other : {3, 4, 77}) EXPECT_EQ(code(other), 125) << other;
  for (const RunOutcome outcome : {RunOutcome::kDied, RunOutcome::kUnmet}) {
    record.outcome = outcome;
    EXPECT_EQ(code(1), 125);
  }
  record.outcome = RunOutcome::kInterrupted;
  EXPECT_EQ(code(0), 130);
  record.outcome = RunOutcome::kError;
  EXPECT_EQ(code(0), 129) << "nothing came from the guest: the fault is on this side";
  record.environment.kernel_version = "#1";
  EXPECT_EQ(code(0), 125);
}

// A stand-in for a kernel tree, with a Makefile that knows the targets that are asked for and
// builds an image from two sources by real dependencies; and a cache of the test's own.
class KernelBuilds : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* tool : {"make", "gcc", "ld", "flex", "bison", "bc"}) {
      const std::string which = std::string("command -v ") + tool + " > /dev/null";
      if (std::system(which.c_str()) != 0) GTEST_SKIP() << "no " << tool << " here";
    }
    if (!fs::exists("/usr/include/gelf.h")) GTEST_SKIP() << "no headers of libelf here";
    std::string name = testing::TempDir() + "/blkfair-build-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    tree_ = folder_ + "/tree";
    const char* cache = std::getenv("XDG_CACHE_HOME");
    cache_before_ = cache == nullptr ? "" : cache;
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", (folder_ + "/cache").c_str(), 1), 0);
    Write("Kconfig", "");
    Write("block/a.txt", "fair\n");
    Write("block/b.txt", "other\n");
    // The image: a setup header of boot.rst with a version text, then the sources.
    Write("Makefile", R"(
SRC := $(CURDIR)
tinyconfig:
	printf 'CONFIG_TINY=y\n# CONFIG_X is not set\n' > $(O)/.config
olddefconfig:
	grep -v NOT_KNOWN $(O)/.config > $(O)/new; mv $(O)/new $(O)/.config
savedefconfig:
	grep ^CONFIG_TINY $(O)/.config > $(O)/defconfig
$(O)/%.o: block/%.txt
	@echo '  CC $*' ; echo built $* >> $(O)/built
	grep -v syntax $< > $@
all: $(O)/a.o $(O)/b.o
	mkdir -p $(O)/arch/x86/boot $(O)/include/config
	echo 6.99.0$(LOCALVERSION) > $(O)/include/config/kernel.release
	(head -c 514 /dev/zero; printf 'HdrS'; head -c 8 /dev/zero; printf '\020\001'; \
	 head -c 256 /dev/zero; printf '6.99.0$(LOCALVERSION) (x@y) #1\000'; cat $(O)/a.o $(O)/b.o) \
	  > $(O)/arch/x86/boot/bzImage
)");
  }
  void TearDown() override {
    if (folder_.empty()) return;
    cache_before_.empty() ? ::unsetenv("XDG_CACHE_HOME")
                          : ::setenv("XDG_CACHE_HOME", cache_before_.c_str(), 1);
    fs::remove_all(folder_);
  }

  void Write(const std::string& name, const std::string& text) const {
    const fs::path path = fs::path(tree_) / name;
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(WriteWholeFile(path, text));
  }
  Result<void> Build(const KernelBuild& build) {
    return BuildKernel(
        build, [this](const std::string& line) { said_ += line + "\n"; }, nullptr, nullptr);
  }
  // What the last build compiled.
  std::string Built(const std::string& name) const {
    const std::string path = BuiltKernelFolder(name).objects + "/built";
    const std::string text = ReadWholeFile(path).value_or("");
    fs::remove(path);
    return text;
  }
  std::string Image(const std::string& name) const {
    const auto kernel = ResolveKernel(name, [](const std::string&) {});
    EXPECT_TRUE(kernel) << kernel.error().message;
    return kernel ? ReadWholeFile(kernel->image).value_or("") : std::string();
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::string folder_;
  std::string tree_;
  std::string cache_before_;
  std::string said_;
};

TEST_F(KernelBuilds, ANameBecomesAKernelWithItsOrigin) {
  const std::string fragment = folder_ + "/fragment";
  ASSERT_TRUE(WriteWholeFile(fragment, "CONFIG_MINE=y\nCONFIG_NOT_KNOWN=y\n"));
  KernelBuild build{"mine", tree_, {fragment}, {}};
  const auto built = Build(build);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE(Has(said_, "CONFIG_NOT_KNOWN=y was not taken")) << said_;
  EXPECT_FALSE(Has(said_, "CONFIG_MINE")) << said_;
  const auto kernel = ResolveKernel("mine", [](const std::string&) {});
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->release, "6.99.0-mine");
  EXPECT_EQ(kernel->asked, "mine");
  EXPECT_EQ(OriginValue(kernel->origin, "source"), tree_);
  EXPECT_EQ(OriginValue(kernel->origin, "release"), "6.99.0-mine");
  EXPECT_TRUE(Has(OriginValue(kernel->origin, "compiler"), "gcc"));
  EXPECT_EQ(OriginValue(kernel->origin, "config"), "CONFIG_TINY=y");
  EXPECT_TRUE(Has(ReadWholeFile(kernel->config_file).value_or(""), "CONFIG_BLK_DEV_NULL_BLK=y"));
  EXPECT_FALSE(fs::exists(tree_ + "/.config"));
  EXPECT_EQ(BuiltKernelNames(), std::vector<std::string>{"mine"});
}

TEST_F(KernelBuilds, OnlyWhatAnEditChangedIsCompiledAgainAndTheTreeIsLeftAlone) {
  const std::string edit = folder_ + "/edit.sh";
  ASSERT_TRUE(WriteWholeFile(edit, "sed -i s/fair/unfair/ \"$1/block/a.txt\"\n"));
  const std::string idle = folder_ + "/idle.sh";
  ASSERT_TRUE(WriteWholeFile(idle, "exit 0\n"));
  KernelBuild build{"mine", tree_, {}, {{}, {idle}}};
  ASSERT_TRUE(Build(build));
  EXPECT_TRUE(Has(Built("mine"), "built b"));
  EXPECT_FALSE(Has(Image("mine"), "unfair"));
  // make sees ages of a second.
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  build.changes.edits = {edit};
  const auto built = Build(build);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(Built("mine"), "built a\n");
  EXPECT_TRUE(Has(Image("mine"), "unfair"));
  EXPECT_EQ(ReadWholeFile(tree_ + "/block/a.txt").value_or(""), "fair\n");
  const auto origin = ReadKernelOrigin("mine");
  ASSERT_TRUE(origin);
  EXPECT_TRUE(OriginValue(*origin, "edit").ends_with(" " + edit));
  EXPECT_EQ(OriginValue(*origin, "edit").find(' '), 64u);
  // And back.
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  build.changes.edits = {idle};
  ASSERT_TRUE(Build(build));
  EXPECT_EQ(Built("mine"), "built a\n");
  EXPECT_FALSE(Has(Image("mine"), "unfair"));
}

TEST_F(KernelBuilds, PatchesApplyOrSayWhy) {
  const std::string patch = folder_ + "/a.patch";
  ASSERT_TRUE(WriteWholeFile(
      patch, "--- a/block/a.txt\n+++ b/block/a.txt\n@@ -1 +1 @@\n-fair\n+patched\n"));
  KernelBuild build{"mine", tree_, {}, {{patch}, {}}};
  const auto built = Build(build);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE(Has(Image("mine"), "patched"));
  Write("block/a.txt", "something else\n");
  const auto failed = Build(build);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(Has(failed.error().message, "apply " + patch)) << failed.error().message;
}

TEST_F(KernelBuilds, WhatDoesNotBuildIsNoKernel) {
  KernelBuild build{"mine", tree_, {}, {}};
  ASSERT_TRUE(Build(build));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  Write("block/a.txt", "syntax\n");
  const auto failed = Build(build);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kKernel);
  EXPECT_TRUE(Has(failed.error().message, "build the kernel: make: ***")) << failed.error().message;
  const auto kernel = ResolveKernel("mine", [](const std::string&) {});
  ASSERT_FALSE(kernel);
  EXPECT_TRUE(Has(kernel.error().message, "not built to its end")) << kernel.error().message;
}

TEST_F(KernelBuilds, NonsenseIsAUsageError) {
  for (const KernelBuild& build :
       {KernelBuild{"a/b", tree_, {}, {}}, KernelBuild{"mine", folder_ + "/none", {}, {}},
        KernelBuild{"mine", folder_, {}, {}}, KernelBuild{"mine", "debian:99", {}, {}},
        KernelBuild{"mine", tree_, {}, {{folder_ + "/none.patch"}, {}}}}) {
    const auto built = Build(build);
    ASSERT_FALSE(built) << build.source;
    EXPECT_EQ(built.error().kind, ErrorKind::kUsage) << built.error().message;
  }
  Write(".config", "CONFIG_A=y\n");
  const auto built = Build({"mine", tree_, {}, {}});
  ASSERT_FALSE(built);
  EXPECT_TRUE(Has(built.error().message, "make mrproper")) << built.error().message;
}

TEST_F(KernelBuilds, ACopyFollowsItsOriginal) {
  const std::string copy = folder_ + "/copy";
  Write("deep/er/x", "1");
  fs::create_symlink("er/x", tree_ + "/deep/link");
  fs::create_directories(tree_ + "/.git");
  ASSERT_TRUE(FollowTree(tree_, copy, nullptr));
  EXPECT_FALSE(fs::exists(copy + "/.git"));
  EXPECT_EQ(fs::last_write_time(copy + "/deep/er/x"), fs::last_write_time(tree_ + "/deep/er/x"));
  ASSERT_TRUE(WriteWholeFile(copy + "/deep/er/x", "2"));
  ASSERT_TRUE(WriteWholeFile(copy + "/deep/stranger", "3"));
  fs::remove_all(copy + "/block");
  ASSERT_TRUE(WriteWholeFile(copy + "/block", "a file where a folder was"));
  ASSERT_TRUE(FollowTree(tree_, copy, nullptr));
  EXPECT_EQ(ReadWholeFile(copy + "/deep/er/x").value_or(""), "1");
  EXPECT_EQ(ReadWholeFile(copy + "/deep/link").value_or(""), "1");
  EXPECT_FALSE(fs::exists(copy + "/deep/stranger"));
  EXPECT_EQ(ReadWholeFile(copy + "/block/a.txt").value_or(""), "fair\n");
  const auto stopped = FollowTree(tree_, copy, [] { return true; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace blkfair

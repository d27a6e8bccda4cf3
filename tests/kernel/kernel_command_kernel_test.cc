// `blkfair kernel config` and `blkfair matrix` as they are called: a config that lacks a driver is
// refused before boot, and a grid of schedulers makes one table that can be gone on with.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "tests/support/guest_runs.h"

namespace blkfair::testing_support {
namespace {

namespace fs = std::filesystem;

class Called : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/blkfair-called-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  int Blkfair(const std::string& arguments) {
    const int status =
        std::system(("cd '" + folder_ + "' && XDG_STATE_HOME='" + folder_ + "/state' '" +
                     BLKFAIR_EXECUTABLE + "' " + arguments + " > '" + folder_ + "/output' 2>&1")
                        .c_str());
    output_ = ReadWholeFile(folder_ + "/output").value_or("");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Whatever lines a report was broken into.
  bool Says(const std::string& text) const {
    std::string words;
    for (const char c : output_) {
      const bool space = c == ' ' || c == '\n';
      if (!space || !words.ends_with(' ')) words += space ? ' ' : c;
    }
    return words.find(text) != std::string::npos;
  }
  static std::string Scenario(const std::string& name) {
    return "'" BLKFAIR_SOURCE_DIR "/scenarios/" + name + ".toml'";
  }

  std::string folder_;
  std::string output_;
};

TEST_F(Called, ATreeWithoutTheDriverIsRefusedBeforeBoot) {
  const auto debian = ResolveKernel("debian:6.12", [](const std::string&) {});
  ASSERT_TRUE(debian) << debian.error().message;
  auto config = ReadWholeFile(debian->config_file);
  ASSERT_TRUE(config);
  const size_t at = config->find("CONFIG_BLK_DEV_NULL_BLK=");
  ASSERT_NE(at, std::string::npos);
  config->insert(at, "# ");
  fs::create_directories(folder_ + "/tree/arch/x86/boot");
  fs::copy_file(debian->image, folder_ + "/tree/arch/x86/boot/bzImage");
  ASSERT_TRUE(WriteWholeFile(folder_ + "/tree/.config", *config));

  EXPECT_EQ(Blkfair("run -q " + Scenario("lopsided_null_blk") + " --kernel tree --out out"), 77);
  EXPECT_TRUE(Says("was not booted")) << output_;
  EXPECT_TRUE(Says("CONFIG_BLK_DEV_NULL_BLK=y")) << output_;
  EXPECT_FALSE(fs::exists(folder_ + "/out/console.log")) << "nothing may have been booted";

  EXPECT_EQ(Blkfair("kernel config --check tree " + Scenario("lopsided_null_blk") + " " +
                    Scenario("smoke_sim")),
            77);
  EXPECT_TRUE(Says("lacks CONFIG_BLK_DEV_NULL_BLK=y (module null_blk)")) << output_;
  EXPECT_TRUE(Says("can run")) << output_;
  // Without scenarios: those that come with it, wherever it is called.
  EXPECT_EQ(Blkfair("kernel config --check debian:6.12"), 0) << output_;
  EXPECT_TRUE(Says("lopsided_null_blk can run")) << output_;
}

TEST_F(Called, AMatrixOfSchedulersIsOneTableAndCanBeGoneOnWith) {
  const std::string command = "matrix -q " + Scenario("scheduler_matrix");
  const int code = Blkfair(command);
  EXPECT_TRUE(code == 0 || code == 1) << code << output_;
  for (const char* scheduler : {"none", "mq-deadline", "kyber", "bfq"}) {
    EXPECT_TRUE(Says(std::string("--set fixture.pair.scheduler=") + scheduler)) << output_;
    EXPECT_TRUE(fs::exists(folder_ + "/blkfair-matrix/fixture.pair.scheduler=" + scheduler +
                           "/record-1.json"))
        << scheduler;
  }
  EXPECT_TRUE(Says("a none pass")) << output_;
  const std::string report = output_;

  EXPECT_EQ(Blkfair(command), 2) << "the folder is not free";
  // A cell that is missing is run again, the others are not.
  const std::string cells = folder_ + "/blkfair-matrix/fixture.pair.scheduler=";
  fs::remove_all(cells + "bfq");
  const auto before = fs::last_write_time(cells + "none/record-1.json");
  EXPECT_EQ(Blkfair(command + " --resume"), code) << output_;
  EXPECT_EQ(output_.substr(0, output_.find("The matrix again")),
            report.substr(0, report.find("The matrix again")));
  EXPECT_EQ(fs::last_write_time(cells + "none/record-1.json"), before);
  EXPECT_EQ(Blkfair(command + " --resume --set job.heavy.iodepth=64"), 2) << output_;
}

}  // namespace
}  // namespace blkfair::testing_support

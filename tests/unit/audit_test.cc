// The audit on kernels under a temporary directory: what is found, by which sign, and when it is
// worth a warning.
#include "harness/measure/audit.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <zlib.h>

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "tests/support/fake_kernel_fs.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

class AuditTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const fs::path whole = path;
    fs::create_directories(whole.parent_path());
    ASSERT_TRUE(WriteWholeFile(path, text));
  }
  void WriteConfig(const std::string& text) {
    utsname name{};
    ::uname(&name);
    Write(kernel_.roots().modules + "/" + name.release + "/config", text);
  }
  const AuditFinding& Finding(const std::string& name) {
    for (const AuditFinding& finding : audit_) {
      if (finding.name == name) return finding;
    }
    static const AuditFinding kNone{"none", "none", "none"};
    ADD_FAILURE() << "no finding " << name;
    return kNone;
  }
  bool Has(const std::string& name) const {
    for (const AuditFinding& finding : audit_) {
      if (finding.name == name) return true;
    }
    return false;
  }

  TempDir directory_;
  KernelFs kernel_{KernelRoots::Under(directory_.path())};
  Audit audit_;
};

TEST_F(AuditTest, AConfigurationTellsDebugKernels) {
  WriteConfig(
      "CONFIG_KASAN=y\n# CONFIG_KCSAN is not set\nCONFIG_PROVE_LOCKING=y\n"
      "CONFIG_LOCKDEP=y\n");
  AuditKernel(kernel_, "", false, &audit_);
  EXPECT_EQ(Finding("kasan").value, "on");
  EXPECT_NE(Finding("kasan").warning.find("KASAN"), std::string::npos);
  EXPECT_EQ(Finding("kcsan").value, "off");
  EXPECT_EQ(Finding("kcsan").warning, "");
  EXPECT_EQ(Finding("lockdep").value, "on");
  EXPECT_FALSE(Finding("lockdep").warning.empty());
}

// "CONFIG_KASAN_GENERIC=y" or "CONFIG_HAVE_ARCH_KASAN=y" alone say nothing.
TEST_F(AuditTest, OptionsWithLongerNamesAreOthers) {
  AuditConfig("CONFIG_HAVE_ARCH_KASAN=y\nCONFIG_KASAN_STACK=y\nCONFIG_LOCKDEP_SUPPORT=y\n",
              &audit_);
  for (const char* name : {"kasan", "kcsan", "lockdep"}) EXPECT_EQ(Finding(name).value, "off");
}

TEST_F(AuditTest, ThePackedConfigurationOfTheRunningKernelCountsFirst) {
  WriteConfig("CONFIG_KASAN=y\n");
  const std::string path = kernel_.roots().proc + "/config.gz";
  Write(path, "");
  const gzFile packed = ::gzopen(path.c_str(), "wb");
  ASSERT_NE(packed, nullptr);
  const std::string text = std::string(200'000, '#') + "\nCONFIG_KCSAN=y\n";
  ASSERT_EQ(::gzwrite(packed, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  ::gzclose(packed);
  AuditKernel(kernel_, "", false, &audit_);
  EXPECT_EQ(Finding("kcsan").value, "on");
  EXPECT_EQ(Finding("kasan").value, "off");
}

TEST_F(AuditTest, WithoutAConfigurationSignsTell) {
  Write(kernel_.roots().proc + "/lockdep_stats", "lock-classes: 1\n");
  fs::create_directories(kernel_.roots().debugfs);
  Write(kernel_.roots().debugfs + "/kcsan", "enabled: 1\n");
  AuditKernel(kernel_, "[0.0] kasan: KernelAddressSanitizer initialized (generic)\n", false,
              &audit_);
  for (const char* name : {"kasan", "kcsan", "lockdep"}) EXPECT_EQ(Finding(name).value, "on");
  // What the configuration says replaces it.
  AuditConfig("CONFIG_KCSAN=y\n", &audit_);
  EXPECT_EQ(audit_.size(), 3U);
  EXPECT_EQ(Finding("kasan").value, "off");
  EXPECT_EQ(Finding("kasan").warning, "");
}

TEST_F(AuditTest, MitigationsThatAreOffAreAWarningInRealTime) {
  const std::string folder = kernel_.roots().sys + "/devices/system/cpu/vulnerabilities/";
  Write(folder + "meltdown", "Not affected\n");
  Write(folder + "spectre_v2", "Mitigation: Retpolines\n");
  AuditKernel(kernel_, "", true, &audit_);
  EXPECT_EQ(Finding("mitigations").value, "on");
  Write(folder + "spectre_v2", "Vulnerable\n");
  audit_.clear();
  AuditKernel(kernel_, "", true, &audit_);
  EXPECT_EQ(Finding("mitigations").value, "off: spectre_v2");
  EXPECT_FALSE(Finding("mitigations").warning.empty());
  audit_.clear();
  AuditKernel(kernel_, "", false, &audit_);
  EXPECT_EQ(Finding("mitigations").warning, "");
}

TEST_F(AuditTest, GovernorsAreAWarningInRealTime) {
  const std::string cpu = kernel_.roots().sys + "/devices/system/cpu/cpu";
  Write(cpu + "0/cpufreq/scaling_governor", "performance\n");
  AuditMachine(kernel_, true, &audit_);
  EXPECT_EQ(Finding("governor").value, "performance");
  EXPECT_EQ(Finding("governor").warning, "");
  Write(cpu + "1/cpufreq/scaling_governor", "schedutil\n");
  audit_.clear();
  AuditMachine(kernel_, true, &audit_);
  EXPECT_EQ(Finding("governor").value, "performance, schedutil");
  EXPECT_FALSE(Finding("governor").warning.empty());
  audit_.clear();
  AuditMachine(kernel_, false, &audit_);
  EXPECT_EQ(Finding("governor").warning, "");
  EXPECT_FALSE(Has("load"));  // no /proc/stat: nothing is made up
}

TEST_F(AuditTest, ShortMemoryIsAWarning) {
  const std::string proc = kernel_.roots().proc;
  Write(proc + "/meminfo", "MemTotal:       1000000 kB\nMemAvailable:    500000 kB\n");
  AuditMemory(kernel_, &audit_);
  EXPECT_EQ(Finding("memory").value, "enough");
  Write(proc + "/pressure/memory",
        "some avg10=7.50 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00\n");
  AuditMemory(kernel_, &audit_);
  EXPECT_EQ(Finding("memory").value, "short: tasks waited for it 8 % of the last 10 s");
  EXPECT_FALSE(Finding("memory").warning.empty());
  Write(proc + "/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  Write(proc + "/meminfo", "MemTotal:       1000000 kB\nMemAvailable:     50000 kB\n");
  AuditMemory(kernel_, &audit_);
  EXPECT_EQ(Finding("memory").value, "short: 5 % of it available");
}

FixtureRecord DiskFixture() {
  FixtureRecord fixture;
  fixture.name = "disk";
  fixture.settings = {{"disk:0 scheduler", "none"},    {"disk:0 wbt_lat_usec", "2000"},
                      {"disk:0 iostats", "1"},         {"disk:1 scheduler", "bfq"},
                      {"disk:1 wbt_lat_usec", "2000"}, {"module null_blk iostats", "9"}};
  return fixture;
}

TEST_F(AuditTest, ASchedulerThatNobodyChoseIsAWarning) {
  Scenario scenario;
  FixtureSpec spec;
  spec.name = "disk";
  scenario.fixtures = {spec};
  AuditFixture(scenario, DiskFixture(), &audit_);
  EXPECT_EQ(Finding("disk.scheduler").value, "none, bfq");
  EXPECT_NE(Finding("disk.scheduler").warning.find("default"), std::string::npos);
  EXPECT_EQ(Finding("disk.iostats").value, "1");
  scenario.fixtures[0].params.Set("scheduler", std::string("none"));
  audit_.clear();
  AuditFixture(scenario, DiskFixture(), &audit_);
  EXPECT_EQ(Finding("disk.scheduler").warning, "");
}

TEST_F(AuditTest, WriteBackThrottlingMattersToBufferedWrites) {
  Scenario scenario;
  JobSpec job;
  job.queue = {"disk", 0};
  job.rw = Rw::kRandWrite;
  scenario.jobs = {job};
  AuditFixture(scenario, DiskFixture(), &audit_);
  EXPECT_EQ(Finding("disk.wbt_lat_usec").value, "2000");
  EXPECT_EQ(Finding("disk.wbt_lat_usec").warning, "");  // direct
  scenario.jobs[0].direct = false;
  audit_.clear();
  AuditFixture(scenario, DiskFixture(), &audit_);
  EXPECT_FALSE(Finding("disk.wbt_lat_usec").warning.empty());
  scenario.phases.emplace_back();
  scenario.phases[0].changed_jobs = scenario.jobs;
  scenario.jobs[0].direct = true;
  audit_.clear();
  AuditFixture(scenario, DiskFixture(), &audit_);
  EXPECT_FALSE(Finding("disk.wbt_lat_usec").warning.empty()) << "a phase may set it";
}

}  // namespace
}  // namespace blkfair

#include "harness/guest/private_apt.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "harness/guest/process.h"

namespace blkfair {
namespace fs = std::filesystem;

Result<PrivateApt> PrivateApt::Create(const std::string& folder, const std::string& sources,
                                      std::function<bool()> interrupted) {
  std::error_code error;
  for (const char* sub : {"lists/partial", "cache/archives/partial", "download", "tmp"}) {
    fs::create_directories(fmt::format("{}/{}", folder, sub), error);
    if (error) return FailErrno(error.value(), fmt::format("make the folder {}/{}", folder, sub));
  }
  RETURN_IF_ERROR(WriteWholeFile(folder + "/status", ""));
  RETURN_IF_ERROR(WriteWholeFile(folder + "/blkfair.sources", sources));
  // Given with -c, this is read last and so overrides the system's configuration. The hooks that
  // some images install would act on the system's own cache.
  RETURN_IF_ERROR(WriteWholeFile(folder + "/apt.conf", fmt::format(R"(
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Default-Release;
Dir::State "{0}";
Dir::State::Lists "{0}/lists/";
Dir::State::status "{0}/status";
Dir::Cache "{0}/cache";
Dir::Cache::archives "archives/";
Dir::Etc::SourceList "{0}/blkfair.sources";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Sandbox::User "root";
)",
                                                                   folder)));
  return PrivateApt(folder, std::move(interrupted));
}

Result<std::string> PrivateApt::Run(const std::string& program,
                                    const std::vector<std::string>& arguments,
                                    const std::string& what) const {
  // apt's keyrings and the like in TMPDIR outlive a kill: there they go with the folder.
  std::vector<std::string> argv{"env",
                                "--chdir=" + folder_ + "/download",
                                "TMPDIR=" + folder_ + "/tmp",
                                program,
                                "-q",
                                "-c",
                                folder_ + "/apt.conf"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return RunProgram(argv, what, interrupted_);
}

}  // namespace blkfair

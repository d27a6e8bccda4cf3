#include "harness/cli/scenario_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "harness/run/catalog.h"
#include "scenarios/language/canonical.h"
#include "scenarios/language/reader.h"

namespace blkfair {

namespace fs = std::filesystem;

namespace {

Result<std::vector<std::string>> Expand(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path, error)) {
      if (entry.path().extension() == ".toml") found.push_back(entry.path().string());
    }
    if (error) return Fail(ErrorKind::kUsage, fmt::format("list {}: {}", path, error.message()));
    if (found.empty()) {
      return Fail(ErrorKind::kUsage, fmt::format("{}: no *.toml scenario in this folder", path));
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace

Result<std::vector<LoadedScenario>> LoadScenarios(const std::vector<std::string>& paths,
                                                  const std::vector<std::string>& overrides) {
  const auto files = Expand(paths);
  if (!files) {
    fmt::print(stderr, "blkfair: {}\n", files.error().message);
    return Fail(files.error());
  }
  std::vector<LoadedScenario> loaded;
  size_t problems = 0;
  for (const std::string& file : *files) {
    auto scenario = ReadScenarioFile(file, TheCatalog(), overrides);
    if (!scenario) {
      for (const Diagnostic& problem : scenario.error()) {
        fmt::print(stderr, "{}\n", problem.ToString());
      }
      problems += scenario.error().size();
      continue;
    }
    LoadedScenario row;
    row.path = file;
    row.scenario = std::move(*scenario);
    row.canonical_toml = CanonicalToml(row.scenario, TheCatalog());
    row.hash = ScenarioHash(row.canonical_toml);
    loaded.push_back(std::move(row));
  }
  if (problems > 0) {
    return Fail(ErrorKind::kUsage, fmt::format("{} problems in the scenarios", problems));
  }
  return loaded;
}

Result<Scenario> StoredScenario(const Record& record, const std::vector<std::string>& overrides) {
  auto scenario =
      ParseScenario(record.scenario_toml, record.scenario_name, TheCatalog(), overrides);
  if (scenario) return *scenario;
  std::string message;
  for (const Diagnostic& problem : scenario.error()) {
    message += (message.empty() ? "" : "\n") + problem.ToString();
  }
  return Fail(ErrorKind::kUsage, message);
}

}  // namespace blkfair

#include "results/result_folder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "results/record_check.h"
#include "results/record_json.h"

namespace blkfair {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr int kManifestSchema = 1;
constexpr const char* kUnfinished = "/unfinished";

// By its repeat, so that a record keeps its file while others join it; by its place where two are
// of one repeat.
std::vector<std::string> RecordNames(const std::vector<Record>& records) {
  std::set<uint32_t> repeats;
  for (const Record& record : records) repeats.insert(record.repeat);
  std::vector<std::string> names;
  for (const Record& record : records) {
    const size_t number = repeats.size() == records.size() ? record.repeat : names.size() + 1;
    names.push_back(fmt::format("record-{}.json", number));
  }
  return names;
}

// Whoever is killed on the way leaves the file as it was.
Result<void> ReplaceFile(const std::string& path, std::string_view text) {
  const std::string part = path + ".part";
  RETURN_IF_ERROR(WriteWholeFile(part, text));
  std::error_code error;
  fs::rename(part, path, error);
  if (error) return FailErrno(error.value(), fmt::format("rename {} to {}", part, path));
  return {};
}

// What the user named and is not there is for the user to mend.
Result<std::string> ReadStored(const std::string& path) {
  Result<std::string> text = ReadWholeFile(path);
  if (!text) return Fail(ErrorKind::kUsage, text.error().message);
  return text;
}

// Result folders below `path`, for the one who named the folder of several by mistake.
std::string ResultsBelow(const std::string& path) {
  std::string found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (!fs::exists(entry.path() / "manifest.json", error)) continue;
    found += (found.empty() ? "" : ", ") + entry.path().filename().string();
  }
  return found;
}

Result<Record> ReadRecord(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadStored(path));
  auto record = RecordFromJson(text);
  if (!record) {
    return Fail(ErrorKind::kUsage, fmt::format("read {}: {}", path, record.error().message));
  }
  if (const std::optional<std::string> fault = FaultOfRecord(*record)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("read {}: not as blkfair wrote it: {}", path, *fault));
  }
  return std::move(*record);
}

}  // namespace

Result<void> CheckResultFolderFree(const std::string& path, bool force) {
  std::error_code error;
  if (!fs::exists(path, error) || force) return {};
  if (!fs::is_directory(path, error)) {
    return Fail(ErrorKind::kUsage, fmt::format("--out {}: this is a file, not a folder", path));
  }
  if (fs::is_empty(path, error)) return {};
  return Fail(ErrorKind::kUsage,
              fmt::format("--out {}: the folder is not empty; name another, or add --force to "
                          "write over it",
                          path));
}

Result<void> ReserveResultFolder(const std::string& path, bool force) {
  RETURN_IF_ERROR(CheckResultFolderFree(path, force));
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return Fail(ErrorKind::kKernel, fmt::format("make the result folder {}: {}; name another with "
                                                "--out",
                                                path, error.message()));
  }
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (force ? 0 : O_EXCL);
  const UniqueFd marker(::open((path + kUnfinished).c_str(), flags, 0644));
  if (marker.valid()) return {};
  if (errno == EEXIST) {
    return Fail(ErrorKind::kUsage,
                fmt::format("--out {}: another run is writing to it; name another", path));
  }
  return FailErrno(errno, "write to the result folder " + path);
}

void ReleaseResultFolder(const std::string& path) {
  std::error_code ignored;
  fs::remove(path + kUnfinished, ignored);
  fs::remove(path, ignored);  // only where it is empty
}

Result<void> WriteResultFolder(const std::string& path, const ResultFolder& folder) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Fail(ErrorKind::kKernel, fmt::format("make {}: {}", path, error.message()));
  Json manifest;
  manifest["schema"] = kManifestSchema;
  manifest["tool"] = "blkfair";
  manifest["scenario"] = folder.scenario_path;
  manifest["command"] = folder.repeat_command;
  manifest["records"] = Json::array();
  const std::vector<std::string> names = RecordNames(folder.records);
  for (size_t i = 0; i < names.size(); i++) {
    manifest["records"].push_back(names[i]);
    RETURN_IF_ERROR(
        ReplaceFile(path + "/" + names[i], RecordToJson(folder.records[i], /*pretty=*/true)));
  }
  RETURN_IF_ERROR(ReplaceFile(path + "/manifest.json", manifest.dump(2) + "\n"));
  fs::remove(path + kUnfinished, error);
  return {};
}

Result<ResultFolder> ReadResultFolder(const std::string& path) {
  ResultFolder folder;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    ASSIGN_OR_RETURN(Record record, ReadRecord(path));
    folder.records.push_back(std::move(record));
    return folder;
  }
  const std::string manifest_path = path + "/manifest.json";
  if (!fs::exists(manifest_path, error)) {
    const std::string below = ResultsBelow(path);
    return Fail(ErrorKind::kUsage,
                below.empty() ? fmt::format("{} is no result folder: it has no manifest.json", path)
                              : fmt::format("{} is no result folder, but holds some: name {} in it",
                                            path, below));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadStored(manifest_path));
  const Json manifest = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool ours = manifest.is_object() && manifest.value("tool", Json()) == "blkfair" &&
                    manifest.contains("records") && manifest["records"].is_array();
  if (!ours) {
    return Fail(ErrorKind::kUsage, fmt::format("read {}: not a blkfair manifest", manifest_path));
  }
  if (manifest.value("schema", Json()) != kManifestSchema) {
    return Fail(ErrorKind::kUsage,
                fmt::format("read {}: another schema than {}", manifest_path, kManifestSchema));
  }
  if (manifest.value("scenario", Json()).is_string()) folder.scenario_path = manifest["scenario"];
  if (manifest.value("command", Json()).is_string()) folder.repeat_command = manifest["command"];
  for (const Json& name : manifest["records"]) {
    if (!name.is_string()) {
      return Fail(ErrorKind::kUsage, fmt::format("read {}: a record has no name", manifest_path));
    }
    ASSIGN_OR_RETURN(Record record, ReadRecord(path + "/" + name.get<std::string>()));
    folder.records.push_back(std::move(record));
  }
  if (folder.records.empty()) {
    return Fail(ErrorKind::kUsage, fmt::format("read {}: names no record", manifest_path));
  }
  return folder;
}

}  // namespace blkfair

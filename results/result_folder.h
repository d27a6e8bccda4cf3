// A result folder: manifest.json, record-N.json, report.txt, console.log. Written once, at the end
// of a run; read by `judge` and `show`. Control plane; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "results/record.h"

namespace blkfair {

struct ResultFolder {
  std::string scenario_path;   // as the user named it
  std::string repeat_command;  // the exact command that repeats the run
  std::vector<Record> records;
};

// kUsage when `path` exists and is not an empty folder, unless `force`. Creates nothing.
Result<void> CheckResultFolderFree(const std::string& path, bool force);

// Makes the folder and keeps it for this run: whoever asks for it later, also at the same time, is
// refused. Until WriteResultFolder it holds a file "unfinished".
Result<void> ReserveResultFolder(const std::string& path, bool force);
// Of a run that did not take place: the folder goes, unless something else is in it.
void ReleaseResultFolder(const std::string& path);

// Makes the folder and writes manifest and records; what stands there of an earlier run is
// replaced, file by file and each at once: a kill loses no record that was there.
Result<void> WriteResultFolder(const std::string& path, const ResultFolder& folder);

// Reads a result folder, or one record file, which then stands alone.
Result<ResultFolder> ReadResultFolder(const std::string& path);

}  // namespace blkfair

#include "harness/kernels/source_tree.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/sha256.h"
#include "harness/guest/process.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGit = ".git";

Result<bool> SameContent(const fs::path& a, const fs::path& b) {
  ASSIGN_OR_RETURN(const std::string left, ReadWholeFile(a.string()));
  ASSIGN_OR_RETURN(const std::string right, ReadWholeFile(b.string()));
  return left == right;
}

class Follower {
 public:
  explicit Follower(const std::function<bool()>& interrupted) : interrupted_(interrupted) {}

  Result<void> Folder(const fs::path& from, const fs::path& to, bool top) {
    if (interrupted_ && interrupted_()) {
      return Fail(ErrorKind::kInterrupted, "copy the kernel's source: interrupted");
    }
    std::error_code error;
    fs::create_directories(to, error);
    if (error) return FailErrno(error.value(), fmt::format("make the folder {}", to.string()));
    RETURN_IF_ERROR(RemoveStrangers(from, to));
    fs::directory_iterator entries(from, error);
    if (error) return FailErrno(error.value(), fmt::format("read the folder {}", from.string()));
    for (const auto& entry : entries) {
      const fs::path name = entry.path().filename();
      if (top && name == kGit) continue;
      const fs::file_status status = entry.symlink_status(error);
      if (fs::is_directory(status)) {
        RETURN_IF_ERROR(Folder(entry.path(), to / name, false));
      } else {
        RETURN_IF_ERROR(One(entry.path(), status, to / name));
      }
    }
    return {};
  }

 private:
  // What the original has no longer, or has as something else.
  static Result<void> RemoveStrangers(const fs::path& from, const fs::path& to) {
    std::error_code error;
    std::vector<fs::path> strangers;
    for (const auto& entry : fs::directory_iterator(to, error)) {
      const fs::file_status original = fs::symlink_status(from / entry.path().filename(), error);
      if (original.type() != entry.symlink_status(error).type()) strangers.push_back(entry.path());
    }
    for (const fs::path& stranger : strangers) {
      fs::remove_all(stranger, error);
      if (error) return FailErrno(error.value(), fmt::format("remove {}", stranger.string()));
    }
    return {};
  }

  static Result<void> One(const fs::path& from, const fs::file_status& status, const fs::path& to) {
    std::error_code error;
    const auto failed = [&] {
      return FailErrno(error.value(), fmt::format("copy {} to {}", from.string(), to.string()));
    };
    const bool there = fs::exists(fs::symlink_status(to, error));
    if (fs::is_symlink(status)) {
      if (there && fs::read_symlink(from, error) == fs::read_symlink(to, error)) return {};
      if (there) fs::remove(to, error);
      fs::copy_symlink(from, to, error);
      return error ? Result<void>(failed()) : Result<void>();
    }
    if (!fs::is_regular_file(status)) return {};
    const auto time = fs::last_write_time(from, error);
    if (there && fs::file_size(from, error) == fs::file_size(to, error)) {
      if (time == fs::last_write_time(to, error)) return {};
      ASSIGN_OR_RETURN(const bool same, SameContent(from, to));
      if (same) return {};
    }
    // A new file: the old one may have other names.
    fs::remove(to, error);
    fs::copy_file(from, to, error);
    if (error) return failed();
    if (!there) fs::last_write_time(to, time, error);
    return error ? Result<void>(failed()) : Result<void>();
  }

  const std::function<bool()>& interrupted_;
};

}  // namespace

Result<void> FollowTree(const std::string& original, const std::string& copy,
                        const std::function<bool()>& interrupted) {
  return Follower(interrupted).Folder(original, copy, /*top=*/true);
}

Result<std::vector<std::pair<std::string, std::string>>> DescribeChanges(
    const SourceChanges& changes) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [kind, files] :
       {std::pair("patch", &changes.patches), std::pair("edit", &changes.edits)}) {
    for (const std::string& file : *files) {
      const auto text = ReadWholeFile(file);
      if (!text) return Fail(ErrorKind::kUsage, text.error().message);
      lines.emplace_back(kind, fmt::format("{} {}", Sha256(*text), file));
    }
  }
  return lines;
}

Result<void> ApplyChanges(const SourceChanges& changes, const std::string& tree,
                          const BuildWatch& watch) {
  std::error_code error;
  for (const std::string& patch : changes.patches) {
    RETURN_IF_ERROR(RunBuildStep(
        {fmt::format("apply {}", patch),
         {"patch", "--batch", "--forward", "-p1", "-i", fs::absolute(patch, error).string()},
         tree},
        watch));
  }
  for (const std::string& edit : changes.edits) {
    RETURN_IF_ERROR(RunBuildStep(
        {fmt::format("run {}", edit), {"sh", fs::absolute(edit, error).string(), tree}, tree},
        watch));
  }
  return {};
}

std::string CommitOfTree(const std::string& tree) {
  std::error_code error;
  if (!fs::exists(tree + "/" + kGit, error)) return {};
  const auto commit = RunProgram({"git", "-C", tree, "rev-parse", "HEAD"}, "ask for the commit");
  if (!commit) return {};
  std::string text = commit->substr(0, commit->find('\n'));
  const auto changed = RunProgram(
      {"git", "-C", tree, "status", "--porcelain", "--untracked-files=no"}, "ask for changes");
  if (changed && !changed->empty()) text += ", with changes that are not committed";
  return text;
}

}  // namespace blkfair

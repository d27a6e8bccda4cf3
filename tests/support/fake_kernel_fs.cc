#include "tests/support/fake_kernel_fs.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/check.h"
#include "base/fd.h"
#include "kmod_setup/kernel_objects.h"

namespace blkfair {

namespace {

namespace fs = std::filesystem;

// Files and directories of the fake itself, below the counted mutations.
void Put(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  CHECK(WriteWholeFile(path, text).has_value());
}

std::string Get(const std::string& path) { return ReadWholeFile(path).value_or(""); }

std::string GetLine(const std::string& path) { return ChosenValue(Get(path)); }

bool EndsWith(const std::string& text, const std::string& suffix) {
  return !suffix.empty() && text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// What null_blk devices show before anything is written (6.12).
const std::map<std::string, std::string> kDeviceDefaults = {
    {"blocking", "0"},      {"blocksize", "512"},       {"completion_nsec", "10000"},
    {"discard", "0"},       {"hw_queue_depth", "64"},   {"index", "0"},
    {"irqmode", "1"},       {"max_sectors", "0"},       {"mbps", "0"},
    {"memory_backed", "0"}, {"poll_queues", "1"},       {"power", "0"},
    {"queue_mode", "2"},    {"shared_tag_bitmap", "0"}, {"shared_tags", "0"},
    {"size", "256000"},     {"submit_queues", "1"},
};

const std::map<std::string, std::string> kNullBlkDefaults = {
    {"blocking", "N"},      {"gb", "250"},        {"hw_queue_depth", "64"},
    {"irqmode", "1"},       {"nr_devices", "1"},  {"poll_queues", "1"},
    {"queue_mode", "2"},    {"shared_tags", "N"}, {"shared_tag_bitmap", "N"},
    {"submit_queues", "1"},
};

bool IsBool(const std::string& value) { return value == "Y" || value == "N"; }

std::string TagsText(const std::string& depth) {
  return fmt::format(
      "nr_tags={0}\nnr_reserved_tags=0\nactive_queues=0\n\nbitmap_tags:\ndepth={0}\nbusy=0\n"
      "cleared=0\nwake_batch=8\nws_active=0\n",
      depth);
}

}  // namespace

TempDir::TempDir() {
  // In memory where that is: the sweeps sync thousands of journal lines.
  const fs::path memory = "/dev/shm";
  const fs::path parent = fs::exists(memory) ? memory : fs::temp_directory_path();
  std::string name = (parent / "blkfair-test-XXXXXX").string();
  CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::map<std::string, std::string> Snapshot(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    files[entry.path().string()] = entry.is_directory() ? "/" : Get(entry.path().string());
  }
  return files;
}

FakeKernelFs::FakeKernelFs(const std::string& directory) : KernelFs(KernelRoots::Under(directory)) {
  if (fs::exists(roots().sys)) return;
  fs::create_directories(roots().sys + "/block");
  fs::create_directories(roots().sys + "/module");
  fs::create_directories(roots().debugfs);
  fs::create_directories(roots().dev);
  Put(roots().proc + "/self/mounts", "proc /proc proc rw 0 0\n");
  Put(roots().proc + "/self/status", "Name:\ttest\nCapEff:\t000001ffffffffff\n");
  Put(roots().proc + "/filesystems", "nodev\tdebugfs\n");
  Put(roots().proc + "/sys/kernel/random/boot_id", "first-boot\n");
}

Result<void> FakeKernelFs::Mutate(const std::string& what,
                                  const std::function<Result<void>()>& act) {
  const int n = mutations_++;
  if (n == fail_at_) return FailErrno(EIO, what);
  if (watch) watch(n, false);
  Result<void> done = act();
  if (watch) watch(n, true);
  return done;
}

void FakeKernelFs::AddProcess(int pid, const std::string& start_time) {
  std::string stat = fmt::format("{} (a (b) c) S", pid);
  for (int field = 4; field < 22; field++) stat += " 7";
  Put(fmt::format("{}/{}/stat", roots().proc, pid), stat + " " + start_time + " 8 9\n");
}

void FakeKernelFs::RemoveProcess(int pid) {
  fs::remove_all(fmt::format("{}/{}", roots().proc, pid));
}

std::string FakeKernelFs::Parameter(const std::string& name) const {
  return ReadModuleParameter(*this, "null_blk", name).value_or("");
}

bool FakeKernelFs::IsDeviceAttr(const std::string& path) const {
  return path.rfind(Nullb() + "/", 0) == 0;
}

Result<void> FakeKernelFs::Write(const std::string& path, std::string_view text) {
  const std::string what = fmt::format("write {} to {}", text, path);
  if (busy_.second > 0 && EndsWith(path, busy_.first)) {
    busy_.second--;
    return FailErrno(EBUSY, what);
  }
  return Mutate(what, [&]() -> Result<void> {
    if (!fs::exists(path)) return FailErrno(ENOENT, what);
    if (EndsWith(path, stubborn_.first)) {
      Put(path, stubborn_.second + "\n");
      return {};
    }
    return WriteAttr(path, std::string(text));
  });
}

Result<void> FakeKernelFs::WriteAttr(const std::string& path, const std::string& text) {
  const std::string attribute = fs::path(path).filename().string();
  if (attribute == "scheduler") {
    std::string offered;
    for (const char* const name : {"none", "mq-deadline", "kyber", "bfq"}) {
      offered += text == name ? fmt::format("[{}] ", name) : fmt::format("{} ", name);
    }
    Put(path, offered + "\n");
    return {};
  }
  if (!IsDeviceAttr(path)) {
    Put(path, text + "\n");
    return {};
  }
  const fs::path dir = fs::path(path).parent_path();
  const bool powered = GetLine((dir / "power").string()) == "1";
  if (attribute == "power") {
    Put(path, text + "\n");
    if (text == "1" && !powered) PowerOn(dir.filename().string());
    if (text == "0" && powered) PowerOff(dir.filename().string());
    return {};
  }
  if (powered) return FailErrno(EBUSY, fmt::format("write {} to {}", text, path));
  Put(path, text + "\n");
  return {};
}

void FakeKernelFs::PowerOn(const std::string& name) {
  const std::string dir = Nullb() + "/" + name + "/";
  const bool shared = GetLine(dir + "shared_tags") == "1";
  const std::string depth = shared ? Parameter("hw_queue_depth") : GetLine(dir + "hw_queue_depth");
  const std::string hw_queues =
      shared ? Parameter("submit_queues") : GetLine(dir + "submit_queues");
  const std::string sys = roots().sys + "/block/" + name;
  Put(sys + "/size", std::to_string(std::stoll(GetLine(dir + "size")) * 2048) + "\n");
  Put(sys + "/queue/logical_block_size", Get(dir + "blocksize"));
  Put(sys + "/queue/dma_alignment", "511\n");
  Put(sys + "/queue/max_sectors_kb", "127\n");
  Put(sys + "/queue/scheduler", "none [mq-deadline] \n");
  Put(sys + "/queue/nr_requests", depth + "\n");
  Put(sys + "/queue/io_timeout", "5000\n");
  CHECK(WriteAttr(sys + "/queue/scheduler", "mq-deadline").has_value());
  for (int i = 0; i < std::stoi(hw_queues); i++) {
    Put(fmt::format("{}/mq/{}/nr_tags", sys, i), depth + "\n");
    Put(fmt::format("{}/mq/{}/nr_reserved_tags", sys, i), "0\n");
    const std::string hctx = fmt::format("{}/block/{}/hctx{}", roots().debugfs, name, i);
    Put(hctx + "/tags", TagsText(depth));
    Put(hctx + "/active", "0\n");
    Put(hctx + "/busy", "");
    Put(hctx + "/flags", "");
    Put(hctx + "/state", "\n");
  }
  Put(roots().dev + "/" + name, "");
  UpdateSharedFlags();
}

void FakeKernelFs::PowerOff(const std::string& name) {
  fs::remove_all(roots().sys + "/block/" + name);
  fs::remove_all(roots().debugfs + "/block/" + name);
  fs::remove(roots().dev + "/" + name);
  UpdateSharedFlags();
}

void FakeKernelFs::UpdateSharedFlags() {
  std::vector<std::string> members;
  for (const auto& entry : fs::directory_iterator(Nullb())) {
    const std::string dir = entry.path().string();
    if (GetLine(dir + "/power") != "1") continue;
    const bool shared = GetLine(dir + "/shared_tags") == "1";
    const std::string hctx = roots().debugfs + "/block/" + entry.path().filename().string();
    Put(hctx + "/hctx0/flags", "alloc_policy=FIFO SHOULD_MERGE\n");
    if (shared) members.push_back(hctx);
  }
  if (members.size() < 2) return;
  for (const std::string& member : members) {
    Put(member + "/hctx0/flags", "alloc_policy=FIFO SHOULD_MERGE|TAG_QUEUE_SHARED\n");
  }
}

Result<void> FakeKernelFs::MakeDir(const std::string& path) {
  return Mutate("make directory " + path, [&]() -> Result<void> {
    if (!fs::create_directory(path)) return FailErrno(EEXIST, "make directory " + path);
    if (!IsDeviceAttr(path)) return {};
    for (const auto& [attribute, value] : kDeviceDefaults)
      Put(path + "/" + attribute, value + "\n");
    if (Parameter("shared_tags") == "1") Put(path + "/shared_tags", "1\n");
    return {};
  });
}

Result<void> FakeKernelFs::RemoveDir(const std::string& path) {
  return Mutate("remove directory " + path, [&]() -> Result<void> {
    if (!fs::exists(path)) return FailErrno(ENOENT, "remove directory " + path);
    if (IsDeviceAttr(path) && GetLine(path + "/power") == "1") {
      Put(path + "/power", "0\n");
      PowerOff(fs::path(path).filename().string());
    }
    fs::remove_all(path);
    return {};
  });
}

Result<void> FakeKernelFs::Mount(const std::string& type, const std::string& path) {
  return Mutate("mount " + path, [&]() -> Result<void> {
    if (!fs::exists(path)) return FailErrno(ENOENT, "mount " + path);
    Put(roots().proc + "/self/mounts",
        Get(roots().proc + "/self/mounts") + fmt::format("{} {} {} rw 0 0\n", type, path, type));
    if (type == "debugfs") fs::create_directories(path + "/block");
    if (type == "configfs" && fs::exists(roots().sys + "/module/null_blk")) {
      fs::create_directories(path + "/nullb");
    }
    return {};
  });
}

Result<void> FakeKernelFs::Unmount(const std::string& path) {
  return Mutate("unmount " + path, [&]() -> Result<void> {
    std::string rest;
    const std::string mounts = Get(roots().proc + "/self/mounts");
    for (size_t begin = 0; begin < mounts.size();) {
      const size_t end = mounts.find('\n', begin) + 1;
      const std::string line = mounts.substr(begin, end - begin);
      if (line.find(" " + path + " ") == std::string::npos) rest += line;
      begin = end;
    }
    Put(roots().proc + "/self/mounts", rest);
    for (const auto& entry : fs::directory_iterator(path)) fs::remove_all(entry);
    return {};
  });
}

void FakeKernelFs::Loaded(const std::string& module, const ModuleParameters& parameters) {
  const std::string dir = roots().sys + "/module/" + ModuleSysName(module);
  Put(dir + "/initstate", "live\n");
  Put(dir + "/refcnt", "0\n");
  if (module == "configfs") {
    fs::create_directories(roots().configfs);
    Put(roots().proc + "/filesystems", Get(roots().proc + "/filesystems") + "nodev\tconfigfs\n");
  }
  if (module != "null_blk") return;
  for (auto [name, value] : kNullBlkDefaults) {
    for (const auto& [given, given_value] : parameters) {
      if (given != name) continue;
      value = !IsBool(value) ? given_value : given_value == "1" ? "Y" : "N";
    }
    Put(fmt::format("{}/parameters/{}", dir, name), value + "\n");
  }
  if (IsMounted(*this, "configfs", roots().configfs)) fs::create_directories(Nullb());
}

void FakeKernelFs::Unloaded(const std::string& module) {
  fs::remove_all(roots().sys + "/module/" + ModuleSysName(module));
  if (module == "null_blk") fs::remove_all(Nullb());
  if (module != "configfs") return;
  fs::remove_all(roots().configfs);
  Put(roots().proc + "/filesystems", "nodev\tdebugfs\n");
}

bool FakeModuleLoader::Available(const std::string& name) {
  return std::find(available.begin(), available.end(), name) != available.end();
}

Result<std::vector<std::string>> FakeModuleLoader::Dependencies(const std::string& name) {
  if (name == "null_blk") return std::vector<std::string>{"configfs"};
  return std::vector<std::string>{};
}

Result<void> FakeModuleLoader::Load(const std::string& name, const ModuleParameters& parameters) {
  return fs_->Mutate("load module " + name, [&]() -> Result<void> {
    if (!Available(name))
      return Fail(ErrorKind::kUnmet, "load module " + name + ": no such module");
    if (GetModuleState(*fs_, name) != ModuleState::kAbsent) {
      return FailErrno(EEXIST, "load module " + name);
    }
    fs_->Loaded(name, parameters);
    return {};
  });
}

Result<void> FakeModuleLoader::Unload(const std::string& name) {
  return fs_->Mutate("unload module " + name, [&]() -> Result<void> {
    if (GetModuleState(*fs_, name) != ModuleState::kLoaded) {
      return FailErrno(ENOENT, "unload module " + name);
    }
    if (ModuleUsers(*fs_, name) > 0) return FailErrno(EAGAIN, "unload module " + name);
    // EAGAIN too in a real kernel; another errno spares the fault sweep the retries.
    const std::string nullb = fs_->roots().configfs + "/nullb";
    const bool has_devices = fs::exists(nullb) && !fs::is_empty(nullb);
    const bool mounted = IsMounted(*fs_, "configfs", fs_->roots().configfs);
    if ((name == "null_blk" && has_devices) || (name == "configfs" && mounted)) {
      return FailErrno(EPERM, "unload module " + name);
    }
    fs_->Unloaded(name);
    return {};
  });
}

}  // namespace blkfair

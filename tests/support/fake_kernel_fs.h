// A kernel under a temporary directory: KernelFs whose configfs, sysfs and debugfs behave enough
// like the real ones for the null_blk fixture: attributes appear with a directory, power makes the
// disk, module parameters shape the shared set. The state is in the files alone, so that another
// process (a killed run's cleaner) finds it. Any mutation can be made to fail, or be watched.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/kernel_fs.h"
#include "kmod_setup/module.h"

namespace blkfair {

// A fresh directory, removed with all that is in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Every file below a directory with its text, every directory with "/": for comparing two moments.
std::map<std::string, std::string> Snapshot(const std::string& directory);

class FakeKernelFs : public KernelFs {
 public:
  // Makes a bare kernel in `directory`: nothing loaded, nothing mounted. An existing one is kept.
  explicit FakeKernelFs(const std::string& directory);

  // Mutations (writes, directories, mounts, module loads) are counted from 0.
  int mutations() const { return mutations_; }
  // That mutation fails with EIO and changes nothing.
  void FailMutation(int n) { fail_at_ = n; }
  // Called before (false) and after (true) each mutation.
  std::function<void(int n, bool after)> watch;
  // A path that ends so is busy for that many writes.
  void MakeBusy(const std::string& suffix, int writes) { busy_ = {suffix, writes}; }
  // A path that ends so keeps this value whatever is written.
  void MakeStubborn(const std::string& suffix, const std::string& value) {
    stubborn_ = {suffix, value};
  }

  // A process in /proc, as far as journals look at it.
  void AddProcess(int pid, const std::string& start_time);
  void RemoveProcess(int pid);

  Result<void> Write(const std::string& path, std::string_view text) override;
  Result<void> MakeDir(const std::string& path) override;
  Result<void> RemoveDir(const std::string& path) override;
  Result<void> Mount(const std::string& type, const std::string& path) override;
  Result<void> Unmount(const std::string& path) override;

  // For FakeModuleLoader.
  Result<void> Mutate(const std::string& what, const std::function<Result<void>()>& act);
  void Loaded(const std::string& module, const ModuleParameters& parameters);
  void Unloaded(const std::string& module);

 private:
  bool IsDeviceAttr(const std::string& path) const;
  Result<void> WriteAttr(const std::string& path, const std::string& text);
  void PowerOn(const std::string& name);
  void PowerOff(const std::string& name);
  void UpdateSharedFlags();
  std::string Parameter(const std::string& name) const;
  std::string Nullb() const { return roots().configfs + "/nullb"; }

  int mutations_ = 0;
  int fail_at_ = -1;
  std::pair<std::string, int> busy_;
  std::pair<std::string, std::string> stubborn_;
};

// Knows null_blk, configfs and the schedulers, but for those that a test takes away.
class FakeModuleLoader : public ModuleLoader {
 public:
  explicit FakeModuleLoader(FakeKernelFs* fs) : fs_(fs) {}

  std::vector<std::string> available = {"configfs", "null_blk", "kyber-iosched", "bfq"};

  bool Available(const std::string& name) override;
  Result<std::vector<std::string>> Dependencies(const std::string& name) override;
  Result<void> Load(const std::string& name, const ModuleParameters& parameters) override;
  Result<void> Unload(const std::string& name) override;

 private:
  FakeKernelFs* fs_;
};

}  // namespace blkfair

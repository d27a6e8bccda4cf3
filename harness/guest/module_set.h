// The modules that a guest needs, with everything they depend on, ready for its image.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace blkfair {

struct ModuleFile {
  std::string path;     // below lib/modules/RELEASE, decompressed name: "kernel/.../null_blk.ko"
  std::string content;  // decompressed
};

struct ModuleSet {
  std::vector<ModuleFile> modules;
  // modules.dep.bin and its like, for exactly these modules; what libkmod reads in the guest.
  std::vector<ModuleFile> indexes;
  std::vector<std::string> absent;  // asked for, neither a module nor built in
};

// `names` and their dependencies and soft dependencies, from MODULES_ROOT/lib/modules/RELEASE,
// where depmod has run. Built-in ones need no file. `scratch` is an existing folder for temporary
// files, which are removed again.
Result<ModuleSet> CollectModules(const std::string& modules_root, const std::string& release,
                                 const std::vector<std::string>& names, const std::string& scratch);

}  // namespace blkfair

#include "base/user_dirs.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace blkfair {

namespace {

std::string HomeDir() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return home;
  if (const passwd* user = ::getpwuid(::getuid()); user != nullptr) return user->pw_dir;
  return "/";
}

// An XDG variable counts only when it is an absolute path (XDG base directory specification).
std::string XdgDir(const char* variable, const char* below_home) {
  if (const char* dir = std::getenv(variable); dir != nullptr && *dir == '/') return dir;
  return HomeDir() + below_home;
}

}  // namespace

std::string CacheDir() { return XdgDir("XDG_CACHE_HOME", "/.cache") + "/blkfair"; }
std::string StateDir() { return XdgDir("XDG_STATE_HOME", "/.local/state") + "/blkfair"; }

}  // namespace blkfair

// apt, looking at nothing but a folder of ours (and the system's proxies and keys): any user can
// fetch with it, and nothing of the system's apt state is touched. Called by one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace blkfair {

class PrivateApt {
 public:
  // `sources`: deb822 text (see DeriveSources). `interrupted` may be null.
  static Result<PrivateApt> Create(const std::string& folder, const std::string& sources,
                                   std::function<bool()> interrupted);

  // `program`: apt-get, apt-cache. Its standard output.
  Result<std::string> Run(const std::string& program, const std::vector<std::string>& arguments,
                          const std::string& what) const;

  // Where `apt-get download` puts what it fetches.
  std::string download_folder() const { return folder_ + "/download"; }

 private:
  PrivateApt(std::string folder, std::function<bool()> interrupted)
      : folder_(std::move(folder)), interrupted_(std::move(interrupted)) {}
  std::string folder_;
  std::function<bool()> interrupted_;
};

}  // namespace blkfair

// Reads apt's source files, both forms (sources.list(5)), and derives from them a source for other
// suites of the same mirror. Pure, but for ReadInstalledSources; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace blkfair {

struct AptSource {
  std::vector<std::string> uris;
  std::vector<std::string> suites;
  std::vector<std::string> components;
  // Fields that go along with the mirror, in deb822 spelling: Signed-By, Trusted, ...
  std::vector<std::pair<std::string, std::string>> options;
};

// Enabled binary sources only; lines that cannot be understood are left out, as are CD-ROMs.
std::vector<AptSource> ParseOneLineSources(std::string_view text);
std::vector<AptSource> ParseDeb822Sources(std::string_view text);

// All of `apt_folder`/sources.list and sources.list.d.
Result<std::vector<AptSource>> ReadInstalledSources(const std::string& apt_folder);

// deb822 text that offers `suites` ("bookworm-backports", "bookworm-security") from the Debian
// mirrors among the installed sources. Security suites are left out where no security mirror is
// installed; kUnmet when there is no Debian mirror at all.
Result<std::string> DeriveSources(const std::vector<AptSource>& installed,
                                  const std::vector<std::string>& suites);

}  // namespace blkfair

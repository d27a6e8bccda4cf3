#include "harness/guest/apt_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/fd.h"

namespace blkfair {
namespace {

constexpr std::string_view kSpace = " \t\r";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) break;
    const size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool Has(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The deb822 spelling of an option that belongs to the mirror, or nothing.
std::optional<std::string> MirrorOption(std::string_view name) {
  for (const std::string_view known :
       {"Signed-By", "Trusted", "Check-Valid-Until", "Check-Date", "Allow-Insecure", "Allow-Weak",
        "Allow-Downgrade-To-Insecure"}) {
    if (SameName(name, known)) return std::string(known);
  }
  return std::nullopt;
}

void DropCdroms(AptSource& source) {
  std::erase_if(source.uris, [](const std::string& uri) { return uri.starts_with("cdrom:"); });
}

bool Usable(const AptSource& source) { return !source.uris.empty() && !source.suites.empty(); }

// "deb [ a=b c=d ] URI SUITE COMPONENT..."
std::optional<AptSource> ParseLine(std::string_view line) {
  line = Trim(line.substr(0, line.find('#')));
  if (!line.starts_with("deb ") && !line.starts_with("deb\t")) return std::nullopt;
  line = Trim(line.substr(4));
  AptSource source;
  if (line.starts_with('[')) {
    const size_t close = line.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    for (const std::string& option : Words(line.substr(1, close - 1))) {
      const size_t equals = option.find('=');
      if (equals == std::string::npos) continue;
      const auto name = MirrorOption(std::string_view(option).substr(0, equals));
      if (!name) continue;
      std::string value = option.substr(equals + 1);
      std::replace(value.begin(), value.end(), ',', ' ');
      source.options.emplace_back(*name, value);
    }
    line = Trim(line.substr(close + 1));
  }
  const std::vector<std::string> words = Words(line);
  if (words.size() < 2) return std::nullopt;
  source.uris = {words[0]};
  source.suites = {words[1]};
  source.components.assign(words.begin() + 2, words.end());
  DropCdroms(source);
  if (!Usable(source)) return std::nullopt;
  return source;
}

struct Field {
  std::string name;
  std::string value;  // continuation lines kept as they are: an embedded key needs them
};

std::optional<AptSource> FromStanza(const std::vector<Field>& fields) {
  AptSource source;
  bool binary = false;
  bool enabled = true;
  for (const auto& [name, value] : fields) {
    if (SameName(name, "Types")) binary = Has(Words(value), "deb");
    if (SameName(name, "URIs")) source.uris = Words(value);
    if (SameName(name, "Suites")) source.suites = Words(value);
    if (SameName(name, "Components")) source.components = Words(value);
    if (SameName(name, "Enabled")) {
      const std::string_view word = Trim(value);
      enabled = !(SameName(word, "no") || SameName(word, "false") || SameName(word, "off") ||
                  word == "0" || SameName(word, "without") || SameName(word, "disable"));
    }
    if (const auto option = MirrorOption(name)) source.options.emplace_back(*option, value);
  }
  DropCdroms(source);
  if (!binary || !enabled || !Usable(source)) return std::nullopt;
  return source;
}

// A Debian suite by itself: a codename or class, perhaps with -updates, -backports, ...
bool IsDebianSuite(std::string_view suite) {
  for (const std::string_view end :
       {"-updates", "-backports", "-proposed-updates", "-backports-sloppy"}) {
    if (suite.ends_with(end)) suite.remove_suffix(end.size());
  }
  constexpr std::array<std::string_view, 11> kNames{
      "bullseye", "bookworm", "trixie",    "forky",    "duke",        "sid",
      "stable",   "testing",  "oldstable", "unstable", "experimental"};
  return std::find(kNames.begin(), kNames.end(), suite) != kNames.end();
}

bool IsSecuritySuite(std::string_view suite) {
  if (suite.ends_with("-security"))
    suite.remove_suffix(9);
  else if (suite.ends_with("/updates"))
    suite.remove_suffix(8);  // before bullseye
  else
    return false;
  return IsDebianSuite(suite);
}

// Third parties also have a "main" for "bookworm"; a Debian mirror's path says debian.
bool LooksLikeDebian(const AptSource& source) {
  return std::any_of(source.uris.begin(), source.uris.end(), [](const std::string& uri) {
    const size_t scheme = uri.find(":/");
    const std::string_view path = std::string_view(uri).substr(scheme == uri.npos ? 0 : scheme);
    return path.find("/debian") != path.npos;
  });
}

const AptSource* FindMirror(const std::vector<AptSource>& installed,
                            bool (*wanted)(std::string_view)) {
  const AptSource* found = nullptr;
  for (const AptSource& source : installed) {
    if (!Has(source.components, "main") ||
        std::none_of(source.suites.begin(), source.suites.end(), wanted)) {
      continue;
    }
    if (LooksLikeDebian(source)) return &source;
    if (found == nullptr) found = &source;
  }
  return found;
}

std::string Stanza(const AptSource& mirror, const std::vector<std::string>& suites) {
  std::string text =
      fmt::format("Types: deb\nURIs: {}\nSuites: {}\nComponents: main\nArchitectures: amd64\n",
                  fmt::join(mirror.uris, " "), fmt::join(suites, " "));
  for (const auto& [name, value] : mirror.options)
    text += fmt::format("{}:{}{}\n", name, value.starts_with('\n') ? "" : " ", value);
  return text + "\n";
}

}  // namespace

std::vector<AptSource> ParseOneLineSources(std::string_view text) {
  std::vector<AptSource> sources;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (auto source = ParseLine(text.substr(at, end - at))) sources.push_back(std::move(*source));
    at = end + 1;
  }
  return sources;
}

std::vector<AptSource> ParseDeb822Sources(std::string_view text) {
  std::vector<AptSource> sources;
  std::vector<Field> fields;
  const auto end_stanza = [&] {
    if (auto source = FromStanza(fields)) sources.push_back(std::move(*source));
    fields.clear();
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with('#')) continue;
    if (Trim(line).empty()) {
      end_stanza();
    } else if (line.front() == ' ' || line.front() == '\t') {
      if (!fields.empty()) fields.back().value += fmt::format("\n {}", Trim(line));
    } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
      fields.push_back(
          {std::string(Trim(line.substr(0, colon))), std::string(Trim(line.substr(colon + 1)))});
    }
  }
  end_stanza();
  return sources;
}

Result<std::vector<AptSource>> ReadInstalledSources(const std::string& apt_folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::exists(apt_folder + "/sources.list", error))
    files.emplace_back(apt_folder + "/sources.list");
  for (const auto& entry : fs::directory_iterator(apt_folder + "/sources.list.d", error)) {
    if (entry.path().extension() == ".list" || entry.path().extension() == ".sources") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<AptSource> sources;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(file.string()));
    const std::vector<AptSource> found =
        file.extension() == ".sources" ? ParseDeb822Sources(text) : ParseOneLineSources(text);
    sources.insert(sources.end(), found.begin(), found.end());
  }
  return sources;
}

Result<std::string> DeriveSources(const std::vector<AptSource>& installed,
                                  const std::vector<std::string>& suites) {
  const AptSource* debian = FindMirror(installed, IsDebianSuite);
  const AptSource* security = FindMirror(installed, IsSecuritySuite);
  if (debian == nullptr) {
    return Fail(ErrorKind::kUnmet,
                "find a Debian mirror: apt's sources here name none; give a kernel by its path");
  }
  std::vector<std::string> main_suites;
  std::vector<std::string> security_suites;
  for (const std::string& suite : suites) {
    (IsSecuritySuite(suite) ? security_suites : main_suites).push_back(suite);
  }
  std::string text;
  if (!main_suites.empty()) text += Stanza(*debian, main_suites);
  if (!security_suites.empty() && security != nullptr) text += Stanza(*security, security_suites);
  return text;
}

}  // namespace blkfair

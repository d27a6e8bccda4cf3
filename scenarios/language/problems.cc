#include "scenarios/language/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace blkfair {

namespace {

constexpr size_t kQuotedBytesMax = 60;
constexpr size_t kListedMax = 24;
constexpr size_t kNameBytesMax = 64;  // longer texts are no slips of the finger

// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_previous(b.size() + 1);
  std::vector<size_t> previous(b.size() + 1);
  std::vector<size_t> current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) previous[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t substitution = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_previous[j - 2] + 1);
      }
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

void Problems::Add(const Place& place, std::string message) {
  found_.push_back({place, std::move(message)});
}

std::vector<Problems::Found> Problems::TakeBack(size_t count) {
  const auto first = found_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Found> out(std::make_move_iterator(first), std::make_move_iterator(found_.end()));
  found_.erase(first, found_.end());
  return out;
}

std::string OneLine(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::vector<Diagnostic> Problems::Take() {
  const auto key = [](const Found& f) {
    return std::tie(f.place.override_index, f.place.line, f.place.column);
  };
  std::stable_sort(found_.begin(), found_.end(),
                   [&](const Found& a, const Found& b) { return key(a) < key(b); });
  std::vector<Diagnostic> out;
  for (const Found& found : found_) {
    const int index = found.place.override_index;
    const std::string file = index < 0 ? file_ : "--set " + overrides_[static_cast<size_t>(index)];
    Diagnostic diagnostic{OneLine(file), found.place.line, found.place.column,
                          OneLine(found.message)};
    bool repeated = false;
    for (auto it = out.rbegin(); it != out.rend() && !repeated; ++it) {
      if (it->file != diagnostic.file || it->line != diagnostic.line ||
          it->column != diagnostic.column) {
        break;
      }
      repeated = it->message == diagnostic.message;
    }
    if (!repeated) out.push_back(std::move(diagnostic));
  }
  found_.clear();
  return out;
}

std::string Quote(std::string_view text) {
  bool cut = false;
  if (text.size() > kQuotedBytesMax) {
    size_t end = kQuotedBytesMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) end--;
    text = text.substr(0, end);
    cut = true;
  }
  return "\"" + OneLine(text) + (cut ? "...\"" : "\"");
}

std::string Listing(std::span<const std::string> names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < kListedMax; i++) {
    if (i > 0) out += ", ";
    out += names[i];
  }
  if (names.size() > kListedMax) out += fmt::format(" and {} more", names.size() - kListedMax);
  return out;
}

std::string Closest(std::string_view typed, std::span<const std::string> candidates) {
  if (typed.size() > kNameBytesMax) return "";
  const size_t distance_max = std::clamp<size_t>(typed.size() / 3, 1, 3);
  size_t best_distance = distance_max + 1;
  std::string_view best;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kNameBytesMax) continue;
    const size_t distance = EditDistance(typed, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return std::string(best);
}

std::string Suggestion(std::string_view typed, std::span<const std::string> candidates,
                       std::string_view known) {
  const std::string closest = Closest(typed, candidates);
  if (!closest.empty()) return fmt::format("; did you mean \"{}\"?", closest);
  if (candidates.empty()) return "";
  return fmt::format("; {}: {}", known, Listing(candidates));
}

}  // namespace blkfair

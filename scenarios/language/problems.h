// Problems: gathers the diagnostics of one reading, so that all of them come out in one go, in file
// order. Also how messages quote text and guess what was meant. Internal to scenarios/language.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/language/document.h"
#include "scenarios/language/reader.h"

namespace blkfair {

class Problems {
 public:
  // Both outlive this object.
  Problems(const std::string& file, const std::vector<Override>& overrides)
      : file_(file), overrides_(overrides) {}

  void Add(const Place& place, std::string message);
  size_t count() const { return found_.size(); }

  // In file order, overrides last in their order, each problem once.
  std::vector<Diagnostic> Take();

  struct Found {
    Place place;
    std::string message;
  };
  // Takes those out that were added when there were `count` already.
  std::vector<Found> TakeBack(size_t count);

 private:
  const std::string& file_;
  const std::vector<Override>& overrides_;
  std::vector<Found> found_;
};

// `text` with its control characters spelled out.
std::string OneLine(std::string_view text);

// Text of the user's in quotes, on one line, cut where it is long.
std::string Quote(std::string_view text);

// "a, b, c", cut where it is long.
std::string Listing(std::span<const std::string> names);

// The candidate that `typed` was most likely meant to be, by Damerau-Levenshtein distance, or
// empty.
std::string Closest(std::string_view typed, std::span<const std::string> candidates);

// `; did you mean "x"?`, or a listing of what there is: "; `known`: a, b, c".
std::string Suggestion(std::string_view typed, std::span<const std::string> candidates,
                       std::string_view known);

}  // namespace blkfair

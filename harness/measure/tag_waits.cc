#include "harness/measure/tag_waits.h"

#include <unistd.h>

#include <charconv>
#include <utility>

namespace blkfair {

namespace {

constexpr std::string_view kEvent = "events/block/block_rq_tag_wait";
constexpr unsigned kMinorBits = 20;  // MINORBITS of include/linux/kdev_t.h

// The number that follows `key` in `line`, after blanks.
std::optional<uint64_t> NumberAfter(std::string_view line, std::string_view key) {
  size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = line.find_first_not_of(' ', at + key.size());
  if (at == std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  const auto [rest, error] = std::from_chars(line.data() + at, line.data() + line.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

void TagWaits::Start(const FixtureContext& context) {
  const KernelFs& fs = *context.fs;
  const std::string tracing = fs.roots().sys + "/kernel/tracing";
  if (!fs.Exists(tracing)) return;
  if (!fs.Exists(tracing + "/events")) {
    auto mount = Mount::Create(context, "tracefs", tracing);
    if (!mount) return;
    objects_.Add(std::move(*mount));
  }
  if (!fs.Exists(tracing + "/" + std::string(kEvent))) return;
  auto made = ConfigfsDir::Create(
      context, tracing + "/instances/" + std::string(kObjectPrefix) + std::to_string(::getpid()));
  if (!made) return;
  ConfigfsDir* const instance = objects_.Add(std::move(*made));
  if (instance->Set(std::string(kEvent) + "/trigger", "hist:keys=dev")) instance_ = instance;
}

std::map<uint64_t, uint64_t> TagWaits::Read() const {
  if (instance_ == nullptr) return {};
  const Result<std::string> text = instance_->Get(std::string(kEvent) + "/hist");
  return text ? ParseDevHistogram(*text) : std::map<uint64_t, uint64_t>();
}

Result<void> TagWaits::Release() {
  instance_ = nullptr;
  return objects_.Release();  // the trigger goes with its instance
}

std::map<uint64_t, uint64_t> ParseDevHistogram(std::string_view text) {
  std::map<uint64_t, uint64_t> hits;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    // "{ dev:  264241152 } hitcount:         12"
    const std::optional<uint64_t> dev = NumberAfter(line, "{ dev:");
    const std::optional<uint64_t> count = NumberAfter(line, "hitcount:");
    if (dev && count) hits[*dev] += *count;
  }
  return hits;
}

std::optional<uint64_t> ParseDevNumber(std::string_view text) {
  uint64_t major = 0;
  uint64_t minor = 0;
  const char* const end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || colon == end || *colon != ':') return std::nullopt;
  if (std::from_chars(colon + 1, end, minor).ec != std::errc()) return std::nullopt;
  return (major << kMinorBits) | minor;
}

}  // namespace blkfair

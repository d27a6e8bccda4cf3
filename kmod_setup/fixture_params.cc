#include "kmod_setup/fixture_params.h"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

namespace blkfair {

namespace {

template <typename T>
constexpr bool kIsList = false;
template <typename T>
constexpr bool kIsList<std::vector<T>> = true;

size_t ValueCount(const ParamValue& value) {
  return std::visit(
      [](const auto& v) -> size_t {
        if constexpr (kIsList<std::decay_t<decltype(v)>>) {
          return v.size();
        } else {
          return 1;
        }
      },
      value);
}

}  // namespace

uint32_t QueueCount(const ParamValues& params) {
  return static_cast<uint32_t>(params.Int("queues"));
}

std::optional<std::string> CheckQueueLists(std::span<const ParamSpec> specs,
                                           const ParamValues& params) {
  const uint32_t queues = QueueCount(params);
  for (const ParamSpec& spec : specs) {
    if (spec.shape != ParamShape::kOneOrList) continue;
    const auto found = params.all().find(spec.name);
    if (found == params.all().end()) continue;
    const size_t count = ValueCount(found->second);
    if (count == 1 || count == queues) continue;
    return fmt::format("{} has {} values for {} queues: give one value, or one for each queue",
                       spec.name, count, queues);
  }
  return std::nullopt;
}

}  // namespace blkfair

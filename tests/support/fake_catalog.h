// A small catalog with every kind of parameter, for tests of the scenario language: the real parts
// may change without touching those.
#pragma once

#include <optional>
#include <string>

#include "scenarios/language/catalog.h"

namespace blkfair {

namespace fake_catalog {

inline constexpr ParamSpec kIoUringKeys[] = {
    {.name = "fixed_buffers",
     .type = ParamType::kBool,
     .default_text = "true",
     .help = "Register the buffers"},
};
inline constexpr ParamSpec kNullBlkKeys[] = {
    {.name = "queues",
     .type = ParamType::kInt,
     .default_text = "2",
     .min = 1,
     .max = 64,
     .help = "How many queues"},
    {.name = "depth",
     .type = ParamType::kInt,
     .default_text = "64",
     .min = 1,
     .max = 1024,
     .help = "Tags of the set"},
    {.name = "service_time",
     .type = ParamType::kDuration,
     .shape = ParamShape::kOneOrList,
     .default_text = "10ms",
     .min = 0,
     .help = "Service time, of all or of each queue"},
    {.name = "scheduler",
     .type = ParamType::kChoice,
     .default_text = "none",
     .choices = "none|mq-deadline|bfq",
     .help = "I/O scheduler"},
    {.name = "disk_size", .type = ParamType::kSize, .min = 4096, .help = "Size of each queue"},
};
inline constexpr ParamSpec kSimKeys[] = {
    {.name = "queues",
     .type = ParamType::kInt,
     .default_text = "2",
     .min = 1,
     .max = 64,
     .help = "How many queues"},
    {.name = "spread",
     .type = ParamType::kPercent,
     .default_text = "10%",
     .min = 0,
     .max = 1,
     .help = "Spread of the service time"},
    {.name = "weights",
     .type = ParamType::kNumber,
     .shape = ParamShape::kList,
     .default_text = "1, 0.5",
     .min = 0,
     .help = "Weight of each queue"},
};
inline constexpr ParamSpec kKnobKeys[] = {
    {.name = "value", .required = true, .help = "What is written"},
};
inline constexpr ParamSpec kShareKeys[] = {
    {.name = "of",
     .type = ParamType::kChoice,
     .default_text = "tags",
     .choices = "tags|iops|bytes",
     .help = "What is shared"},
    {.name = "queues",
     .shape = ParamShape::kList,
     .help = "The queues judged",
     .refers = ParamRef::kQueue},
    {.name = "min", .type = ParamType::kNumber, .min = 0, .max = 1, .help = "Least share"},
    {.name = "max", .type = ParamType::kNumber, .min = 0, .max = 1, .help = "Greatest share"},
    {.name = "tolerance",
     .type = ParamType::kPercent,
     .default_text = "5%",
     .min = 0,
     .max = 1,
     .help = "How far off a share may be"},
};
inline constexpr ParamSpec kSlowdownKeys[] = {
    {.name = "job", .required = true, .help = "The job judged", .refers = ParamRef::kJob},
    {.name = "solo", .help = "The phase compared with", .refers = ParamRef::kPhase},
    {.name = "max", .type = ParamType::kNumber, .required = true, .help = "Greatest slowdown"},
};
inline constexpr ParamSpec kBoundKeys[] = {
    {.name = "between",
     .shape = ParamShape::kOneOrList,
     .help = "Jobs or queues",
     .refers = ParamRef::kJobOrQueue},
    {.name = "max", .type = ParamType::kMetricValue, .min = 0, .help = "Greatest value"},
};

inline uint32_t QueueCount(const ParamValues& values) {
  return static_cast<uint32_t>(values.Int("queues"));
}

inline std::optional<std::string> CheckNullBlk(const ParamValues& values) {
  const size_t times = values.Ints("service_time").size();
  if (times == 1 || times == QueueCount(values)) return std::nullopt;
  return "service_time must have one element, or one for each queue";
}

inline std::optional<std::string> CheckShare(const ParamValues& values) {
  if (!values.Has("min") && !values.Has("max")) return "give min, max or both";
  if (values.Has("min") && values.Has("max") && values.Number("min") > values.Number("max")) {
    return "min is above max";
  }
  return std::nullopt;
}

}  // namespace fake_catalog

inline Catalog FakeCatalog() {
  namespace f = fake_catalog;
  return {.engines = {{.name = "io_uring",
                       .help = "Asynchronous",
                       .params = f::kIoUringKeys,
                       .trims_async = true},
                      {.name = "libaio",
                       .help = "Not through the page cache",
                       .params = {},
                       .synchronous_buffered = true},
                      {.name = "psync", .help = "Synchronous", .params = {}, .synchronous = true},
                      {.name = "sim", .help = "Virtual time", .params = {}}},
          .fixtures = {{.name = "null_blk",
                        .help = "Null block devices",
                        .params = f::kNullBlkKeys,
                        .queue_count = f::QueueCount,
                        .queue_key = "queues",
                        .check = f::CheckNullBlk},
                       {.name = "sim",
                        .help = "Simulated devices",
                        .params = f::kSimKeys,
                        .queue_count = f::QueueCount,
                        .queue_key = "queues"},
                       {.name = "knob", .help = "A kernel knob", .params = f::kKnobKeys}},
          .assertions = {{.name = "share",
                          .help = "Shares of the queues",
                          .params = f::kShareKeys,
                          .check = f::CheckShare},
                         {.name = "slowdown", .help = "Slowdown", .params = f::kSlowdownKeys},
                         {.name = "bound", .help = "One metric", .params = f::kBoundKeys}}};
}

}  // namespace blkfair

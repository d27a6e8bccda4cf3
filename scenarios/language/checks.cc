#include "scenarios/language/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/units.h"
#include "scenarios/language/expand.h"
#include "scenarios/language/keys.h"

namespace blkfair {

namespace {

constexpr uint32_t kQueuesListed = 16;  // of one fixture
// Of one job. No device takes so many at a time, and slots and buffers would take gigabytes.
constexpr uint64_t kInFlightMax = 262'144;

std::vector<std::string> QueueNames(const Referents& referents) {
  std::vector<std::string> names;
  for (const Referents::Fixture& fixture : referents.fixtures) {
    for (uint32_t i = 0; i < std::min(fixture.queues.value_or(0), kQueuesListed); i++) {
      names.push_back(QueueRef{fixture.name, i}.Name());
    }
  }
  return names;
}

// A message when `text` names no queue.
std::optional<std::string> QueueProblem(const std::string& text, const Referents& referents) {
  const std::optional<QueueRef> queue = ParseQueueName(text);
  if (!queue) {
    const std::string example =
        referents.FindFixture(text) != nullptr ? QueueRef{text, 0}.Name() : "FIXTURE:INDEX";
    return fmt::format("a queue is named \"{}\", not {}", example, Quote(text));
  }
  const Referents::Fixture* fixture = referents.FindFixture(queue->fixture);
  if (fixture == nullptr) {
    return fmt::format("no fixture makes queue {}{}", Quote(text),
                       Suggestion(text, QueueNames(referents), "there are"));
  }
  if (!fixture->queues || queue->index < *fixture->queues) return std::nullopt;
  if (*fixture->queues == 0) {
    return fmt::format("fixture {} of kind {} makes no queues", Quote(fixture->name),
                       fixture->kind);
  }
  const std::string first = QueueRef{fixture->name, 0}.Name();
  if (*fixture->queues == 1) {
    return fmt::format("fixture {} makes one queue, \"{}\", not {}", Quote(fixture->name), first,
                       Quote(text));
  }
  return fmt::format("fixture {} makes {} queues, \"{}\" to \"{}\", not {}", Quote(fixture->name),
                     *fixture->queues, first, QueueRef{fixture->name, *fixture->queues - 1}.Name(),
                     Quote(text));
}

std::optional<std::string> NameProblem(std::string_view what, const std::string& text,
                                       const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), text) != names.end()) return std::nullopt;
  std::vector<std::string> suggested;
  for (const std::string& name : names) {
    const bool repeated = std::find(suggested.begin(), suggested.end(), name) != suggested.end();
    if (IsName(name) && !repeated) suggested.push_back(name);
  }
  return fmt::format("no {} is named {}{}", what, Quote(text),
                     Suggestion(text, suggested, "there are"));
}

std::optional<std::string> ReferenceProblem(ParamRef refers, const std::string& text,
                                            const Referents& referents) {
  switch (refers) {
    case ParamRef::kNone:
      return std::nullopt;
    case ParamRef::kJob:
      return NameProblem("job", text, referents.jobs);
    case ParamRef::kQueue:
      return QueueProblem(text, referents);
    case ParamRef::kJobOrQueue:
      if (text.find(':') != std::string::npos) return QueueProblem(text, referents);
      return NameProblem("job or queue", text, referents.jobs);
    case ParamRef::kPhase:
      return NameProblem("phase", text, referents.phases);
  }
  return std::nullopt;
}

std::string Size(uint64_t bytes) { return FormatSize(static_cast<int64_t>(bytes)); }

void CheckInFlight(const Node& table, const JobSpec& job, Problems* problems) {
  const uint64_t in_flight = uint64_t{job.iodepth} * job.numjobs;
  if (in_flight <= kInFlightMax) return;
  const std::string message = fmt::format(
      "iodepth x numjobs is {} x {}, but a job may have at most {} I/Os in flight: lower one of "
      "them",
      job.iodepth, job.numjobs, kInFlightMax);
  problems->Add(PlaceOfProblem(table, JobKeys(), message), message);
}

// False: a problem was added.
bool CheckTrim(const Node& table, const JobSpec& job, const PartInfo& engine, Problems* problems) {
  if (!Trims(job.rw)) {
    if (table.Find("trim") == nullptr) return true;
    problems->Add(PlaceOfKey(table, "trim"),
                  fmt::format("trim goes with rw = \"trim\" or \"randtrim\" only, not with \"{}\"",
                              RwName(job.rw)));
    return false;
  }
  const Place place = PlaceOfKey(table, table.Find("trim") != nullptr ? "trim" : "rw");
  if (job.trim == TrimWay::kAsync && !engine.trims_async) {
    problems->Add(place, fmt::format("engine {} has no trims of its own: leave trim at \"ioctl\"",
                                     engine.name));
    return false;
  }
  if (job.trim == TrimWay::kIoctl && !engine.trims_by_ioctl) {
    problems->Add(place, fmt::format("engine {} has no device for an ioctl: set trim = \"async\"",
                                     engine.name));
    return false;
  }
  if (job.trim == TrimWay::kIoctl && job.iodepth > 1) {
    problems->Add(PlaceOfKey(table, "iodepth"),
                  fmt::format("trims by ioctl are synchronous: depth 1; use numjobs{}",
                              engine.trims_async ? ", or trim = \"async\"" : ""));
    return false;
  }
  return true;
}

void CheckDepth(const Node& table, const JobSpec& job, const PartInfo& engine, Problems* problems) {
  if (!CheckTrim(table, job, engine, problems)) return;
  if (engine.synchronous && job.iodepth > 1) {
    problems->Add(PlaceOfKey(table, "iodepth"),
                  fmt::format("engine {} is synchronous: depth 1; use numjobs", engine.name));
    return;
  }
  if (engine.synchronous_buffered && !job.direct && job.iodepth > 1) {
    problems->Add(
        PlaceOfKey(table, "iodepth"),
        fmt::format("engine {} is synchronous while direct is false: depth 1; use numjobs",
                    engine.name));
    return;
  }
  if (job.batch_submit > job.iodepth) {
    problems->Add(
        PlaceOfKey(table, "batch_submit"),
        fmt::format("batch_submit is {}, but only {} can be in flight: lower it, or raise "
                    "iodepth",
                    job.batch_submit, job.iodepth));
  }
  if (job.batch_complete > job.iodepth) {
    problems->Add(PlaceOfKey(table, "batch_complete"),
                  fmt::format("batch_complete is {}, but only {} can be in flight: lower it, or "
                              "raise iodepth",
                              job.batch_complete, job.iodepth));
  }
}

void CheckArea(const Node& table, const JobSpec& job, Problems* problems) {
  constexpr uint64_t kSectorBytes = 512;
  if (job.direct && job.bs_bytes % kSectorBytes != 0) {
    problems->Add(PlaceOfKey(table, "bs"),
                  fmt::format("bs must be a multiple of 512B while direct is true, not {}",
                              Size(job.bs_bytes)));
    return;
  }
  if (job.offset_bytes % job.bs_bytes != 0) {
    problems->Add(PlaceOfKey(table, "offset"),
                  fmt::format("offset must be a multiple of bs, which is {}, not {}",
                              Size(job.bs_bytes), Size(job.offset_bytes)));
  }
  const bool has_size = table.Find("size") != nullptr;
  if (has_size && job.size_bytes < job.bs_bytes) {
    problems->Add(
        PlaceOfKey(table, "size"),
        fmt::format("size must be at least bs, which is {}, not {}; leave it out to go to "
                    "the end of the queue",
                    Size(job.bs_bytes), Size(job.size_bytes)));
  }
}

}  // namespace

const Referents::Fixture* Referents::FindFixture(std::string_view name) const {
  const auto it = std::find_if(fixtures.begin(), fixtures.end(),
                               [&](const Fixture& fixture) { return fixture.name == name; });
  return it == fixtures.end() ? nullptr : &*it;
}

std::optional<QueueRef> ParseQueueName(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || !IsName(text.substr(0, colon))) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  QueueRef queue{std::string(text.substr(0, colon)), 0};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), queue.index);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (queue.Name() != text) return std::nullopt;  // "pair:00"
  return queue;
}

void CheckName(const Node& table, std::string_view what, std::vector<std::string>* taken,
               Problems* problems) {
  const std::string* name = table.FindText("name");
  if (name == nullptr) return;
  const Place place = PlaceOfKey(table, "name");
  if (!IsName(*name)) {
    problems->Add(place, fmt::format("{} cannot be named {}: take up to 64 letters, digits, \"_\" "
                                     "and \"-\"",
                                     what, Quote(*name)));
  }
  if (std::find(taken->begin(), taken->end(), *name) != taken->end()) {
    problems->Add(place,
                  fmt::format("another {} is named {}: names must differ", what, Quote(*name)));
  }
  taken->push_back(*name);
}

void CheckReferences(const Node& table, std::span<const ParamSpec> specs,
                     const Referents& referents, Problems* problems) {
  for (const ParamSpec& spec : specs) {
    const NodeEntry* entry = table.Find(spec.name);
    if (spec.refers == ParamRef::kNone || entry == nullptr) continue;
    const std::span<const Node> items = entry->value.IsArray()
                                            ? std::span<const Node>(entry->value.items)
                                            : std::span<const Node>(&entry->value, 1);
    for (const Node& item : items) {
      if (!item.IsString()) continue;
      if (const auto problem = ReferenceProblem(spec.refers, item.text, referents)) {
        problems->Add(item.place, *problem);
      }
    }
  }
}

void CheckNoRepeats(const Node& table, std::string_view key, Problems* problems) {
  const NodeEntry* entry = table.Find(key);
  if (entry == nullptr) return;
  std::set<std::string_view> seen;
  for (const Node& item : entry->value.items) {
    if (item.IsString() && !seen.insert(item.text).second) {
      problems->Add(item.place, fmt::format("{} names {} twice", key, Quote(item.text)));
    }
  }
}

void CheckJob(const Node& table, const JobSpec& job, const PartInfo& engine,
              const Referents::Fixture& fixture, Problems* problems) {
  const bool mixed = Reads(job.rw) && Writes(job.rw);
  if (table.Find("rwmixread") != nullptr && !mixed) {
    problems->Add(PlaceOfKey(table, "rwmixread"),
                  fmt::format("rwmixread goes with rw = \"rw\" or \"randrw\" only, not with \"{}\"",
                              RwName(job.rw)));
  }
  const bool sim_queue = fixture.kind == kSimName;
  const bool sim_engine = engine.name == kSimName;
  if (sim_queue && !sim_engine) {
    problems->Add(PlaceOfKey(table, "engine"),
                  fmt::format("queue \"{}\" is simulated: engine must be sim, not {}",
                              job.queue.Name(), engine.name));
  }
  if (!sim_queue && sim_engine) {
    problems->Add(PlaceOfKey(table, "engine"),
                  fmt::format("engine sim needs the queue of a sim fixture; \"{}\" is of kind {}",
                              job.queue.Name(), fixture.kind));
  }
  if (engine.direct_only && !job.direct) {
    problems->Add(PlaceOfKey(table, "direct"),
                  fmt::format("engine {} always passes by the page cache: leave direct at true",
                              engine.name));
  }
  if (sim_engine && job.isolation == Isolation::kProcess) {
    problems->Add(PlaceOfKey(table, "isolation"),
                  "a simulated job has neither a thread nor a process: take isolation out");
  }
  if (job.rate_iops > 0 && job.think_time_ns > 0) {
    problems->Add(PlaceOfKey(table, "think_time"),
                  "rate_iops says when I/Os begin: take think_time out, or rate_iops");
  }
  if (job.rate_iops == 0 && table.Find("rate_process") != nullptr) {
    problems->Add(PlaceOfKey(table, "rate_process"), "rate_process goes with rate_iops only");
  }
  CheckInFlight(table, job, problems);
  CheckDepth(table, job, engine, problems);
  CheckArea(table, job, problems);
}

Place PlaceOfKey(const Node& table, std::string_view key) {
  const NodeEntry* entry = table.Find(key);
  return entry != nullptr ? entry->value.place : table.place;
}

Place PlaceOfProblem(const Node& table, std::span<const ParamSpec> specs,
                     std::string_view message) {
  constexpr std::string_view kKeyCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::optional<Place> place;
  while (!message.empty()) {
    const size_t end = std::min(message.find_first_not_of(kKeyCharacters), message.size());
    const std::string_view word = message.substr(0, end);
    const NodeEntry* entry = FindSpec(specs, word) != nullptr ? table.Find(word) : nullptr;
    if (entry != nullptr && (!place || place->override_index < entry->value.place.override_index)) {
      place = entry->value.place;
    }
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return place.value_or(table.place);
}

}  // namespace blkfair

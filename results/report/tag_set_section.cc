#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "results/fairness/cross_checks.h"
#include "results/fairness/division.h"
#include "results/report/figures.h"
#include "results/report/layout.h"
#include "results/report/text_sections.h"

namespace blkfair {

namespace {

// How the tags of a set were counted: the same for all its queues. Null when they were not.
const OccupancyRecord* AnyOccupancy(const PhaseRecord& phase, const std::string& fixture) {
  for (const QueueRecord& queue : phase.queues) {
    if (queue.occupancy && queue.queue.starts_with(fixture + ":")) return &*queue.occupancy;
  }
  return nullptr;
}

// One figure of each queue of a set, "32.0 and 0.9"; of many queues, their sum. Empty where a queue
// has none.
template <typename FigureT>
std::string PerQueue(const PhaseRecord& phase, const TagSetPhaseRecord& set,
                     const FigureT& figure_of) {
  constexpr size_t kShown = 4;
  std::vector<std::string> figures;
  double sum = 0;
  for (const QueueRecord& queue : phase.queues) {
    if (FixtureOfQueue(queue.queue) != set.fixture) continue;
    const std::optional<double> value = figure_of(queue);
    if (!value) return "";
    figures.push_back(fmt::format("{:.1f}", *value));
    sum += *value;
  }
  if (figures.size() > kShown) return fmt::format("{:.1f} in all", sum);
  return fmt::to_string(fmt::join(figures, " and "));
}

// What a third source makes of the tags, or why it makes nothing of them where it could have.
std::string ServiceText(const Scenario& scenario, const PhaseRecord& phase,
                        const TagSetPhaseRecord& set) {
  const std::string figures = PerQueue(
      phase, set, [&](const QueueRecord& queue) { return TagsByService(scenario, phase, queue); });
  if (!figures.empty()) return "throughput x service makes " + figures;
  for (const QueueRecord& queue : phase.queues) {
    if (FixtureOfQueue(queue.queue) != set.fixture) continue;
    if (!queue.kernel || !queue.kernel->time_is_tag_time) continue;
    if (auto why = WhyNoService(scenario, phase, queue)) return "throughput x service -: " + *why;
  }
  return "";
}

// How many I/Os waited for a tag, and how that is known.
std::string WaitingText(const PhaseRecord& phase, const TagSetPhaseRecord& set) {
  const std::string figures =
      PerQueue(phase, set, [](const QueueRecord& queue) -> std::optional<double> {
        return queue.occupancy ? queue.occupancy->waiting_mean : std::nullopt;
      });
  if (figures.empty()) return "";
  std::string text = "I/Os waiting, inferred: " + figures;
  std::vector<uint64_t> waits;
  for (const QueueRecord& queue : phase.queues) {
    if (FixtureOfQueue(queue.queue) == set.fixture && queue.tag_waits) {
      waits.push_back(*queue.tag_waits);
    }
  }
  if (!waits.empty()) {
    text +=
        fmt::format("; waits traced: {}", std::accumulate(waits.begin(), waits.end(), uint64_t{0}));
  }
  return text;
}

// What the dearest phase of the sampling cost.
std::string SamplingText(std::span<const Record> records) {
  const SamplingRecord* dearest = nullptr;
  double most = 0;
  for (const Record& record : records) {
    for (const PhaseRecord& phase : record.phases) {
      if (!phase.sampling || phase.window_close_ns <= 0) continue;
      const double part =
          static_cast<double>(phase.sampling->cpu_ns) / static_cast<double>(phase.window_close_ns);
      if (dearest != nullptr && part <= most) continue;
      dearest = &*phase.sampling;
      most = part;
    }
  }
  if (dearest == nullptr) return "";
  return fmt::format("    sampling took {} a sample and {:.2f}% of a CPU at most\n",
                     HumanDuration(static_cast<double>(dearest->time_mean_ns)), 100 * most);
}

}  // namespace

std::string TagSetSection(const ReportInput& input) {
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
                   Align::kRight, Align::kLeft},
                  4);
  table.Limit(0, 24);
  table.Shrink(1);
  table.Row({"phase", "tag set", "demand", "usable", "contended", "active queues", "tags counted"});
  bool any = false;
  std::string why_above;
  for (const std::string& name : PhaseNames(input.records)) {
    const PhaseRecord& phase = AnyPhase(input.records, name);
    for (const TagSetPhaseRecord& set : phase.tag_sets) {
      any = true;
      const auto users =
          std::count_if(phase.queues.begin(), phase.queues.end(), [&](const QueueRecord& queue) {
            return FixtureOfQueue(queue.queue) == set.fixture && queue.demand > 0;
          });
      const std::string contended =
          set.samples == 0 ? "-"
          : users < 2      ? "one queue alone"
                           : fmt::format("{} of {} samples", set.samples_contended, set.samples);
      const OccupancyRecord* occupancy = AnyOccupancy(phase, set.fixture);
      table.Row({name, set.fixture, std::to_string(set.demand), std::to_string(set.usable_tags),
                 contended,
                 set.active_queues_mean ? fmt::format("{:.1f}", *set.active_queues_mean) : "-",
                 occupancy == nullptr ? "-" : "by " + occupancy->source});
      if (occupancy == nullptr) continue;
      std::vector<std::string> notes;
      // What stands beneath the row above needs no saying again.
      if (occupancy->why != why_above) notes.push_back(occupancy->why);
      why_above = occupancy->why;
      for (const std::string& note :
           {ServiceText(*input.scenario, phase, set), WaitingText(phase, set)}) {
        if (!note.empty()) notes.push_back(note);
      }
      const std::string text = fmt::to_string(fmt::join(notes, "; "));
      if (text.empty()) continue;
      for (const std::string& line : WrapText(text, kReportColumns - 10)) {
        table.Line("          " + line);
      }
    }
  }
  return any ? "Tag sets\n" + table.ToString() + SamplingText(input.records) : "";
}

}  // namespace blkfair

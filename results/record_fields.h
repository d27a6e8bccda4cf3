// The fields of a Record and of its parts, named once, in the order of the JSON: what writes a
// record and what reads it walk the same lists. `archive(key, field)` is called for each field; the
// structs are const for a writer. Used by record_json.cc.
#pragma once

#include <concepts>
#include <type_traits>

#include "results/record.h"

namespace blkfair {

template <typename T, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

void Fields(auto& archive, MaybeConst<DirectionRecord> auto& r) {
  archive("direction", r.direction);
  archive("ios", r.ios);
  archive("bytes", r.bytes);
  archive("slat", r.slat);
  archive("clat", r.clat);
  archive("lat", r.lat);
}

void Fields(auto& archive, MaybeConst<JobRecord> auto& r) {
  archive("job", r.job);
  archive("clone", r.clone);
  archive("queue", r.queue);
  archive("engine", r.engine);
  archive("issue_point", r.issue_point);
  archive("iodepth", r.iodepth);
  archive("gap_max_ns", r.gap_max_ns);
  archive("gap_max_at_ns", r.gap_max_at_ns);
  archive("gap_censored", r.gap_censored);
  archive("ios_trimmed", r.ios_trimmed);
  archive("ios_drained", r.ios_drained);
  archive("in_flight_at_close", r.in_flight_at_close);
  archive("outstanding", r.outstanding);
  archive("depth_mean", r.depth_mean);
  archive("depth_max", r.depth_max);
  archive("submit_calls", r.submit_calls);
  archive("reap_calls", r.reap_calls);
  archive("clock_anomalies", r.clock_anomalies);
  archive("errors", r.errors);
  archive("cpu_user_ns", r.cpu_user_ns);
  archive("cpu_system_ns", r.cpu_system_ns);
  archive("switches_voluntary", r.switches_voluntary);
  archive("switches_involuntary", r.switches_involuntary);
  archive("directions", r.directions);
  archive("series", r.series);
}

void Fields(auto& archive, MaybeConst<OccupancyRecord> auto& r) {
  archive("source", r.source);
  archive("why", r.why);
  archive("samples", r.samples);
  archive("mean", r.mean);
  archive("p95", r.p95);
  archive("max", r.max);
  archive("active_mean", r.active_mean);
  archive("busy_mean", r.busy_mean);
  archive("waiters_mean", r.waiters_mean);
  archive("at_limit_fraction", r.at_limit_fraction);
}

void Fields(auto& archive, MaybeConst<QueueRecord> auto& r) {
  archive("queue", r.queue);
  archive("demand", r.demand);
  archive("ios", r.ios);
  archive("bytes", r.bytes);
  archive("gap_max_ns", r.gap_max_ns);
  archive("occupancy", r.occupancy);
  archive("series", r.series);
}

void Fields(auto& archive, MaybeConst<TagSetPhaseRecord> auto& r) {
  archive("fixture", r.fixture);
  archive("demand", r.demand);
  archive("usable_tags", r.usable_tags);
  archive("samples", r.samples);
  archive("samples_contended", r.samples_contended);
  archive("active_queues_mean", r.active_queues_mean);
  archive("wake_batch", r.wake_batch);
}

void Fields(auto& archive, MaybeConst<PhaseRecord> auto& r) {
  archive("name", r.name);
  archive("solo", r.solo);
  archive("partial", r.partial);
  archive("settle_ns", r.settle_ns);
  archive("settled", r.settled);
  archive("window_open_ns", r.window_open_ns);
  archive("window_close_ns", r.window_close_ns);
  archive("tag_sets", r.tag_sets);
  archive("queues", r.queues);
  archive("jobs", r.jobs);
}

void Fields(auto& archive, MaybeConst<FixtureRecord> auto& r) {
  archive("name", r.name);
  archive("kind", r.kind);
  archive("shared", r.shared);
  archive("nr_tags", r.nr_tags);
  archive("nr_reserved_tags", r.nr_reserved_tags);
  archive("nr_hw_queues", r.nr_hw_queues);
  archive("settings", r.settings);
}

void Fields(auto& archive, MaybeConst<EnvironmentRecord> auto& r) {
  archive("executor", r.executor);
  archive("time", r.time);
  archive("kernel_release", r.kernel_release);
  archive("kernel_version", r.kernel_version);
  archive("kernel_config_hash", r.kernel_config_hash);
  archive("kernel_command_line", r.kernel_command_line);
  archive("cpus", r.cpus);
  archive("memory_bytes", r.memory_bytes);
  archive("cpu_model", r.cpu_model);
  archive("clock", r.clock);
  archive("clocksource", r.clocksource);
  archive("clock_read_cost_ns", r.clock_read_cost_ns);
}

void Fields(auto& archive, MaybeConst<EventRecord> auto& r) {
  archive("at_ns", r.at_ns);
  archive("text", r.text);
}

void Fields(auto& archive, MaybeConst<HostRecord> auto& r) {
  archive("started", r.started);
  archive("wall_seconds", r.wall_seconds);
  archive("kernel", r.kernel);
  archive("kernel_file", r.kernel_file);
  archive("machine", r.machine);
  archive("qemu_version", r.qemu_version);
  archive("qemu_arguments", r.qemu_arguments);
  archive("failed_boots", r.failed_boots);
  archive("work_folder", r.work_folder);
}

void Fields(auto& archive, MaybeConst<Record> auto& r) {
  archive("schema", r.schema);
  archive("tool_version", r.tool_version);
  archive("scenario_name", r.scenario_name);
  archive("scenario_hash", r.scenario_hash);
  archive("seed", r.seed);
  archive("outcome", r.outcome);
  archive("outcome_why", r.outcome_why);
  archive("environment", r.environment);
  archive("fixtures", r.fixtures);
  archive("phases", r.phases);
  archive("events", r.events);
  archive("scenario_toml", r.scenario_toml);
  archive("host", r.host);
}

}  // namespace blkfair

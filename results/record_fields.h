// The fields of a Record and of its parts, named once, in the order of the JSON: what writes a
// record and what reads it walk the same lists. `archive(key, field)` is called for each field; the
// structs are const for a writer. A field that is added to a struct and forgotten here does not
// compile. Used by record_json.cc.
#pragma once

#include <concepts>
#include <type_traits>

#include "results/record.h"

namespace blkfair {

template <typename T, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

void Fields(auto& archive, MaybeConst<DirectionRecord> auto& r) {
  auto& [direction, ios, bytes, slat, clat, lat, response] = r;
  archive("direction", direction);
  archive("ios", ios);
  archive("bytes", bytes);
  archive("slat", slat);
  archive("clat", clat);
  archive("lat", lat);
  archive("response", response);
}

void Fields(auto& archive, MaybeConst<OpenLoopRecord> auto& r) {
  auto& [rate_iops, process, due, late, backlog_max, backlog_at_close, behind_ns] = r;
  archive("rate_iops", rate_iops);
  archive("process", process);
  archive("due", due);
  archive("late", late);
  archive("backlog_max", backlog_max);
  archive("backlog_at_close", backlog_at_close);
  archive("behind_ns", behind_ns);
}

void Fields(auto& archive, MaybeConst<UnfinishedRecord> auto& r) {
  auto& [lat, clat, response] = r;
  archive("lat", lat);
  archive("clat", clat);
  archive("response", response);
}

void Fields(auto& archive, MaybeConst<JobRecord> auto& r) {
  auto& [job, clone, queue, engine, issue_point, iodepth, open_loop, directions, series, gap_max_ns,
         gap_max_at_ns, gap_censored, ios_trimmed, ios_drained, in_flight_at_close,
         unfinished_at_open, unfinished_at_close, outstanding, depth_mean, depth_max, submit_calls,
         submit_sizes, reap_calls, clock_anomalies, errors, cpus, nice, ioprio, ended_early,
         cpu_user_ns, cpu_system_ns, switches_voluntary, switches_involuntary] = r;
  archive("job", job);
  archive("clone", clone);
  archive("queue", queue);
  archive("engine", engine);
  archive("issue_point", issue_point);
  archive("iodepth", iodepth);
  archive("open_loop", open_loop);
  archive("gap_max_ns", gap_max_ns);
  archive("gap_max_at_ns", gap_max_at_ns);
  archive("gap_censored", gap_censored);
  archive("ios_trimmed", ios_trimmed);
  archive("ios_drained", ios_drained);
  archive("in_flight_at_close", in_flight_at_close);
  archive("unfinished_at_open", unfinished_at_open);
  archive("unfinished_at_close", unfinished_at_close);
  archive("outstanding", outstanding);
  archive("depth_mean", depth_mean);
  archive("depth_max", depth_max);
  archive("submit_calls", submit_calls);
  archive("submit_sizes", submit_sizes);
  archive("reap_calls", reap_calls);
  archive("clock_anomalies", clock_anomalies);
  archive("errors", errors);
  archive("cpus", cpus);
  archive("nice", nice);
  archive("ioprio", ioprio);
  archive("ended_early", ended_early);
  archive("cpu_user_ns", cpu_user_ns);
  archive("cpu_system_ns", cpu_system_ns);
  archive("switches_voluntary", switches_voluntary);
  archive("switches_involuntary", switches_involuntary);
  archive("directions", directions);
  archive("series", series);
}

void Fields(auto& archive, MaybeConst<OccupancyRecord> auto& r) {
  auto& [source, why, samples, mean, p95, max, active_mean, busy_mean, waiters_mean,
         at_limit_fraction, service_mean, waiting_mean] = r;
  archive("source", source);
  archive("why", why);
  archive("samples", samples);
  archive("mean", mean);
  archive("p95", p95);
  archive("max", max);
  archive("active_mean", active_mean);
  archive("busy_mean", busy_mean);
  archive("waiters_mean", waiters_mean);
  archive("at_limit_fraction", at_limit_fraction);
  archive("service_mean", service_mean);
  archive("waiting_mean", waiting_mean);
}

void Fields(auto& archive, MaybeConst<KernelCountsRecord> auto& r) {
  auto& [direction, requests, merges, bytes, time_ns] = r;
  archive("direction", direction);
  archive("requests", requests);
  archive("merges", merges);
  archive("bytes", bytes);
  archive("time_ns", time_ns);
}

void Fields(auto& archive, MaybeConst<KernelCountersRecord> auto& r) {
  auto& [open_at_ns, close_at_ns, in_flight_at_open, in_flight_at_close, time_is_tag_time, counts] =
      r;
  archive("open_at_ns", open_at_ns);
  archive("close_at_ns", close_at_ns);
  archive("in_flight_at_open", in_flight_at_open);
  archive("in_flight_at_close", in_flight_at_close);
  archive("time_is_tag_time", time_is_tag_time);
  archive("counts", counts);
}

void Fields(auto& archive, MaybeConst<SamplingRecord> auto& r) {
  auto& [samples, cpu_ns, time_mean_ns, time_max_ns, cpus] = r;
  archive("samples", samples);
  archive("cpu_ns", cpu_ns);
  archive("time_mean_ns", time_mean_ns);
  archive("time_max_ns", time_max_ns);
  archive("cpus", cpus);
}

void Fields(auto& archive, MaybeConst<QueueRecord> auto& r) {
  auto& [queue, demand, ios, bytes, gap_max_ns, series, occupancy, kernel, kernel_absent,
         tag_waits] = r;
  archive("queue", queue);
  archive("demand", demand);
  archive("ios", ios);
  archive("bytes", bytes);
  archive("gap_max_ns", gap_max_ns);
  archive("occupancy", occupancy);
  archive("kernel", kernel);
  archive("kernel_absent", kernel_absent);
  archive("tag_waits", tag_waits);
  archive("series", series);
}

void Fields(auto& archive, MaybeConst<TagSetPhaseRecord> auto& r) {
  auto& [fixture, demand, usable_tags, samples, samples_contended, active_queues_mean, wake_batch] =
      r;
  archive("fixture", fixture);
  archive("demand", demand);
  archive("usable_tags", usable_tags);
  archive("samples", samples);
  archive("samples_contended", samples_contended);
  archive("active_queues_mean", active_queues_mean);
  archive("wake_batch", wake_batch);
}

void Fields(auto& archive, MaybeConst<PhaseRecord> auto& r) {
  auto& [name, solo, partial, settle_ns, nudge_ns, settled, window_open_ns, window_close_ns,
         series_cell_ns, jobs, queues, tag_sets, sampling] = r;
  archive("name", name);
  archive("solo", solo);
  archive("partial", partial);
  archive("settle_ns", settle_ns);
  archive("nudge_ns", nudge_ns);
  archive("settled", settled);
  archive("window_open_ns", window_open_ns);
  archive("window_close_ns", window_close_ns);
  archive("series_cell_ns", series_cell_ns);
  archive("sampling", sampling);
  archive("tag_sets", tag_sets);
  archive("queues", queues);
  archive("jobs", jobs);
}

void Fields(auto& archive, MaybeConst<FixtureRecord> auto& r) {
  auto& [name, kind, shared, nr_tags, nr_reserved_tags, nr_hw_queues, settings] = r;
  archive("name", name);
  archive("kind", kind);
  archive("shared", shared);
  archive("nr_tags", nr_tags);
  archive("nr_reserved_tags", nr_reserved_tags);
  archive("nr_hw_queues", nr_hw_queues);
  archive("settings", settings);
}

void Fields(auto& archive, MaybeConst<AuditFinding> auto& r) {
  auto& [name, value, warning] = r;
  archive("name", name);
  archive("value", value);
  archive("warning", warning);
}

void Fields(auto& archive, MaybeConst<EnvironmentRecord> auto& r) {
  auto& [executor, time, kernel_release, kernel_version, kernel_config_hash, kernel_command_line,
         cpus, memory_bytes, cpu_model, cpu_idle, cpu_frequency, clock, clock_why, clocksource,
         clock_read_cost_ns, clock_in_user_space, clock_drift_ppm, clock_suspect, boot_wait_ns,
         boot_work_ended, audit] = r;
  archive("executor", executor);
  archive("time", time);
  archive("kernel_release", kernel_release);
  archive("kernel_version", kernel_version);
  archive("kernel_config_hash", kernel_config_hash);
  archive("kernel_command_line", kernel_command_line);
  archive("cpus", cpus);
  archive("memory_bytes", memory_bytes);
  archive("cpu_model", cpu_model);
  archive("cpu_idle", cpu_idle);
  archive("cpu_frequency", cpu_frequency);
  archive("clock", clock);
  archive("clock_why", clock_why);
  archive("clocksource", clocksource);
  archive("clock_read_cost_ns", clock_read_cost_ns);
  archive("clock_in_user_space", clock_in_user_space);
  archive("clock_drift_ppm", clock_drift_ppm);
  archive("clock_suspect", clock_suspect);
  archive("boot_wait_ns", boot_wait_ns);
  archive("boot_work_ended", boot_work_ended);
  archive("audit", audit);
}

void Fields(auto& archive, MaybeConst<EventRecord> auto& r) {
  auto& [at_ns, text] = r;
  archive("at_ns", at_ns);
  archive("text", text);
}

void Fields(auto& archive, MaybeConst<HostRecord> auto& r) {
  auto& [started, wall_seconds, kernel, kernel_file, kernel_origin, machine, qemu_version,
         qemu_arguments, failed_boots, work_folder, audit] = r;
  archive("started", started);
  archive("wall_seconds", wall_seconds);
  archive("kernel", kernel);
  archive("kernel_file", kernel_file);
  archive("kernel_origin", kernel_origin);
  archive("machine", machine);
  archive("qemu_version", qemu_version);
  archive("qemu_arguments", qemu_arguments);
  archive("failed_boots", failed_boots);
  archive("work_folder", work_folder);
  archive("audit", audit);
}

void Fields(auto& archive, MaybeConst<Record> auto& r) {
  auto& [schema, tool_version, scenario_name, scenario_hash, scenario_toml, seed, repeat, outcome,
         outcome_why, environment, fixtures, phases, events, host] = r;
  archive("schema", schema);
  archive("tool_version", tool_version);
  archive("scenario_name", scenario_name);
  archive("scenario_hash", scenario_hash);
  archive("seed", seed);
  archive("repeat", repeat);
  archive("outcome", outcome);
  archive("outcome_why", outcome_why);
  archive("environment", environment);
  archive("fixtures", fixtures);
  archive("phases", phases);
  archive("events", events);
  archive("scenario_toml", scenario_toml);
  archive("host", host);
}

}  // namespace blkfair

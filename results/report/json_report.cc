#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "results/fairness/cross_checks.h"
#include "results/json_text.h"
#include "results/report/figures.h"
#include "results/report/report.h"

namespace blkfair {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kReportSchema = 1;

Json Number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json MetricsOf(const ReportInput& input, const std::string& phase, const std::string& subject) {
  Json metrics = Json::object();
  for (const MetricInfo& metric : AllMetrics()) {
    metrics[std::string(metric.name)] = Number(MeanFigure(input.records, phase, subject, metric));
  }
  return metrics;
}

Json OpenLoopJson(const OpenLoopRecord& open) {
  return {{"rate_iops", open.rate_iops},
          {"process", open.process},
          {"due", open.due},
          {"late", open.late},
          {"backlog_max", open.backlog_max},
          {"backlog_at_close", open.backlog_at_close},
          {"behind_ns", open.behind_ns}};
}

// Of each clone with a rate, in the first record.
Json OpenLoopsJson(const PhaseRecord& phase, const std::string& name) {
  Json clones = Json::array();
  for (const JobRecord& job : phase.jobs) {
    if (job.job == name && job.open_loop) clones.push_back(OpenLoopJson(*job.open_loop));
  }
  return clones;
}

Json JobsJson(const ReportInput& input, const PhaseRecord& phase) {
  Json jobs = Json::array();
  for (const JobRecord* job : JobsOf(phase)) {
    jobs.push_back({{"job", job->job},
                    {"queue", job->queue},
                    {"engine", job->engine},
                    {"iodepth", job->iodepth},
                    {"clones", ClonesOf(phase, job->job).size()},
                    {"open_loop", OpenLoopsJson(phase, job->job)},
                    {"metrics", MetricsOf(input, phase.name, job->job)}});
  }
  return jobs;
}

Json QueuesJson(const ReportInput& input, const PhaseRecord& phase) {
  Json queues = Json::array();
  for (const QueueRecord& queue : phase.queues) {
    const bool sampled = queue.occupancy.has_value();
    queues.push_back({{"queue", queue.queue},
                      {"demand", queue.demand},
                      {"tags_source", sampled ? Json(queue.occupancy->source) : Json(nullptr)},
                      {"tags_source_why", sampled ? Json(queue.occupancy->why) : Json(nullptr)},
                      {"tags_by_service", Number(TagsByService(*input.scenario, phase, queue))},
                      {"waiting", sampled ? Number(queue.occupancy->waiting_mean) : Json(nullptr)},
                      {"tag_waits", queue.tag_waits ? Json(*queue.tag_waits) : Json(nullptr)},
                      {"metrics", MetricsOf(input, phase.name, queue.queue)}});
  }
  return queues;
}

// The keys of jobs that a phase sets, as TOML.
Json SettingsJson(const PhaseSpec* phase) {
  Json settings = Json::object();
  if (phase == nullptr) return settings;
  for (const JobSetting& setting : phase->settings) {
    settings["job." + setting.job + "." + setting.key] = setting.value;
  }
  return settings;
}

Json PhasesJson(const ReportInput& input) {
  Json phases = Json::array();
  for (const std::string& name : PhaseNames(input.records)) {
    const PhaseRecord& phase = AnyPhase(input.records, name);
    const PhaseSpec* spec = input.scenario->FindPhase(name);
    const bool step = spec != nullptr && !spec->sweep_of.empty();
    phases.push_back({{"phase", name},
                      {"sweep_of", step ? Json(spec->sweep_of) : Json(nullptr)},
                      {"set", SettingsJson(spec)},
                      {"solo", phase.solo},
                      {"partial", phase.partial},
                      {"window_ns", phase.window_ns()},
                      {"jobs", JobsJson(input, phase)},
                      {"queues", QueuesJson(input, phase)}});
  }
  return phases;
}

Json VerdictsJson(const Judgement& judgement) {
  Json verdicts = Json::array();
  for (const Verdict& verdict : judgement.verdicts) {
    verdicts.push_back({{"assertion", verdict.assertion},
                        {"kind", verdict.kind},
                        {"phase", verdict.phase},
                        {"what", verdict.what},
                        {"outcome", std::string(OutcomeName(verdict.outcome))},
                        {"observed", verdict.observed},
                        {"observed_value", Number(verdict.observed_value)},
                        {"n", verdict.n},
                        {"low", Number(verdict.low)},
                        {"high", Number(verdict.high)},
                        {"bound", verdict.bound},
                        {"why", verdict.why}});
  }
  return verdicts;
}

Json RecordsJson(const ReportInput& input) {
  Json records = Json::array();
  for (const Record& record : input.records) {
    records.push_back({{"outcome", std::string(RunOutcomeName(record.outcome))},
                       {"outcome_why", record.outcome_why},
                       {"seed", record.seed},
                       {"repeat", record.repeat},
                       {"kernel", record.environment.kernel_release},
                       {"executor", record.environment.executor},
                       {"time", record.environment.time},
                       {"started", record.host.started}});
  }
  return records;
}

}  // namespace

std::string JsonReport(const ReportInput& input) {
  const Record& record = input.records.front();
  const Json report = {{"schema", kReportSchema},
                       {"tool", "blkfair"},
                       {"tool_version", record.tool_version},
                       {"scenario", record.scenario_name},
                       {"scenario_hash", record.scenario_hash},
                       {"outcome", std::string(RunOutcomeWord(*input.judgement))},
                       {"exit_code", input.judgement->exit_code},
                       {"partial", input.judgement->partial},
                       {"n", input.records.size()},
                       {"verdicts", VerdictsJson(*input.judgement)},
                       {"warnings", input.judgement->warnings},
                       {"records", RecordsJson(input)},
                       {"phases", PhasesJson(input)},
                       {"repeat_command", input.repeat_command},
                       {"results_folder", input.results_folder}};
  return PrettyJson(report.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace blkfair

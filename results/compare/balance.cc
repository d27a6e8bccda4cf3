#include "results/compare/balance.h"

#include <algorithm>

namespace blkfair {

namespace {

const ComparedMetric* FindRow(const Comparison& comparison, const std::string& phase,
                              std::string_view job, std::string_view metric) {
  const auto it = std::find_if(
      comparison.metrics.begin(), comparison.metrics.end(), [&](const ComparedMetric& row) {
        return row.phase == phase && row.job == job && row.metric == metric;
      });
  return it == comparison.metrics.end() || !it->a ? nullptr : &*it;
}

std::vector<std::string> LightJobs(const Scenario& scenario, const PhaseSpec& phase) {
  const auto demand = [&](const std::string& name) {
    const JobSpec* job = scenario.JobInPhase(phase, name);
    return job == nullptr ? 0 : job->iodepth * job->numjobs;
  };
  uint32_t deepest = 0;
  for (const std::string& job : phase.jobs) deepest = std::max(deepest, demand(job));
  std::vector<std::string> light;
  for (const std::string& job : phase.jobs) {
    if (demand(job) < deepest) light.push_back(job);
  }
  return light.empty() ? phase.jobs : light;
}

// Who won and who lost most, of the jobs whose change of rate is known to be one.
void FindWinnerAndLoser(const Comparison& comparison, const PhaseSpec& phase, Balance* balance) {
  for (const std::string& job : phase.jobs) {
    const ComparedMetric* row = FindRow(comparison, phase.name, job, "iops");
    if (row == nullptr || !row->Factor() || !(row->Clear() || row->pairs == 1)) continue;
    const double factor = *row->Factor();
    if (factor > 1 && (balance->winner == nullptr || factor > *balance->winner->Factor())) {
      balance->winner = row;
    }
    if (factor < 1 && (balance->loser == nullptr || factor < *balance->loser->Factor())) {
      balance->loser = row;
    }
  }
}

}  // namespace

std::vector<Balance> BalancesOf(const Scenario& scenario, const Comparison& comparison) {
  std::vector<Balance> balances;
  for (const PhaseSpec& phase : scenario.phases) {
    if (phase.solo) continue;
    Balance balance;
    balance.phase = phase.name;
    FindWinnerAndLoser(comparison, phase, &balance);
    const auto add = [&](std::string_view job, std::string_view metric,
                         std::vector<const ComparedMetric*>* rows) {
      if (const auto* row = FindRow(comparison, phase.name, job, metric)) rows->push_back(row);
    };
    for (const char* metric : {"iops", "cpu"}) add(kAllJobs, metric, &balance.price);
    for (const std::string& job : LightJobs(scenario, phase)) {
      for (const std::string_view metric :
           {kSlowdown, std::string_view("lat_p99"), std::string_view("gap")}) {
        add(job, metric, &balance.protection);
      }
    }
    if (!balance.price.empty() || !balance.protection.empty()) {
      balances.push_back(std::move(balance));
    }
  }
  return balances;
}

}  // namespace blkfair

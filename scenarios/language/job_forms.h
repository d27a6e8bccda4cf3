// The forms that the jobs of a scenario have: what is asked of all of them must not look at the
// jobs as written alone, since a phase may set any of their keys. Pure; any thread.
#pragma once

#include <vector>

#include "scenarios/language/model.h"

namespace blkfair {

// Every job as it is in itself, and as it is in each phase that sets keys of it. They live as long
// as the scenario.
inline std::vector<const JobSpec*> JobForms(const Scenario& scenario) {
  std::vector<const JobSpec*> forms;
  for (const JobSpec& job : scenario.jobs) forms.push_back(&job);
  for (const PhaseSpec& phase : scenario.phases) {
    for (const JobSpec& job : phase.changed_jobs) forms.push_back(&job);
  }
  return forms;
}

}  // namespace blkfair

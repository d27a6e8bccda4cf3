// The model's structs as parameter values and back: the counterpart of keys.h, so that reading and
// printing go through the same tables. Internal to scenarios/language. The queue, the parts' own
// parameters and what a phase sets are left to the caller.
#pragma once

#include "base/params.h"
#include "scenarios/language/model.h"

namespace blkfair {

// Scenario: the keys at the top of the file.
ParamValues ScenarioValues(const Scenario& scenario);
void SetScenario(const ParamValues& values, Scenario* scenario);

ParamValues GuestValues(const GuestSpec& guest);
GuestSpec GuestFrom(const ParamValues& values);

ParamValues FixtureValues(const FixtureSpec& fixture);

ParamValues JobValues(const JobSpec& job);
JobSpec JobFrom(const ParamValues& values);

ParamValues PhaseValues(const PhaseSpec& phase);
PhaseSpec PhaseFrom(const ParamValues& values);

ParamValues AssertValues(const AssertSpec& assertion);
ParamValues AxisValues(const AxisSpec& axis);

Contention ContentionFrom(const std::string& name);

}  // namespace blkfair

#include "scenarios/language/canonical.h"

#include <array>
#include <span>

#include "base/check.h"
#include "base/sha256.h"
#include "scenarios/language/format_value.h"
#include "scenarios/language/keys.h"
#include "scenarios/language/model_values.h"

namespace blkfair {

namespace {

// The values that there are, in the order of the table.
void AppendKeys(std::span<const ParamSpec> specs, const ParamValues& values, std::string* out) {
  for (const ParamSpec& spec : specs) {
    const auto it = values.all().find(spec.name);
    if (it == values.all().end()) continue;
    *out += std::string(spec.name) + " = " + FormatValue(spec, it->second) + "\n";
  }
}

std::span<const ParamSpec> ParamsOf(std::span<const PartInfo> parts, const std::string& name) {
  const PartInfo* part = FindPart(parts, name);
  CHECK(part != nullptr);
  return part->params;
}

// { "job.reader.iodepth" = 4 }
std::string SettingsTable(const PhaseSpec& phase) {
  std::string out = "{ ";
  for (const JobSetting& setting : phase.settings) {
    if (out.size() > 2) out += ", ";
    out += "\"job." + setting.job + "." + setting.key + "\" = " + setting.value;
  }
  return out + " }";
}

}  // namespace

std::string CanonicalToml(const Scenario& scenario, const Catalog& catalog) {
  std::string out;
  AppendKeys(ScenarioKeys(), ScenarioValues(scenario), &out);
  out += "\n[guest]\n";
  AppendKeys(GuestKeys(), GuestValues(scenario.guest), &out);
  for (const FixtureSpec& fixture : scenario.fixtures) {
    out += "\n[[fixture]]\n";
    AppendKeys(FixtureKeys(), FixtureValues(fixture), &out);
    AppendKeys(ParamsOf(catalog.fixtures, fixture.kind), fixture.params, &out);
  }
  for (const JobSpec& job : scenario.jobs) {
    out += "\n[[job]]\n";
    AppendKeys(JobKeys(), JobValues(job), &out);
    AppendKeys(ParamsOf(catalog.engines, job.engine), job.engine_params, &out);
  }
  for (const PhaseSpec& phase : scenario.phases) {
    out += "\n[[phase]]\n";
    AppendKeys(PhaseKeys(), PhaseValues(phase), &out);
    if (!phase.settings.empty()) out += "set = " + SettingsTable(phase) + "\n";
  }
  for (const AssertSpec& assertion : scenario.asserts) {
    out += "\n[[assert]]\n";
    AppendKeys(AssertKeys(), AssertValues(assertion), &out);
    AppendKeys(ParamsOf(catalog.assertions, assertion.kind), assertion.params, &out);
  }
  for (const CompareSpec& compare : scenario.compares) {
    out += "\n[[compare]]\n";
    AppendKeys(catalog.comparison, compare.params, &out);
  }
  for (const AxisSpec& axis : scenario.axes) {
    out += "\n[[axis]]\n";
    AppendKeys(AxisKeys(), AxisValues(axis), &out);
  }
  return out;
}

std::string ScenarioHash(const std::string& canonical_toml) { return Sha256(canonical_toml); }

}  // namespace blkfair

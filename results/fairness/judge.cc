#include "results/fairness/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/check.h"
#include "results/fairness/gates.h"

namespace blkfair {

namespace {

constexpr int kExitPass = 0;
constexpr int kExitFail = 1;
constexpr int kExitUsage = 2;
constexpr int kExitError = 3;
constexpr int kExitInconclusive = 4;
constexpr int kExitUnmet = 77;
constexpr int kExitInterrupted = 130;

// Of several exit codes, the first in this list that occurs counts.
constexpr std::array kPrecedence = {kExitInterrupted, kExitUsage,        kExitError,
                                    kExitFail,        kExitInconclusive, kExitPass};

int ExitCodeOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return kExitPass;
    case Outcome::kFail:
      return kExitFail;
    case Outcome::kError:
      return kExitError;
    case Outcome::kInconclusive:
      return kExitInconclusive;
  }
  CHECK(false);
}

Outcome OutcomeOf(int exit_code) {
  switch (exit_code) {
    case kExitPass:
      return Outcome::kPass;
    case kExitFail:
      return Outcome::kFail;
    case kExitUsage:
    case kExitError:
      return Outcome::kError;
    default:
      return Outcome::kInconclusive;
  }
}

// "record 2 of 5: ", where there are several.
std::string WhichRecord(std::span<const Record> records, const Record& record) {
  if (records.size() == 1) return "";
  return fmt::format("record {} of {}: ", &record - records.data() + 1, records.size());
}

// The gravest gate that is shut, over all records.
std::optional<Gate> FindGate(const JudgeInput& input) {
  // A bound on errors asks for them: they do not make it inconclusive.
  const bool errors_are_judged =
      input.spec->params.Has("metric") && input.spec->params.String("metric") == "errors";
  std::optional<Gate> gravest;
  for (const Record& record : input.records) {
    std::optional<Gate> gate = RecordGate(record, input.phase);
    const PhaseRecord* phase = record.FindPhase(input.phase);
    if (!gate && phase != nullptr) gate = PhaseGate(*input.scenario, *phase, errors_are_judged);
    if (!gate && phase != nullptr) {
      gate = ContentionGate(*input.scenario, *input.spec, record, *phase);
    }
    if (!gate && phase != nullptr) {
      gate = GeneratorGate(*input.scenario, *input.spec, record, *phase);
    }
    if (!gate || (gravest && gravest->outcome == Outcome::kError)) continue;
    if (gravest && gate->outcome != Outcome::kError) continue;
    gravest = Gate{gate->outcome, WhichRecord(input.records, record) + gate->why};
  }
  return gravest;
}

std::vector<Verdict> JudgeInPhase(const JudgeInput& input) {
  const AssertionInfo* info = FindAssertion(input.spec->kind);
  CHECK(info != nullptr);
  const bool all_hold_it =
      std::all_of(input.records.begin(), input.records.end(),
                  [&](const Record& record) { return record.FindPhase(input.phase) != nullptr; });
  const std::optional<Gate> gate = FindGate(input);
  std::vector<Verdict> verdicts;
  if (all_hold_it) {
    verdicts = info->evaluate(input);
  } else {
    Verdict verdict;
    verdict.assertion = input.spec->name;
    verdict.kind = input.spec->kind;
    verdict.phase = input.phase;
    verdict.what = fmt::format("{} in phase {}", info->name, input.phase);
    verdict.observed = verdict.bound = "-";
    verdicts.push_back(std::move(verdict));
  }
  CHECK(!verdicts.empty());
  for (Verdict& verdict : verdicts) {
    if (!gate) continue;
    if (verdict.outcome == Outcome::kError && gate->outcome != Outcome::kError) continue;
    verdict.outcome = gate->outcome;
    verdict.why = gate->why;
  }
  return verdicts;
}

std::vector<std::string> Warnings(const Scenario& scenario, std::span<const Record> records) {
  std::vector<std::string> warnings;
  std::set<std::string> seen;
  for (const Record& record : records) {
    for (const auto* audit : {&record.environment.audit, &record.host.audit}) {
      for (const AuditFinding& finding : *audit) {
        if (finding.warning.empty() || !seen.insert("audit " + finding.name).second) continue;
        warnings.push_back(WhichRecord(records, record) + finding.warning);
      }
    }
    for (const FixtureRecord& fixture : record.fixtures) {
      for (const auto& [name, value] : fixture.settings) {
        if (name != kNoteSetting || !seen.insert(fixture.name + " " + value).second) continue;
        warnings.push_back(fmt::format("fixture {}: {}", fixture.name, value));
      }
    }
    for (const PhaseRecord& phase : record.phases) {
      for (const auto& [about, sentence] : PhaseWarnings(scenario, phase)) {
        if (!seen.insert(phase.name + " " + about).second) continue;
        warnings.push_back(WhichRecord(records, record) + sentence);
      }
    }
  }
  return warnings;
}

bool AnyIs(std::span<const Record> records, RunOutcome outcome) {
  return std::any_of(records.begin(), records.end(),
                     [&](const Record& record) { return record.outcome == outcome; });
}

bool IsPartial(const Record& record) {
  return record.outcome == RunOutcome::kInterrupted ||
         std::any_of(record.phases.begin(), record.phases.end(),
                     [](const PhaseRecord& phase) { return phase.partial; });
}

int ExitCode(const Judgement& judgement, std::span<const Record> records) {
  std::vector<int> codes;
  for (const Verdict& verdict : judgement.verdicts) codes.push_back(ExitCodeOf(verdict.outcome));
  // Also where nothing is asserted: a broken run is never merely inconclusive.
  if (AnyIs(records, RunOutcome::kDied) || AnyIs(records, RunOutcome::kError)) {
    codes.push_back(kExitError);
  }
  if (AnyIs(records, RunOutcome::kInterrupted)) codes.push_back(kExitInterrupted);
  return CombineExitCodes(codes);
}

Judgement Refused(std::vector<std::string> why, int exit_code) {
  Judgement judgement;
  judgement.warnings = std::move(why);
  judgement.exit_code = exit_code;
  judgement.outcome = OutcomeOf(exit_code);
  return judgement;
}

}  // namespace

std::string_view RunOutcomeWord(const Judgement& judgement) {
  switch (judgement.exit_code) {
    case kExitUnmet:
      return "skip";
    case kExitInterrupted:
      return "interrupted";
    case kExitUsage:
      return "refused";
    default:
      return OutcomeName(judgement.outcome);
  }
}

Judgement Judge(const Scenario& scenario, std::span<const Record> records) {
  CHECK(!records.empty());
  std::vector<std::string> problems;
  for (const AssertSpec& spec : scenario.asserts) {
    for (const std::string& problem : AssertionProblems(scenario, spec)) {
      problems.push_back(fmt::format("assertion \"{}\": {}", spec.name, problem));
    }
  }
  for (const Record& record : records) {
    if (record.scenario_hash == records.front().scenario_hash) continue;
    if (record.outcome == RunOutcome::kDied) continue;  // it may not have got that far
    problems.push_back("the records are of different scenarios, and cannot be judged together");
    break;
  }
  if (!problems.empty()) return Refused(std::move(problems), kExitUsage);
  const bool all_unmet = std::all_of(records.begin(), records.end(), [](const Record& record) {
    return record.outcome == RunOutcome::kUnmet;
  });
  if (all_unmet) return Refused({"skipped: " + records.front().outcome_why}, kExitUnmet);

  Judgement judgement;
  judgement.partial = std::any_of(records.begin(), records.end(), IsPartial);
  judgement.warnings = Warnings(scenario, records);
  for (const AssertSpec& spec : scenario.asserts) {
    for (const std::string& phase : spec.phases) {
      std::vector<Verdict> verdicts = JudgeInPhase(JudgeInput{&scenario, &spec, phase, records});
      std::move(verdicts.begin(), verdicts.end(), std::back_inserter(judgement.verdicts));
    }
  }
  judgement.exit_code = ExitCode(judgement, records);
  judgement.outcome = OutcomeOf(judgement.exit_code);
  return judgement;
}

int CombineExitCodes(std::span<const int> codes) {
  const auto has = [&](int code) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  if (codes.empty()) return kExitInconclusive;
  for (const int code : codes) {
    const bool known = code == kExitUnmet ||
                       std::find(kPrecedence.begin(), kPrecedence.end(), code) != kPrecedence.end();
    CHECK(known);
  }
  for (const int code : kPrecedence) {
    if (has(code)) return code;
  }
  return kExitUnmet;
}

}  // namespace blkfair

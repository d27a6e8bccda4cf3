#include "harness/run/foreign_use.h"

#include <fmt/format.h>

#include "base/check.h"
#include "kmod_setup/fixture_table.h"
#include "scenarios/language/job_forms.h"

namespace blkfair {

namespace {

// Whatever is not known to read only.
bool ChangesData(Rw rw) { return rw != Rw::kRead && rw != Rw::kRandRead; }

// A job, as it is in itself or in one of the phases, that changes the data of a fixture's queues.
const JobSpec* FindWriter(const Scenario& scenario, const std::string& fixture) {
  for (const JobSpec* job : JobForms(scenario)) {
    if (job->queue.fixture == fixture && ChangesData(job->rw)) return job;
  }
  return nullptr;
}

}  // namespace

Result<void> CheckForeignUse(const Scenario& scenario, std::string_view executor,
                             std::span<const std::string> destroy) {
  for (const FixtureSpec& fixture : scenario.fixtures) {
    const FixtureInfo* info = FindFixture(fixture.kind);
    CHECK(info != nullptr);
    if (!info->foreign) continue;
    const bool allowed = fixture.params.Bool("destroy_data");
    if (allowed && destroy.empty()) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("fixture {} has destroy_data = true: say on the command line whose "
                              "data may be lost, with --destroy SERIAL or --destroy PATH",
                              fixture.name));
    }
    if (allowed) continue;
    if (const JobSpec* job = FindWriter(scenario, fixture.name)) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("job {} writes to {}, which blkfair did not make: that needs "
                              "destroy_data = true in fixture {}, and --destroy SERIAL or PATH on "
                              "the command line",
                              job->name, job->queue.Name(), fixture.name));
    }
  }
  if (executor != "guest") return {};
  for (const FixtureSpec& fixture : scenario.fixtures) {
    if (!FindFixture(fixture.kind)->foreign) continue;
    return Fail(ErrorKind::kUnmet,
                fmt::format("fixture {} uses devices of this machine, which a guest does not have: "
                            "use --on host",
                            fixture.name));
  }
  return {};
}

}  // namespace blkfair

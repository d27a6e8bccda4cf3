// Where the threads of jobs run and how they are favoured there.
#include "harness/run/placement.h"

#include <gtest/gtest.h>

#include <thread>

namespace blkfair {
namespace {

TEST(CpuListText, IsWrittenAsTheKernelWritesIt) {
  EXPECT_EQ(CpuListText({}), "");
  EXPECT_EQ(CpuListText({{3}}), "3");
  EXPECT_EQ(CpuListText({{0, 1, 2, 3, 8}}), "0-3,8");
  EXPECT_EQ(CpuListText({{0, 2, 4, 5}}), "0,2,4-5");
}

TEST(Ioprio, NamesAndNumbersBelongTogether) {
  EXPECT_EQ(IoprioFrom("none"), 0);
  EXPECT_EQ(IoprioFrom("rt/3"), 1 << 13 | 3);
  for (const std::string name : {"none", "idle", "be/0", "be/7", "rt/0", "rt/7"}) {
    EXPECT_EQ(IoprioName(IoprioFrom(name)), name);
  }
}

TEST(Placement, IsWhatTheJobSaysAndIsReadBack) {
  JobSpec job;
  job.cpus = {AllowedCpus().back()};
  job.nice = 7;
  job.ioprio = "be/6";
  Result<void> placed;
  Result<Placement> read;
  std::jthread([&] {
    placed = PlaceThisThread(job);
    read = ReadPlacement(job);
  }).join();
  ASSERT_TRUE(placed) << placed.error().message;
  ASSERT_TRUE(read) << read.error().message;
  JobRecord record;
  NotePlacement(*read, &record);
  EXPECT_EQ(record.cpus, std::to_string(job.cpus[0]));
  EXPECT_EQ(record.nice, 7);
  EXPECT_EQ(record.ioprio, "be/6");
}

TEST(Placement, WhatTheKernelDidNotTakeIsAnError) {
  JobSpec job;
  job.nice = 7;
  const Result<Placement> read = ReadPlacement(job);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("after setting 7"), std::string::npos)
      << read.error().message;
}

TEST(Placement, CpusThatAreNotHereAreNamedBesideThoseThatAre) {
  JobSpec job;
  job.name = "heavy";
  job.cpus = {1023};
  const Result<void> here = CheckCpus(job);
  ASSERT_FALSE(here);
  EXPECT_EQ(here.error().kind, ErrorKind::kUsage);
  EXPECT_NE(here.error().message.find("job heavy names CPU 1023"), std::string::npos);
  EXPECT_NE(here.error().message.find(CpuListText(AllowedCpus())), std::string::npos);
  Scenario scenario;
  scenario.guest.vcpus = 2;
  job.cpus = {0, 3};
  scenario.jobs = {job};
  const Result<void> guest = CheckGuestCpus(scenario);
  ASSERT_FALSE(guest);
  EXPECT_EQ(guest.error().message,
            "job heavy names CPU 3, and the guest has 2 of them, from 0 on: name others in cpus, "
            "or set vcpus = 4 in [guest]");
  scenario.guest.vcpus = 4;
  EXPECT_TRUE(CheckGuestCpus(scenario));
  scenario.phases.emplace_back();
  scenario.phases[0].changed_jobs = {job};
  scenario.phases[0].changed_jobs[0].cpus = {4};
  EXPECT_FALSE(CheckGuestCpus(scenario)) << "a phase may set it";
}

}  // namespace
}  // namespace blkfair

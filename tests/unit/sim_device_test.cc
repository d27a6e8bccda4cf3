// The simulated device by itself, with time moved by hand.
#include "engines/sim_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace blkfair {
namespace {

constexpr int64_t kMs = 1'000'000;

Queue SimQueueOf(uint32_t index, const SimQueueSpec& spec) {
  Queue queue;
  queue.fixture = "sim";
  queue.index = index;
  queue.kind = QueueKind::kSim;
  queue.sim = spec;
  return queue;
}

SimQueueSpec Spec(const char* policy, uint32_t tags, int64_t service_ns) {
  return {.group = "sim", .policy = policy, .tags = tags, .service_ns = service_ns};
}

void Enqueue(SimPort* port, int count) {
  for (int i = 0; i < count; i++) {
    port->Enqueue({0, 4096, static_cast<uint16_t>(i), Direction::kRead});
  }
}

TEST(SimDevice, OneQueueAloneMayHoldEveryTag) {
  SimWorld world;
  SimQueue* queue = world.AddQueue(SimQueueOf(0, Spec("fair", 64, kMs)));
  Enqueue(world.AddPort(queue, 256, 1, 0), 256);
  EXPECT_EQ(queue->tags_held(), 64u);
  EXPECT_EQ(queue->waiters(), 192u);
  EXPECT_EQ(queue->tags().active_users(), 1u);
}

TEST(SimDevice, FairHalvesTheSetWhenASecondQueueBecomesActive) {
  SimWorld world;
  SimQueue* heavy = world.AddQueue(SimQueueOf(0, Spec("fair", 64, 100 * kMs)));
  SimQueue* light = world.AddQueue(SimQueueOf(1, Spec("fair", 64, kMs)));
  Enqueue(world.AddPort(heavy, 256, 1, 0), 256);
  SimPort* light_port = world.AddPort(light, 1, 2, 1);
  Enqueue(light_port, 1);
  EXPECT_EQ(light->tags().active_users(), 2u);
  EXPECT_EQ(light->waiters(), 1u);  // the set is exhausted
  world.AdvanceTo(100 * kMs);       // all 64 come back at once
  EXPECT_EQ(heavy->tags_held(), 32u);
  EXPECT_EQ(light->tags_held(), 1u);
  EXPECT_EQ(light->tags().held(), 33u);  // the idle rest of the light share stays unused
}

TEST(SimDevice, FirstComeFirstServedLetsOneQueueHoldEverything) {
  SimWorld world;
  SimQueue* heavy = world.AddQueue(SimQueueOf(0, Spec("fcfs", 64, 100 * kMs)));
  SimQueue* light = world.AddQueue(SimQueueOf(1, Spec("fcfs", 64, kMs)));
  Enqueue(world.AddPort(heavy, 256, 1, 0), 256);
  Enqueue(world.AddPort(light, 1, 2, 1), 1);
  world.AdvanceTo(399 * kMs);  // 256 came before it: four rounds of 64
  EXPECT_EQ(heavy->tags_held(), 64u);
  EXPECT_EQ(light->waiters(), 1u);
  world.AdvanceTo(400 * kMs);
  EXPECT_EQ(heavy->tags_held(), 0u);
  EXPECT_EQ(light->tags_held(), 1u);
}

TEST(SimDevice, EveryQueueKeepsAtLeastFourTagsHoweverManyShare) {
  SimWorld world;
  std::vector<SimQueue*> queues;
  for (uint32_t i = 0; i < 32; i++) {
    queues.push_back(world.AddQueue(SimQueueOf(i, Spec("fair", 64, kMs))));
    Enqueue(world.AddPort(queues.back(), 1, i, i), 1);
  }
  EXPECT_EQ(queues.front()->tags().active_users(), 32u);
  EXPECT_EQ(queues.front()->tags().LimitPerQueue(), 4u);
}

TEST(SimDevice, SharesAreRoundedUp) {
  SimWorld world;
  std::vector<SimQueue*> queues;
  for (uint32_t i = 0; i < 3; i++) {
    queues.push_back(world.AddQueue(SimQueueOf(i, Spec("fair", 64, kMs))));
    Enqueue(world.AddPort(queues.back(), 1, i, i), 1);
  }
  EXPECT_EQ(queues.front()->tags().LimitPerQueue(), 22u);
}

TEST(SimDevice, ASetOfOneTagIsNotDivided) {
  SimWorld world;
  SimQueue* queue = world.AddQueue(SimQueueOf(0, Spec("fair", 1, kMs)));
  Enqueue(world.AddPort(queue, 2, 1, 0), 2);
  EXPECT_EQ(queue->tags_held(), 1u);
  EXPECT_EQ(queue->tags().LimitPerQueue(), 1u);
}

TEST(SimDevice, AQueueGoesIdleFiveSecondsAfterItsLastActivity) {
  SimWorld world;
  SimQueue* deep = world.AddQueue(SimQueueOf(0, Spec("fair", 64, kMs)));
  SimQueue* brief = world.AddQueue(SimQueueOf(1, Spec("fair", 64, kMs)));
  Enqueue(world.AddPort(deep, 1, 1, 0), 1);
  SimPort* port = world.AddPort(brief, 1, 2, 1);
  Enqueue(port, 1);
  world.AdvanceTo(2000 * kMs);
  std::vector<IoCompletion> out(1);
  ASSERT_EQ(port->Collect(out), 1u);
  Enqueue(port, 1);  // back at 2001 ms: idle at 7001 ms
  world.AdvanceTo(7000 * kMs);
  EXPECT_TRUE(brief->active());
  EXPECT_FALSE(deep->active());
  EXPECT_EQ(deep->tags().active_users(), 1u);
  world.AdvanceTo(7001 * kMs);
  EXPECT_FALSE(brief->active());
  EXPECT_EQ(deep->tags().active_users(), 0u);
}

TEST(SimDevice, GoingIdleGivesTheOthersTheirTagsBack) {
  SimWorld world(10 * kMs);
  SimQueue* deep = world.AddQueue(SimQueueOf(0, Spec("fair", 64, 1000 * kMs)));
  SimQueue* brief = world.AddQueue(SimQueueOf(1, Spec("fair", 64, kMs)));
  Enqueue(world.AddPort(brief, 1, 1, 0), 1);
  Enqueue(world.AddPort(deep, 256, 2, 1), 256);
  EXPECT_EQ(deep->tags_held(), 32u);
  world.AdvanceTo(11 * kMs);
  EXPECT_EQ(deep->tags_held(), 64u);
}

TEST(SimDevice, QueuesThatDoNotShareHaveTagsOfTheirOwn) {
  SimWorld world;
  SimQueueSpec spec = Spec("fair", 64, kMs);
  spec.shared = false;
  SimQueue* one = world.AddQueue(SimQueueOf(0, spec));
  SimQueue* two = world.AddQueue(SimQueueOf(1, spec));
  Enqueue(world.AddPort(one, 100, 1, 0), 100);
  Enqueue(world.AddPort(two, 100, 2, 1), 100);
  EXPECT_EQ(one->tags_held(), 64u);
  EXPECT_EQ(two->tags_held(), 64u);
}

TEST(SimDevice, CompletionsCarrySlotAndLengthAndAreAnnouncedOnce) {
  SimWorld world;
  SimQueue* queue = world.AddQueue(SimQueueOf(0, Spec("fair", 2, kMs)));
  SimPort* port = world.AddPort(queue, 4, 1, 77);
  Enqueue(port, 4);
  EXPECT_EQ(port->room(), 0u);
  world.AdvanceTo(kMs);
  const auto news = world.TakePortsWithNews();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0]->owner(), 77u);
  EXPECT_TRUE(world.TakePortsWithNews().empty());
  std::vector<IoCompletion> out(4);
  EXPECT_EQ(port->Collect(out), 2u);
  EXPECT_EQ(out[0].slot, 0u);
  EXPECT_EQ(out[1].slot, 1u);
  EXPECT_EQ(out[0].result, 4096);
  world.AdvanceTo(2 * kMs);
  EXPECT_EQ(port->Collect(out), 2u);
  EXPECT_EQ(out[0].slot, 2u);
  EXPECT_EQ(port->room(), 4u);
}

TEST(SimDevice, ServiceTimesHaveTheMeanAndSpreadAskedFor) {
  SimQueueSpec spec = Spec("fair", 64, 20 * kMs);
  EXPECT_EQ(ServiceTimeNs(spec, 1, 0), 20 * kMs);
  spec.service_cv = 0.5;
  constexpr int kDraws = 200'000;
  double sum = 0;
  double squares = 0;
  for (uint64_t i = 0; i < kDraws; i++) {
    const auto ns = static_cast<double>(ServiceTimeNs(spec, 7, i));
    sum += ns;
    squares += ns * ns;
  }
  const double mean = sum / kDraws;
  const double cv = std::sqrt(squares / kDraws - mean * mean) / mean;
  EXPECT_NEAR(mean / (20.0 * kMs), 1, 0.005);
  EXPECT_NEAR(cv, 0.5, 0.01);
  EXPECT_EQ(ServiceTimeNs(spec, 7, 5), ServiceTimeNs(spec, 7, 5));
  EXPECT_NE(ServiceTimeNs(spec, 7, 5), ServiceTimeNs(spec, 8, 5));
}

TEST(SimDevice, AStallHoldsUpWhatIsBeingServedAndWhatComesMeanwhile) {
  SimQueueSpec spec = Spec("fair", 64, kMs);
  EXPECT_EQ(ServedAtNs(spec, 0, kMs), kMs);
  spec.stall_at_ns = 10 * kMs;
  spec.stall_for_ns = 100 * kMs;
  EXPECT_EQ(ServedAtNs(spec, 9 * kMs, kMs), 10 * kMs);
  EXPECT_EQ(ServedAtNs(spec, 9 * kMs + kMs / 2, kMs), 110 * kMs + kMs / 2);
  EXPECT_EQ(ServedAtNs(spec, 10 * kMs, kMs), 111 * kMs);
  EXPECT_EQ(ServedAtNs(spec, 60 * kMs, kMs), 111 * kMs);
  EXPECT_EQ(ServedAtNs(spec, 110 * kMs, kMs), 111 * kMs);
}

}  // namespace
}  // namespace blkfair

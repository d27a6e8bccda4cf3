// The sim fixture: queues that exist only in virtual time. They need no kernel and no root; the sim
// executor serves them, and lets every assertion be tried with a fair and an unfair device.
#include <fmt/format.h>

#include <array>

#include "base/units.h"
#include "kmod_setup/fixture.h"
#include "kmod_setup/fixture_params.h"

namespace blkfair {

namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "queues",
              .type = ParamType::kInt,
              .default_text = "2",
              .min = 1,
              .max = 1024,
              .help = "Number of queues"},
    ParamSpec{.name = "shared_tags",
              .type = ParamType::kBool,
              .default_text = "true",
              .help = "One tag set for all queues; false: each queue has its own"},
    ParamSpec{.name = "depth",
              .type = ParamType::kInt,
              .default_text = "64",
              .min = 1,
              .max = 10240,
              .help = "Tags in a tag set"},
    ParamSpec{
        .name = "policy",
        .type = ParamType::kChoice,
        .default_text = "fair",
        .choices = "fair|fcfs",
        .help = "Who gets a tag: equal shares among active queues, or first come first served"},
    ParamSpec{.name = "service_time",
              .type = ParamType::kDuration,
              .shape = ParamShape::kOneOrList,
              .default_text = "10us",
              .min = 1,
              .help = "Mean time the device takes for one request, of all queues or of each"},
    ParamSpec{.name = "service_cv",
              .type = ParamType::kNumber,
              .default_text = "0",
              .min = 0,
              .max = 10,
              .help = "Coefficient of variation of the service time; 0 is constant"},
    ParamSpec{.name = "stall_at",
              .type = ParamType::kDuration,
              .shape = ParamShape::kOneOrList,
              .default_text = "0s",
              .min = 0,
              .help = "When the device stands still, in simulated time since the run began, of all "
                      "queues or of each"},
    ParamSpec{.name = "stall_for",
              .type = ParamType::kDuration,
              .shape = ParamShape::kOneOrList,
              .default_text = "0s",
              .min = 0,
              .help = "For how long it does, of all queues or of each"},
    ParamSpec{.name = "block_size",
              .type = ParamType::kSize,
              .shape = ParamShape::kOneOrList,
              .default_text = "512B",
              .min = 512,
              .max = 65536,
              .help = "Logical block size, of all queues or of each"},
    ParamSpec{.name = "size",
              .type = ParamType::kSize,
              .shape = ParamShape::kOneOrList,
              .default_text = "1GiB",
              .min = 65536,
              .help = "Size of all queues or of each"},
};

std::vector<std::string> NoWords(const ParamValues&) { return {}; }

std::optional<std::string> Check(const ParamValues& params) {
  return CheckQueueLists(kParams, params);
}

class SimFixture : public Fixture {
 public:
  SimFixture(std::string name, const ParamValues& params)
      : name_(std::move(name)), params_(params) {}

  Result<void> Require() override { return {}; }
  Result<void> SetUp() override;
  Result<void> TearDown() override {
    queues_.clear();
    return {};
  }
  const std::vector<Queue>& queues() const override { return queues_; }
  const FixtureFacts& facts() const override { return facts_; }

 private:
  std::string name_;
  ParamValues params_;
  std::vector<Queue> queues_;
  FixtureFacts facts_;
};

Result<void> SimFixture::SetUp() {
  const auto tags = static_cast<uint32_t>(params_.Int("depth"));
  const bool shared = params_.Bool("shared_tags");
  facts_ = {};
  facts_.tags = {.shared = shared, .nr_tags = tags, .nr_reserved_tags = 0, .nr_hw_queues = 1};
  facts_.settings.emplace_back("policy", params_.String("policy"));
  facts_.settings.emplace_back("service_cv", fmt::format("{}", params_.Number("service_cv")));
  queues_.clear();
  for (uint32_t i = 0; i < static_cast<uint32_t>(params_.Int("queues")); i++) {
    Queue queue;
    queue.fixture = name_;
    queue.index = i;
    queue.kind = QueueKind::kSim;
    queue.size_bytes = static_cast<uint64_t>(params_.IntAt("size", i));
    queue.logical_block_bytes = static_cast<uint32_t>(params_.IntAt("block_size", i));
    queue.sim = {.group = name_,
                 .policy = params_.String("policy"),
                 .tags = tags,
                 .service_ns = params_.IntAt("service_time", i),
                 .service_cv = params_.Number("service_cv"),
                 .stall_at_ns = params_.IntAt("stall_at", i),
                 .stall_for_ns = params_.IntAt("stall_for", i),
                 .shared = shared};
    const std::string prefix = queue.Name() + " ";
    facts_.settings.emplace_back(prefix + "service_time", FormatDuration(queue.sim.service_ns));
    if (queue.sim.stall_for_ns > 0) {
      facts_.settings.emplace_back(prefix + "stall_at", FormatDuration(queue.sim.stall_at_ns));
      facts_.settings.emplace_back(prefix + "stall_for", FormatDuration(queue.sim.stall_for_ns));
    }
    facts_.settings.emplace_back(prefix + "block_size",
                                 FormatSize(static_cast<int64_t>(queue.logical_block_bytes)));
    facts_.settings.emplace_back(prefix + "size",
                                 FormatSize(static_cast<int64_t>(queue.size_bytes)));
    queues_.push_back(std::move(queue));
  }
  return {};
}

std::unique_ptr<Fixture> Create(std::string name, const ParamValues& params,
                                const FixtureContext&) {
  return std::make_unique<SimFixture>(std::move(name), params);
}

}  // namespace

extern const FixtureInfo kSimFixtureInfo;
constexpr FixtureInfo kSimFixtureInfo = {
    .name = "sim",
    .help = "Simulated queues in virtual time: no kernel, no root",
    .params = kParams,
    .modules = NoWords,
    .boot_parameters = NoWords,
    .queue_count = QueueCount,
    .queue_key = "queues",
    .check = Check,
    .create = Create,
    .needs_kernel = false,
};

}  // namespace blkfair

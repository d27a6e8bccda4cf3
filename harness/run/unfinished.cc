#include "harness/run/unfinished.h"

#include <map>
#include <span>

#include "base/check.h"

namespace blkfair {

namespace {

Ages ToAges(std::span<const int64_t> ages_ns, const Histogram* others) {
  std::map<uint32_t, uint64_t> buckets;
  for (const int64_t ns : ages_ns) buckets[Histogram::BucketOf(static_cast<uint64_t>(ns))]++;
  if (others != nullptr) {
    for (const auto& [bucket, count] : others->Sparse()) buckets[bucket] += count;
  }
  Ages ages;
  for (const auto& [bucket, count] : buckets) {
    ages.emplace_back(Histogram::BucketStart(bucket), count);
  }
  return ages;
}

}  // namespace

Unfinished::Unfinished(uint32_t iodepth, std::pmr::memory_resource* memory)
    : lat_(memory), clat_(memory), response_(memory) {
  for (auto* const ages : {&lat_, &clat_, &response_}) ages->reserve(iodepth);
}

void Unfinished::Note(int64_t edge_ns, const Stamps& stamps, std::optional<int64_t> due_ns) {
  if (stamps.start_ns > edge_ns) return;  // made while time was passing the edge
  CHECK(lat_.size() < lat_.capacity());
  lat_.push_back(edge_ns - stamps.start_ns);
  if (stamps.issue_ns >= stamps.start_ns && stamps.issue_ns <= edge_ns) {
    clat_.push_back(edge_ns - stamps.issue_ns);
  }
  if (due_ns && *due_ns <= edge_ns) response_.push_back(edge_ns - *due_ns);
}

UnfinishedRecord Unfinished::ToRecord(const Histogram* overdue) const {
  return {ToAges(lat_, nullptr), ToAges(clat_, nullptr), ToAges(response_, overdue)};
}

}  // namespace blkfair

#include "kmod_setup/tag_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace blkfair {

namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;

// Cuts the first line off `text`.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

bool ParseUnsigned(std::string_view text, uint32_t* value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && rest == text.data() + text.size();
}

// Whether `word` stands in `text` between blanks, bars, equal signs or line ends.
bool HasWord(std::string_view text, std::string_view word) {
  constexpr std::string_view kSeparators = " |=\n\t";
  while (!text.empty()) {
    const size_t end = text.find_first_of(kSeparators);
    if (text.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return false;
}

std::string HctxFile(const KernelFs& fs, const std::string& disk, uint32_t hctx,
                     std::string_view file) {
  return fmt::format("{}/block/{}/hctx{}/{}", fs.roots().debugfs, disk, hctx, file);
}

}  // namespace

Result<HctxTags> ParseHctxTags(std::string_view text) {
  HctxTags tags;
  uint32_t active_queues = 0;
  const std::array<std::pair<std::string_view, uint32_t*>, 7> required = {{
      {"nr_tags", &tags.nr_tags},
      {"nr_reserved_tags", &tags.nr_reserved_tags},
      {"depth", &tags.depth},
      {"busy", &tags.busy},
      {"cleared", &tags.cleared},
      {"wake_batch", &tags.wake_batch},
      {"ws_active", &tags.ws_active},
  }};
  size_t found = 0;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    // The same keys again, for the reserved tags: "breserved_tags:" (sic).
    if (line.find("reserved_tags:") != std::string_view::npos) break;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, equals);
    const auto field = std::find_if(required.begin(), required.end(),
                                    [key](const auto& entry) { return entry.first == key; });
    const bool is_active_queues = key == "active_queues";
    if (field == required.end() && !is_active_queues) continue;
    uint32_t* const value = is_active_queues ? &active_queues : field->second;
    if (!ParseUnsigned(line.substr(equals + 1), value)) {
      return Fail(ErrorKind::kKernel, fmt::format("read hctx tags: '{}' is not a count", line));
    }
    if (is_active_queues) {
      tags.active_queues = active_queues;
    } else {
      found++;
    }
  }
  if (found != required.size()) {
    return Fail(ErrorKind::kKernel, fmt::format("read hctx tags: {} of {} known fields are there",
                                                found, required.size()));
  }
  return tags;
}

Result<uint32_t> ParseHctxActive(std::string_view text) {
  uint32_t active = 0;
  const std::string_view line = TakeLine(&text);
  if (!ParseUnsigned(line, &active)) {
    return Fail(ErrorKind::kKernel, fmt::format("read hctx active: '{}' is not a count", line));
  }
  return active;
}

uint32_t CountBusyEntries(std::string_view text) {
  return static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n'));
}

HctxFlags ParseHctxFlags(std::string_view text) {
  return {.tag_queue_shared = HasWord(text, "TAG_QUEUE_SHARED"),
          .tag_hctx_shared = HasWord(text, "TAG_HCTX_SHARED"),
          .blocking = HasWord(text, "BLOCKING")};
}

HctxState ParseHctxState(std::string_view text) {
  return {.stopped = HasWord(text, "STOPPED"),
          .tag_active = HasWord(text, "TAG_ACTIVE"),
          .sched_restart = HasWord(text, "SCHED_RESTART")};
}

Result<std::vector<MqHctx>> ReadMqHctxs(const KernelFs& fs, const std::string& disk) {
  const std::string dir = fmt::format("{}/block/{}/mq", fs.roots().sys, disk);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(dir));
  std::vector<MqHctx> hctxs(names.size());
  for (size_t i = 0; i < hctxs.size(); i++) {
    ASSIGN_OR_RETURN(const int64_t tags, fs.ReadInt(fmt::format("{}/{}/nr_tags", dir, i)));
    ASSIGN_OR_RETURN(const int64_t reserved,
                     fs.ReadInt(fmt::format("{}/{}/nr_reserved_tags", dir, i)));
    hctxs[i] = {static_cast<uint32_t>(tags), static_cast<uint32_t>(reserved)};
  }
  return hctxs;
}

Result<std::vector<std::string>> ListHctxs(const KernelFs& fs, const std::string& disk) {
  const std::string dir = fmt::format("{}/block/{}", fs.roots().debugfs, disk);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(dir));
  const auto count = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return name.rfind("hctx", 0) == 0;
  });
  if (count == 0) {
    return Fail(ErrorKind::kKernel, fmt::format("list {}: no hctx in it, so no tags", dir));
  }
  std::vector<std::string> hctxs;
  for (int64_t i = 0; i < count; i++) hctxs.push_back(fmt::format("hctx{}", i));
  return hctxs;
}

Result<HctxTags> ReadHctxTags(const KernelFs& fs, const std::string& disk, uint32_t hctx) {
  ASSIGN_OR_RETURN(const std::string text, fs.Read(HctxFile(fs, disk, hctx, "tags")));
  return ParseHctxTags(text);
}

Result<HctxFlags> ReadHctxFlags(const KernelFs& fs, const std::string& disk, uint32_t hctx) {
  ASSIGN_OR_RETURN(const std::string text, fs.Read(HctxFile(fs, disk, hctx, "flags")));
  return ParseHctxFlags(text);
}

Result<HctxState> ReadHctxState(const KernelFs& fs, const std::string& disk, uint32_t hctx) {
  ASSIGN_OR_RETURN(const std::string text, fs.Read(HctxFile(fs, disk, hctx, "state")));
  return ParseHctxState(text);
}

Result<std::optional<uint32_t>> ReadActiveQueues(const KernelFs& fs, const std::string& disk) {
  ASSIGN_OR_RETURN(const std::vector<std::string> hctxs, ListHctxs(fs, disk));
  std::optional<uint32_t> active_queues;
  for (uint32_t i = 0; i < hctxs.size(); i++) {
    ASSIGN_OR_RETURN(const HctxTags tags, ReadHctxTags(fs, disk, i));
    active_queues = std::max(active_queues, tags.active_queues);
  }
  return active_queues;
}

Result<TagSampler> TagSampler::Open(const KernelFs& fs, const std::string& disk) {
  TagSampler sampler;
  sampler.disk_ = disk;
  sampler.buffer_.resize(kBufferBytes);
  ASSIGN_OR_RETURN(const std::vector<std::string> hctxs, ListHctxs(fs, disk));
  ASSIGN_OR_RETURN(const HctxFlags flags, ReadHctxFlags(fs, disk, 0));
  sampler.host_wide_ = flags.tag_hctx_shared;
  for (uint32_t i = 0; i < hctxs.size(); i++) {
    HctxFiles files;
    ASSIGN_OR_RETURN(files.tags, OpenFile(HctxFile(fs, disk, i, "tags"), O_RDONLY));
    ASSIGN_OR_RETURN(files.busy, OpenFile(HctxFile(fs, disk, i, "busy"), O_RDONLY));
    const std::string active = HctxFile(fs, disk, i, "active");
    if (fs.Exists(active)) {
      ASSIGN_OR_RETURN(files.active, OpenFile(active, O_RDONLY));
    }
    sampler.hctxs_.push_back(std::move(files));
  }
  return sampler;
}

Result<std::string_view> TagSampler::ReadFromStart(const UniqueFd& fd) {
  // A seq_file begins anew at offset 0 (fs/seq_file.c, seq_read_iter), so the file stays open.
  size_t size = 0;
  while (true) {
    if (size == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const ssize_t n =
        ::pread(fd.get(), buffer_.data() + size, buffer_.size() - size, static_cast<off_t>(size));
    if (n == 0) return std::string_view(buffer_.data(), size);
    if (n > 0) {
      size += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      return FailErrno(errno, fmt::format("read the debugfs files of {}", disk_));
    }
  }
}

Result<TagSample> TagSampler::Sample() {
  TagSample sample;
  for (const HctxFiles& files : hctxs_) {
    const bool first = &files == &hctxs_.front();
    if (files.active.valid()) {
      ASSIGN_OR_RETURN(const std::string_view text, ReadFromStart(files.active));
      ASSIGN_OR_RETURN(const uint32_t active, ParseHctxActive(text));
      // With host-wide tags each hctx shows the count of the whole queue.
      sample.active = host_wide_ ? active : sample.active.value_or(0) + active;
    }
    ASSIGN_OR_RETURN(const std::string_view busy, ReadFromStart(files.busy));
    sample.busy_entries += CountBusyEntries(busy);
    if (host_wide_ && !first) continue;
    ASSIGN_OR_RETURN(const std::string_view text, ReadFromStart(files.tags));
    ASSIGN_OR_RETURN(const HctxTags tags, ParseHctxTags(text));
    sample.active_queues = std::max(sample.active_queues, tags.active_queues);
    sample.tags_busy += tags.busy;
    sample.usable_tags += tags.depth;
    sample.wake_batch = first ? tags.wake_batch : std::min(sample.wake_batch, tags.wake_batch);
    sample.ws_active += tags.ws_active;
  }
  return sample;
}

}  // namespace blkfair

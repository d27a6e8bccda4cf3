#include "harness/guest/frame.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <charconv>

#include "base/check.h"

namespace blkfair {
namespace {

constexpr std::string_view kMagic = "~bf ";
constexpr size_t kHeaderBytesMax = 64;
constexpr uint64_t kTextBytesMax = uint64_t{256} << 20;
// The guest's CPU is emulated, so the cheapest level wins: it more than halves the time that a
// Record takes on the serial port (JSON shrinks about sixfold).
constexpr int kDeflateLevel = 1;

const Bytef* Bytes(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());  // zlib's type for bytes
}

// Over the header's words too: a damaged length must not pass.
uint32_t Checksum(std::string_view words, std::string_view packed) {
  uLong crc = ::crc32(0, Bytes(words), static_cast<uInt>(words.size()));
  crc = ::crc32(crc, Bytes(packed), static_cast<uInt>(packed.size()));
  return static_cast<uint32_t>(crc);
}

struct Header {
  std::string_view kind;
  std::string_view words;  // what the checksum covers
  uint64_t text_bytes = 0;
  uint64_t packed_bytes = 0;
  uint32_t checksum = 0;
};

bool TakeNumber(std::string_view& line, int base, uint64_t* number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), *number, base);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  return true;
}

// `line` without the magic and the newline.
std::optional<Header> ParseHeader(std::string_view line) {
  Header header;
  const std::string_view whole = line;
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  header.kind = line.substr(0, space);
  line.remove_prefix(space + 1);
  uint64_t checksum = 0;
  if (!TakeNumber(line, 10, &header.text_bytes) || !TakeNumber(line, 10, &header.packed_bytes)) {
    return std::nullopt;
  }
  header.words = whole.substr(0, whole.size() - line.size());
  if (!TakeNumber(line, 16, &checksum) || !line.empty() || checksum > UINT32_MAX ||
      header.text_bytes > kTextBytesMax || header.packed_bytes > ::compressBound(kTextBytesMax)) {
    return std::nullopt;
  }
  header.checksum = static_cast<uint32_t>(checksum);
  return header;
}

std::optional<std::string> Inflate(std::string_view packed, uint64_t text_bytes) {
  std::string text(text_bytes, '\0');
  uLongf length = text_bytes;
  const int rc = ::uncompress(reinterpret_cast<Bytef*>(text.data()), &length, Bytes(packed),
                              static_cast<uLong>(packed.size()));
  if (rc != Z_OK || length != text_bytes) return std::nullopt;
  return text;
}

}  // namespace

std::string EncodeFrame(std::string_view kind, std::string_view text) {
  CHECK(text.size() <= kTextBytesMax);
  std::string packed(::compressBound(text.size()), '\0');
  uLongf packed_bytes = packed.size();
  CHECK(::compress2(reinterpret_cast<Bytef*>(packed.data()), &packed_bytes, Bytes(text),
                    text.size(), kDeflateLevel) == Z_OK);
  packed.resize(packed_bytes);
  const std::string words = fmt::format("{} {} {} ", kind, text.size(), packed.size());
  return fmt::format("{}{}{:08x}\n{}\n", kMagic, words, Checksum(words, packed), packed);
}

std::optional<Frame> FrameReader::Next() {
  while (true) {
    const size_t start = buffer_.find(kMagic);
    if (start == std::string::npos) {
      // The end of what is there may be the beginning of the magic.
      const size_t keep = finished_ ? 0 : std::min(buffer_.size(), kMagic.size() - 1);
      Skip(buffer_.size() - keep);
      return std::nullopt;
    }
    Skip(start);
    const std::string_view rest = std::string_view(buffer_).substr(kMagic.size());
    const size_t newline = rest.substr(0, kHeaderBytesMax).find('\n');
    const bool header_is_short = newline == std::string_view::npos && rest.size() < kHeaderBytesMax;
    if (header_is_short && !finished_) return std::nullopt;
    const std::optional<Header> header =
        newline == std::string_view::npos ? std::nullopt : ParseHeader(rest.substr(0, newline));
    if (!header) {
      Skip(1);
      continue;
    }
    const std::string_view body = rest.substr(newline + 1);
    if (body.size() < header->packed_bytes + 1) {
      if (!finished_) return std::nullopt;
      Skip(1);
      continue;
    }
    const std::string_view packed = body.substr(0, header->packed_bytes);
    std::optional<std::string> text;
    if (body[header->packed_bytes] == '\n' && Checksum(header->words, packed) == header->checksum) {
      text = Inflate(packed, header->text_bytes);
    }
    if (!text) {
      Skip(1);
      continue;
    }
    Frame frame{std::string(header->kind), std::move(*text)};
    buffer_.erase(0, kMagic.size() + newline + 1 + header->packed_bytes + 1);
    return frame;
  }
}

void FrameReader::Skip(size_t bytes) {
  buffer_.erase(0, bytes);
  skipped_bytes_ += bytes;
}

}  // namespace blkfair

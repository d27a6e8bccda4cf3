// Frames: what a dying guest leaves behind is told from what it finished saying.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/guest/frame.h"

namespace blkfair {
namespace {

std::vector<std::string> TextsOf(FrameReader& reader) {
  std::vector<std::string> texts;
  while (auto frame = reader.Next()) texts.push_back(frame->kind + ":" + frame->text);
  return texts;
}

std::vector<std::string> ReadAll(std::string_view stream, uint64_t* skipped = nullptr) {
  FrameReader reader;
  reader.Feed(stream);
  reader.Finish();
  std::vector<std::string> texts = TextsOf(reader);
  if (skipped != nullptr) *skipped = reader.skipped_bytes();
  return texts;
}

const std::vector<std::string> kBoth{"phase:one", "record:two"};

TEST(Frame, ComesBackAsItWas) {
  uint64_t skipped = 1;
  const std::string binary("\0~bf \xff\n", 7);
  const std::string stream = EncodeFrame("phase", "") + EncodeFrame("output", binary) +
                             EncodeFrame("record", std::string(100'000, 'x'));
  EXPECT_EQ(ReadAll(stream, &skipped),
            (std::vector<std::string>{"phase:", "output:" + binary,
                                      "record:" + std::string(100'000, 'x')}));
  EXPECT_EQ(skipped, 0u);
}

TEST(Frame, ArrivesByteByByte) {
  FrameReader reader;
  std::vector<std::string> texts;
  for (const char c : EncodeFrame("phase", "one") + EncodeFrame("record", "two")) {
    reader.Feed(std::string_view(&c, 1));
    for (std::string& text : TextsOf(reader)) texts.push_back(std::move(text));
  }
  EXPECT_EQ(texts, kBoth);
}

TEST(Frame, EveryTornEndIsDropped) {
  const std::string first = EncodeFrame("phase", "one");
  const std::string second = EncodeFrame("record", "two");
  for (size_t kept = 0; kept < second.size(); ++kept) {
    EXPECT_EQ(ReadAll(first + second.substr(0, kept)), std::vector<std::string>{"phase:one"})
        << "with " << kept << " bytes of the second frame";
  }
}

TEST(Frame, EveryDamagedByteIsNoticedAndTheNextFrameIsFound) {
  const std::string first = EncodeFrame("phase", "one");
  const std::string second = EncodeFrame("record", "two");
  for (size_t at = 0; at < first.size(); ++at) {
    std::string damaged = first;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    uint64_t skipped = 0;
    EXPECT_EQ(ReadAll(damaged + second, &skipped), std::vector<std::string>{"record:two"})
        << "byte " << at;
    EXPECT_EQ(skipped, first.size());
  }
}

TEST(Frame, NoiseBetweenFramesIsSkipped) {
  uint64_t skipped = 0;
  const std::string noise = "~bf \n[   1.0] BUG: ~bf phase 12\n";
  EXPECT_EQ(
      ReadAll(noise + EncodeFrame("phase", "one") + noise + EncodeFrame("record", "two"), &skipped),
      kBoth);
  EXPECT_EQ(skipped, 2 * noise.size());
}

TEST(Frame, TornFrameDoesNotSwallowTheNext) {
  const std::string torn = EncodeFrame("output", std::string(3000, 'a') + "b").substr(0, 30);
  EXPECT_EQ(ReadAll(torn + EncodeFrame("phase", "one") + EncodeFrame("record", "two")), kBoth);
}

TEST(Frame, AbsurdLengthIsNotBelieved) {
  EXPECT_EQ(ReadAll("~bf phase 99999999999999 5 00000000\n" + EncodeFrame("phase", "one")),
            std::vector<std::string>{"phase:one"});
}

}  // namespace
}  // namespace blkfair

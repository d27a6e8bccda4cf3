// Sizes, durations and percentages: exact both ways, with errors that say what is accepted.
#include "base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace blkfair {
namespace {

struct ParseCase {
  std::string text;
  int64_t value;
};

TEST(Units, ReadsSizes) {
  const ParseCase cases[] = {{"0B", 0},
                             {"512B", 512},
                             {"4KiB", 4096},
                             {"128KiB", 131072},
                             {"1.5KiB", 1536},
                             {"0.5MiB", 524288},
                             {"1.50MiB", 1572864},
                             {"2GiB", int64_t{2} << 30},
                             {"1TiB", int64_t{1} << 40},
                             {"4kB", 4000},
                             {"1MB", 1'000'000},
                             {"2.5GB", 2'500'000'000},
                             {"1TB", 1'000'000'000'000},
                             {"9223372036854775807B", std::numeric_limits<int64_t>::max()}};
  for (const ParseCase& c : cases) {
    const auto parsed = ParseSize(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, c.value) << c.text;
  }
}

TEST(Units, ReadsDurations) {
  const ParseCase cases[] = {{"0s", 0},
                             {"1ns", 1},
                             {"50ms", 50'000'000},
                             {"1.5ms", 1'500'000},
                             {"0.001us", 1},
                             {"2s", 2'000'000'000},
                             {"1min", 60'000'000'000},
                             {"1.5min", 90'000'000'000},
                             {"0.25h", 900'000'000'000}};
  for (const ParseCase& c : cases) {
    const auto parsed = ParseDuration(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, c.value) << c.text;
  }
}

TEST(Units, RefusesWhatIsNotASize) {
  for (const char* text :
       {"", "KiB", "-4KiB", "+4KiB", "4 KiB", " 4KiB", "4KiB ", "4kib", "4K", "4k", "4KB", "0x10B",
        "1e3B", ".5MiB", "1.MiB", "1.2.3KiB", "4KiBB", "50ms", "\xff"}) {
    const auto parsed = ParseSize(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage);
    EXPECT_NE(parsed.error().message.find("such as \"128KiB\""), std::string::npos) << text;
  }
}

TEST(Units, SaysWhyASizeIsRefused) {
  EXPECT_NE(ParseSize("4096").error().message.find("lacks its unit"), std::string::npos);
  EXPECT_EQ(ParseSize("1.5B").error().message, "\"1.5B\" is not a whole number of bytes");
  EXPECT_EQ(ParseSize("0.0001KiB").error().message, "\"0.0001KiB\" is not a whole number of bytes");
  EXPECT_EQ(ParseDuration("0.5ns").error().message,
            "\"0.5ns\" is not a whole number of nanoseconds");
  EXPECT_EQ(ParseSize("8388608TiB").error().message, "\"8388608TiB\" is too large");
  EXPECT_EQ(ParseSize("9223372036854775808B").error().message,
            "\"9223372036854775808B\" is too large");
  EXPECT_EQ(ParseDuration(std::string(1000, '9') + "s").error().message,
            "\"" + std::string(1000, '9') + "s\" is too large");
  EXPECT_FALSE(ParseDuration("0." + std::string(1000, '1') + "s"));
}

TEST(Units, FormatsTheShortestExactForm) {
  EXPECT_EQ(FormatSize(0), "0B");
  EXPECT_EQ(FormatSize(512), "512B");
  EXPECT_EQ(FormatSize(4096), "4KiB");
  EXPECT_EQ(FormatSize(131072), "128KiB");
  EXPECT_EQ(FormatSize(4000), "4kB");
  EXPECT_EQ(FormatSize(4097), "4097B");
  EXPECT_EQ(FormatSize(int64_t{1} << 30), "1GiB");
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(1'500'000), "1500us");
  EXPECT_EQ(FormatDuration(100'000'000), "100ms");
  EXPECT_EQ(FormatDuration(60'000'000'000), "60s");
  EXPECT_EQ(FormatDuration(7'200'000'000'000), "2h");
  EXPECT_EQ(FormatPercent(0), "0%");
  EXPECT_EQ(FormatPercent(0.05), "5%");
  EXPECT_EQ(FormatPercent(0.125), "12.5%");
  EXPECT_EQ(FormatPercent(1), "100%");
  EXPECT_EQ(FormatPercent(12), "1200%");
  EXPECT_EQ(FormatPercent(0.00025), "0.025%");
}

TEST(Units, WhatIsFormattedReadsBackToTheSameValue) {
  uint64_t state = 1;
  for (int i = 0; i < 20000; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto value = static_cast<int64_t>(state >> (1 + state % 60));
    EXPECT_EQ(*ParseSize(FormatSize(value)), value);
    EXPECT_EQ(*ParseDuration(FormatDuration(value)), value);
    const double fraction = static_cast<double>(value) / 1e12;
    EXPECT_EQ(*ParsePercent(FormatPercent(fraction)), fraction) << FormatPercent(fraction);
  }
  EXPECT_EQ(*ParsePercent(FormatPercent(1e-300)), 1e-300);
  EXPECT_EQ(*ParsePercent(FormatPercent(1e300)), 1e300);
}

TEST(Units, ReadsPercentages) {
  EXPECT_EQ(*ParsePercent("5%"), 0.05);
  EXPECT_EQ(*ParsePercent("12.5%"), 0.125);
  EXPECT_EQ(*ParsePercent("150%"), 1.5);
  for (const char* text : {"", "%", "5", "0.05", "-5%", "5 %", "5%%", "5.%", "nan%", "1e2%"}) {
    EXPECT_FALSE(ParsePercent(text)) << text;
  }
  EXPECT_FALSE(ParsePercent(std::string(400, '9') + "%"));
}

TEST(Units, HumanDurationsHaveThreeOrFourDigits) {
  EXPECT_EQ(HumanDuration(0), "0 ns");
  EXPECT_EQ(HumanDuration(850), "850 ns");
  EXPECT_EQ(HumanDuration(999.7), "1.00 us");
  EXPECT_EQ(HumanDuration(1'090'000), "1.09 ms");
  EXPECT_EQ(HumanDuration(34'250'000), "34.2 ms");
  EXPECT_EQ(HumanDuration(999'600), "1.00 ms");
  EXPECT_EQ(HumanDuration(10e9), "10 s");
  EXPECT_EQ(HumanDuration(1234e9), "1234 s");
  EXPECT_EQ(HumanDuration(std::nan("")), "-");
}

TEST(Units, HumanCountsAndRates) {
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(5), "5");
  EXPECT_EQ(HumanCount(0.5), "0.5");
  EXPECT_EQ(HumanCount(311.2), "311");
  EXPECT_EQ(HumanCount(2726), "2726");
  EXPECT_EQ(HumanCount(9999.4), "9999");
  EXPECT_EQ(HumanCount(9999.6), "10.0k");
  EXPECT_EQ(HumanCount(34'200), "34.2k");
  EXPECT_EQ(HumanCount(1'500'000), "1.50M");
  EXPECT_EQ(HumanCount(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(HumanBytesPerSecond(0), "0 B/s");
  EXPECT_EQ(HumanBytesPerSecond(1.75 * 1048576), "1.75 MiB/s");
  EXPECT_EQ(HumanBytesPerSecond(1000), "1000 B/s");
  EXPECT_EQ(HumanBytesPerSecond(3 * 1024.0), "3 KiB/s");
}

}  // namespace
}  // namespace blkfair

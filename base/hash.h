// Small mixing functions for seeds. Not for security.
#pragma once

#include <cstdint>
#include <string_view>

namespace blkfair {

// The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection with good avalanche.
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// A seed for part `salt` of whatever `seed` stands for.
constexpr uint64_t MixSeed(uint64_t seed, uint64_t salt) { return Mix64(Mix64(seed) ^ salt); }

// FNV-1a: names as salts.
constexpr uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

// A number in (0, 1), of 53 bits.
constexpr double UnitInterval(uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

}  // namespace blkfair

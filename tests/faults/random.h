// SPDX-License-Identifier: Apache-2.0
// Numbers that follow from a seed alone, on every machine: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace lagwatch::faults {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t word = state_ += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }
  // Below `limit`, which is not 0.
  uint64_t Below(uint64_t limit) { return Next() % limit; }
  // Both included.
  int64_t Between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(Below(static_cast<uint64_t>(last - first) + 1));
  }
  bool Chance(uint32_t percent) { return Below(100) < percent; }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[Below(choices.size())];
  }
  std::string Bytes(size_t count) {
    std::string bytes;
    while (bytes.size() < count) bytes.push_back(static_cast<char>(Next()));
    return bytes;
  }
  std::string Letters(size_t count) {
    std::string letters;
    while (letters.size() < count) letters.push_back(static_cast<char>('a' + Below(26)));
    return letters;
  }
  // For something else that draws: what it takes changes nothing here.
  Random Fork() { return Random(Next()); }

 private:
  uint64_t state_;
};

}  // namespace lagwatch::faults

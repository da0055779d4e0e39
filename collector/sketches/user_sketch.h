// SPDX-License-Identifier: Apache-2.0
// A compact count of different users: exact up to 256, within about 3 % beyond (one standard error).
// Sketches of parts make that of the whole; nothing can be subtracted. HyperLogLog (Flajolet, Fusy,
// Gandouet, Meunier: HyperLogLog, AOFA 2007) with linear counting for small numbers, after a list of
// hashes. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::collector {

class UserSketch {
 public:
  static constexpr size_t kMostExact = 256;

  void Add(std::string_view user);
  void Add(const UserSketch& other);

  int64_t Count() const;

  bool operator==(const UserSketch&) const = default;

  // Part of the on-disk format.
  void AppendTo(std::string* bytes) const;
  // Takes what AppendTo wrote off the front; false when it is something else.
  bool TakeFrom(std::string_view* bytes);

 private:
  void AddHash(uint64_t hash);
  void Condense();

  std::vector<uint64_t> hashes_;  // sorted; empty once there are registers
  std::string registers_;         // of HyperLogLog, a byte each; empty at first
};

}  // namespace lagwatch::collector

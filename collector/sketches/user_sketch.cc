// SPDX-License-Identifier: Apache-2.0
#include "collector/sketches/user_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "collector/sketches/varint.h"

namespace lagwatch::collector {
namespace {

constexpr int kIndexBits = 10;
constexpr size_t kRegisters = size_t{1} << kIndexBits;

// FNV-1a's high bits alone are too regular: the finalizer of MurmurHash3 mixes them.
uint64_t HashOf(std::string_view user) {
  uint64_t hash = base::HashBytes(user);
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

}  // namespace

void UserSketch::Add(std::string_view user) { AddHash(HashOf(user)); }

void UserSketch::Add(const UserSketch& other) {
  if (registers_.empty()) {
    std::vector<uint64_t> both;
    std::ranges::set_union(hashes_, other.hashes_, std::back_inserter(both));
    hashes_ = std::move(both);
    if (hashes_.size() > kMostExact) Condense();
  } else {
    for (uint64_t hash : other.hashes_) AddHash(hash);
  }
  if (other.registers_.empty()) return;
  if (registers_.empty()) Condense();
  for (size_t i = 0; i < kRegisters; ++i) registers_[i] = std::max(registers_[i], other.registers_[i]);
}

void UserSketch::AddHash(uint64_t hash) {
  if (registers_.empty()) {
    auto at = std::ranges::lower_bound(hashes_, hash);
    if (at == hashes_.end() || *at != hash) hashes_.insert(at, hash);
    if (hashes_.size() > kMostExact) Condense();
    return;
  }
  char& rank = registers_[hash >> (64 - kIndexBits)];
  rank = std::max(rank, static_cast<char>(std::countl_zero((hash << kIndexBits) | 1) + 1));
}

void UserSketch::Condense() {
  registers_.assign(kRegisters, 0);
  for (uint64_t hash : std::exchange(hashes_, {})) AddHash(hash);
}

int64_t UserSketch::Count() const {
  if (registers_.empty()) return static_cast<int64_t>(hashes_.size());
  constexpr double kCount = kRegisters;
  constexpr double kAlpha = 0.7213 / (1 + 1.079 / kCount);
  double inverse_sum = 0;
  for (char rank : registers_) inverse_sum += std::ldexp(1.0, -rank);
  const double estimate = kAlpha * kCount * kCount / inverse_sum;
  const auto zeros = static_cast<double>(std::ranges::count(registers_, 0));
  const bool is_small = estimate <= 2.5 * kCount && zeros > 0;
  return std::llround(is_small ? kCount * std::log(kCount / zeros) : estimate);
}

void UserSketch::AppendTo(std::string* bytes) const {
  const bool has_registers = !registers_.empty();
  AppendVarint(has_registers ? kMostExact + 1 : hashes_.size(), bytes);
  *bytes += registers_;
  bytes->append(reinterpret_cast<const char*>(hashes_.data()), hashes_.size() * sizeof(uint64_t));
}

bool UserSketch::TakeFrom(std::string_view* bytes) {
  hashes_.clear();
  registers_.clear();
  uint64_t size = 0;
  if (!TakeVarint(bytes, &size) || size > kMostExact + 1) return false;
  const bool has_registers = size > kMostExact;
  const size_t size_bytes = has_registers ? kRegisters : size * sizeof(uint64_t);
  if (bytes->size() < size_bytes) return false;
  if (has_registers) {
    registers_ = bytes->substr(0, size_bytes);
  } else if (size != 0) {
    hashes_.resize(size);
    std::memcpy(hashes_.data(), bytes->data(), size_bytes);
  }
  bytes->remove_prefix(size_bytes);
  return true;
}

}  // namespace lagwatch::collector

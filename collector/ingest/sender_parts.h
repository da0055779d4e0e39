// SPDX-License-Identifier: Apache-2.0
// The parts of a day's hang time that senders have used, in a bounded memory. Names beyond kOwnPlaces share
// places: what one of them uses, others of its place have no more. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/sketches/user_sketch.h"

namespace lagwatch::collector {

class SenderParts {
 public:
  static constexpr size_t kOwnPlaces = 200'000;
  static constexpr size_t kSharedPlaces = 1 << 16;

  struct Used {
    int64_t counted_ns = 0;
    int64_t extrapolated_ns = 0;  // the part of it that stands for others' as well
    int64_t unmatched_ns = 0;     // in ends of reports that are not known
    int64_t look_ups = 0;         // of reports in the store
  };

  explicit SenderParts(size_t own_places = kOwnPlaces) : own_places_(own_places) {}

  // Of a sender, by a hash of its name that clients cannot predict. Valid until the next call.
  Used* Of(uint64_t name_hash) {
    const auto known = own_.find(name_hash);
    if (known != own_.end()) return &known->second;
    if (own_.size() < own_places_) return &own_[name_hash];
    if (shared_.empty()) shared_.resize(kSharedPlaces);
    sharing_.Add(std::string_view(reinterpret_cast<const char*>(&name_hash), sizeof name_hash));
    return &shared_[name_hash % kSharedPlaces];
  }
  // Names that share places, within about 3 %.
  int64_t Sharing() const { return sharing_.Count(); }
  // A new day.
  void Clear() {
    own_.clear();
    shared_.clear();
    sharing_ = {};
  }

 private:
  const size_t own_places_;
  std::unordered_map<uint64_t, Used> own_;
  std::vector<Used> shared_;  // empty while all names have places of their own
  UserSketch sharing_;
};

}  // namespace lagwatch::collector

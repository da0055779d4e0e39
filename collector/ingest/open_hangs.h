// SPDX-License-Identifier: Apache-2.0
// The hangs of the reports that came last, whose ends may come. The oldest are forgotten. Context:
// background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/uuid.h"

namespace lagwatch::collector {

struct OpenHang {
  uint64_t user = 0;       // a hash of the name; 0: it has none
  int64_t begin_ms = 0;    // since 1970 UTC, by its sender's clock
  int64_t counted_ns = 0;  // the length that it counts with so far
  uint32_t rate_ppm = 0;   // that of its report with the least weight; 0: it stands for no others
  double capped_ns = 0;    // hang time, with its weight, that its records said and that does not count
};

class OpenHangs {
 public:
  static constexpr size_t kMostIds = 8'000;  // twice as many are kept at most

  explicit OpenHangs(size_t most_ids = kMostIds) : most_ids_(most_ids) {}

  // The hang of a report; null if it is not known. Valid until the next call, as that of Add().
  OpenHang* Find(const base::Uuid& report_id) {
    auto known = newer_.find(report_id);
    if (known != newer_.end()) return known->second.get();
    const auto older = older_.find(report_id);
    if (older == older_.end()) return nullptr;
    return Put(report_id, older->second);
  }
  // The hang that the report is of, `first` if nothing is known of it yet.
  OpenHang* Add(const base::Uuid& report_id, const base::Uuid& hang_id, const OpenHang& first, bool* is_new) {
    *is_new = false;
    if (OpenHang* known = Find(report_id); known != nullptr) return known;
    if (OpenHang* known = Find(hang_id); known != nullptr) return Put(report_id, newer_.at(hang_id));
    *is_new = true;
    auto hang = std::make_shared<OpenHang>(first);
    if (hang_id != report_id) Put(hang_id, hang);
    return Put(report_id, std::move(hang));
  }

 private:
  struct HashOfId {
    size_t operator()(const base::Uuid& id) const { return std::hash<std::string_view>()(id.as_bytes()); }
  };
  using HangsById = std::unordered_map<base::Uuid, std::shared_ptr<OpenHang>, HashOfId>;

  OpenHang* Put(const base::Uuid& id, std::shared_ptr<OpenHang> hang) {
    if (newer_.size() >= most_ids_) older_ = std::exchange(newer_, {});
    return newer_.insert_or_assign(id, std::move(hang)).first->second.get();
  }

  const size_t most_ids_;
  HangsById newer_;
  HangsById older_;
};

}  // namespace lagwatch::collector

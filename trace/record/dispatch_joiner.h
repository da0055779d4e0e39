// SPDX-License-Identifier: Apache-2.0
// Joins the begins and the ends of dispatches, which a recording has separately. Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/model/trace.h"
#include "trace/record/run_codec.h"

namespace lagwatch::trace {

class DispatchJoiner {
 public:
  // In any order.
  void Add(const RunRecord& record);
  // All dispatches, each once, by thread and ascending. One without an end lasts until the next one of its
  // thread begins, or until `end_ns`.
  std::map<int32_t, std::vector<Dispatch>> Take(int64_t end_ns) const;

 private:
  struct Entry {
    Dispatch dispatch;
    bool has_ended;
  };
  std::map<int32_t, std::map<uint32_t, Entry>> entries_;  // by thread, then by id
};

}  // namespace lagwatch::trace

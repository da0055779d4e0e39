// SPDX-License-Identifier: Apache-2.0
// Puts together what a recording tells of dispatches: that they began, and later, when they ended.
// Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/model/trace.h"
#include "trace/record/run_codec.h"

namespace lagwatch::trace {

class DispatchBook {
 public:
  // In any order.
  void Add(const RunRecord& record);
  // All of them, each once, by thread and ascending. One whose end was never told went on until the next one
  // of its thread began, or until `end_ns`.
  std::map<int32_t, std::vector<Dispatch>> Take(int64_t end_ns) const;

 private:
  struct Entry {
    Dispatch dispatch;
    bool has_ended;
  };
  std::map<int32_t, std::map<uint32_t, Entry>> entries_;  // by thread, then by id
};

}  // namespace lagwatch::trace

// SPDX-License-Identifier: Apache-2.0
#include "report/format/own_parts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/process/own_names.h"
#include "policies/fact_names.h"

namespace lagwatch::report {
namespace {

class OwnFrames {
 public:
  explicit OwnFrames(const Report& report) {
    for (uint32_t i = 0; i < report.modules.size(); ++i) {
      if (base::IsOwnLibrary(report.modules[i].path)) modules_.insert(i);
    }
    for (const Symbol& symbol : report.symbols) {
      if (base::IsOwnFunctionName(symbol.name)) functions_.emplace(symbol.module, symbol.function_offset);
    }
  }

  bool is_empty() const { return modules_.empty() && functions_.empty(); }
  bool Has(const Frame& frame) const {
    return modules_.contains(frame.module) || functions_.contains({frame.module, frame.function_offset});
  }

 private:
  std::set<uint32_t> modules_;
  std::set<std::pair<uint32_t, uint64_t>> functions_;
};

void CutOwnFrames(const OwnFrames& own, Stack* stack) {
  const auto gap = stack->frames.begin() + stack->gap_at;
  const auto before_gap =
      std::count_if(stack->frames.begin(), gap, [&](auto& frame) { return own.Has(frame); });
  stack->gap_at -= static_cast<uint32_t>(before_gap);
  std::erase_if(stack->frames, [&](const Frame& frame) { return own.Has(frame); });
  const bool is_gap_at_end = stack->gap_frames != 0 && stack->gap_at == stack->frames.size();
  if (is_gap_at_end) stack->gap_at = static_cast<uint32_t>(stack->gap_frames = 0);
}

// A program may have any name, and its threads inherit it.
bool IsOwnThread(const Report& report, const Thread& thread) {
  return thread.tid != report.tid && thread.tid != report.pid && base::IsOwnThreadName(thread.name);
}

}  // namespace

void HideOwnParts(Report* report) {
  const OwnFrames own(*report);
  for (Stack& stack : report->stacks) {
    if (!own.is_empty()) CutOwnFrames(own, &stack);
  }
  const auto told = std::ranges::find(report->facts, policies::kOwnThreadsFact, &Fact::name);
  if (told != report->facts.end()) {
    report->own_threads = static_cast<uint32_t>(std::clamp<int64_t>(told->number, 0, UINT32_MAX));
    report->facts.erase(told);
    return;
  }
  report->own_threads = static_cast<uint32_t>(
      std::erase_if(report->threads, [&](const Thread& thread) { return IsOwnThread(*report, thread); }));
}

}  // namespace lagwatch::report

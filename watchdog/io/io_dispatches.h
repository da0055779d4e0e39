// SPDX-License-Identifier: Apache-2.0
// Dispatches that used files for too long, or looked up too many: decides which of them are reported, and
// says what a report says. The threads count by themselves (trace/io/thread_io.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/process/mapped_memory.h"
#include "base/ticks.h"
#include "policies/file_place.h"
#include "stack/frames/raw_stack.h"
#include "trace/io/thread_io.h"
#include "watchdog/loops/loop_registry.h"
#include "watchdog/loops/watch_options.h"
#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

// Context: watchdog; not thread-safe. Where the system has no hooks nothing is found.
class IoDispatches {
 public:
  // Reads $HOME. Context: background.
  IoDispatches();
  // Sets the threads' limits.
  void SetLimits(const IoOptions& options, const base::TickScale& tick_scale);
  // Finds a dispatch over a limit that is over. False: there is none.
  bool Take();
  // Of the last one that was found, as the next ones.
  const trace::ThreadIoTable::Found& found() const { return found_; }
  // The stack that its thread has copied; null: it has none. Valid until the next Take().
  const stack::RawStack* RawStack();
  // Its loop; null if that is gone.
  const WatchedLoop* FindLoop(const LoopRegistry::Places& places) const;
  // Whether it is to be reported: one of that stack was not, for a while, and not too many were.
  bool IsNews(uint64_t stack_hash, int64_t now_ns);
  // Whether there are dispatches over a limit that were not taken yet.
  bool is_waiting() const;
  // Has new modules looked for, once a second at most.
  void AskForModules(int64_t now_ns);
  // Takes the copies of the last one's stack away.
  void Wipe();
  // The facts borrow the texts until the next Take().
  void AddFacts(const base::TickScale& tick_scale, FactList* facts);

 private:
  static constexpr int64_t kSameStackNs = 60 * base::kNsPerSecond;
  static constexpr int64_t kBetweenReportsNs = 1 * base::kNsPerSecond;
  static constexpr size_t kMaxStacks = 32;

  struct ReportedStack {
    uint64_t hash = 0;
    int64_t mono_ns = 0;  // 0: free
  };
  void AddPlace(FactList* facts);

  trace::ThreadIoTable::Found found_;
  base::MappedBlock<stack::RawStack> raw_;  // one; null until it is needed
  std::array<ReportedStack, kMaxStacks> reported_;
  int64_t last_report_ns_ = 0;  // 0: there was none
  int64_t modules_due_ns_ = 0;
  policies::ShownPath longest_path_;
  policies::ShownPath folder_;
  std::string home_;  // empty where it is not known
  std::array<policies::ResolvedPath, trace::IoContent::kPaths> paths_;
  policies::ResolvedPath file_;
  char class_[16] = "";
};

}  // namespace lagwatch::watchdog

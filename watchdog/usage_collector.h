// SPDX-License-Identifier: Apache-2.0
// Collects the use of one loop: its watched time, its dispatches, its slow ones, and the time of its hangs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "policies/usage.h"
#include "watchdog/loops/dispatch_history.h"
#include "watchdog/loops/loop_probe.h"
#include "watchdog/spans/watched_spans.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// Reads what a loop's thread has counted and noted of its dispatches, each once.
//
// One for each place of the registry, whatever loops come and go there: a probe counts on.
// Context: watchdog; not thread-safe.
class UsageReader {
 public:
  // Skips everything counted or recorded before.
  void Skip(const LoopProbe& probe);
  // Adds the dispatches that have ended since the last call. A loop that both times and only counts is
  // assumed to have done the one that it did last.
  void ReadCounts(const LoopProbe& probe, policies::LoopUsage* usage);
  // The next dispatch that was noted, oldest first; false when there is none. `lost_count` is how many before
  // it were overwritten.
  bool ReadNote(const LoopProbe& probe, DispatchHistory::Dispatch* note, uint64_t* lost_count);

 private:
  uint64_t ended_ = 0;
  std::array<uint64_t, policies::DurationHistogram::kBuckets> long_counts_{};
  uint64_t notes_read_ = 0;
};

// A dispatch that is over and was as long as a hang, as its own thread has noted it.
struct LongDispatch {
  DispatchHistory::Dispatch note;
  int64_t end_ns;
  int64_t duration_ns;  // less the time in which the process was stopped
};

// Context: watchdog; not thread-safe.
class UsageCollector {
 public:
  // `thread` is borrowed.
  explicit UsageCollector(const LoopThread* thread) : thread_(thread) {}

  // Skips the present counts of the loop's place, which were made before it was watched.
  void Skip(const WatchedLoop& loop) { reader_.Skip(loop.probe); }
  // Leaves out a stop of the process, for a loop that is not looked at.
  void Discount(int64_t stopped_ns) {
    if (last_ns_ != 0) last_ns_ += stopped_ns;
  }
  // Adds the usage since the last call, and reports slow dispatches. The last look was at
  // `last_look_ns`; the process was stopped for `stopped_ns` since then.
  void Collect(const WatchedLoop& loop, int64_t stopped_ns, int64_t last_look_ns, const WatchTools& tools);
  // The newest ones that the last Collect() found, oldest first: the loop was followed in most of them.
  std::span<const LongDispatch> long_dispatches() const { return {long_.data(), long_count_}; }
  // Brings the usage up to the duration of a hang.
  void CountHang(WatchedSpan* span, int64_t duration_ns, const WatchTools& tools) const;
  // Whether the application was in the background at the last Collect().
  bool was_background() const { return was_background_; }
  // The loop's place is empty, or was taken by another loop.
  void Forget() { last_ns_ = 0; }

 private:
  void ReadNotes(const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools);
  void ReportNote(const DispatchHistory::Dispatch& note, const WatchedLoop& loop, int64_t now_ns,
                  const WatchTools& tools);
  void KeepLong(const LongDispatch& dispatch, const WatchTools& tools);
  void ReportSlow(const DispatchHistory::Dispatch& note, const WatchedLoop& loop, int64_t end_ns,
                  int64_t duration_ns, const WatchTools& tools) const;

  const LoopThread* thread_;
  UsageReader reader_;
  int64_t last_ns_ = 0;  // earlier usage is collected; 0: nothing is
  bool was_background_ = false;
  ValueIds was_values_{};  // the program's own values at the last Collect()
  std::array<LongDispatch, 4> long_{};
  size_t long_count_ = 0;
  // The last stop of the process, somewhere between two looks.
  struct {
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    int64_t lasted_ns = 0;
  } last_stop_;
};

}  // namespace lagwatch::watchdog

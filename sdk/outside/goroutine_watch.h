// SPDX-License-Identifier: Apache-2.0
// Goroutines of another process that hang. A goroutine is none's loop, and most of them idle: those that
// count wait for a lock, in which none idles, or serve a request (docs/design/goroutines.md).
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/process/mapped_memory.h"
#include "base/process/process.h"
#include "base/ticks.h"
#include "stack/interpreters/go/reader.h"
#include "stack/interpreters/memory.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

// Thread safety: one thread's. Context: background. Linux.
class GoroutineWatch {
 public:
  // Null if the process's program is not of Go.
  static std::unique_ptr<GoroutineWatch> Create(const base::Process& process);

  // Looks at all of them once; if no thread of the process `has_run` since the last look, they are as before.
  void Look(int64_t now_ns, bool has_run);
  // Whether one has waited at two looks where none idles.
  bool MayHang() const { return may_hang_; }
  // The goroutines that have waited at two looks where none idles, the one that has waited longest first.
  struct Hanging {
    int32_t tid;       // stack::ScriptThreadOf()
    int64_t since_ns;  // CLOCK_MONOTONIC, of the look that found it there first
  };
  std::vector<Hanging> FindHanging() const;
  // Gives loops to the goroutines that have waited for `least_ns`, one for each lock that they wait for, and
  // takes them from those that have gone on.
  void ChooseLoops(watchdog::LoopRegistry* registry, const base::TickScale& scale, int64_t now_ns,
                   int64_t least_ns);
  void RemoveLoops(watchdog::LoopRegistry* registry);

 private:
  // Many that hang at once are a few causes, or one.
  static constexpr size_t kMostLoops = 4;

  // A goroutine that waits.
  struct Waiting {
    stack::go::Goroutine goroutine;
    int64_t since_ns = 0;  // CLOCK_MONOTONIC, of the look that found it there first
    uint64_t look = 0;     // the last one that has found it
    bool is_judged = false;
    bool counts = false;
    uint64_t object = 0;  // it waits for this
    watchdog::WatchedLoop* loop = nullptr;
  };

  explicit GoroutineWatch(const base::Process& process);
  void Note(const stack::go::Goroutine& goroutine, int64_t now_ns);
  void Judge(Waiting* waiting);
  bool HasLoopFor(uint64_t object) const;
  static void End(Waiting* waiting, watchdog::LoopRegistry* registry);

  stack::PresentMemory memory_;
  base::MappedBlock<stack::go::GoReader> reader_;  // one
  std::unordered_map<uint64_t, Waiting> waiting_;  // by their ids
  uint64_t look_ = 0;
  bool may_hang_ = false;
};

}  // namespace lagwatch::sdk

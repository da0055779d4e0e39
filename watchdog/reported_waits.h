// SPDX-License-Identifier: Apache-2.0
// Finds what the thread of a report waits for, as the report has it: the chain of waits, the candidates for
// its last one, the peer outside of the process, and the file.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "watchdog/events/hang_sink.h"
#include "watchdog/facts/file_facts.h"
#include "watchdog/spans/awaited.h"
#include "watchdog/waits/chain/wait_walker.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// Of one report; `tools` are the same in all calls. Context: watchdog.
class ReportedWaits {
 public:
  // Looks at thread `tid`, whose process's modules are fresh. Nothing is found of other processes' threads.
  void Find(int32_t tid, const WatchTools& tools);
  // Forgets it: that wait is over.
  void Clear(const WatchTools& tools);
  // Puts the waits into `event`. To be called when all threads were captured: a thread that runs may have
  // answered only one of the two looks at it, and each of them gets the other's stacks. Borrows this object.
  void AddTo(HangEvent* event, const WatchTools& tools);
  // The facts borrow this object's texts.
  void AddFacts(const WatchTools& tools, FactList* facts) const;
  // Goes on into other processes: see WaitWalker::FollowPeers(). If a wait for another one was found, puts
  // the waits into `event` again, with what follows for its word and `facts`, and returns true.
  bool FollowPeers(int64_t since_ns, const WatchTools& tools, FactList* facts, HangEvent* event);

 private:
  void ReadWaits(const WaitWalker& walker, ThreadLister* threads);
  void AddBusCall(const BusCall& call, const WatchTools& tools, FactList* facts, HangEvent* event) const;

  int32_t tid_ = 0;
  Awaited awaited_;
  AwaitedFile file_;
  std::array<Wait, WaitWalker::kMaxWaits> waits_;
  size_t count_ = 0;
};

}  // namespace lagwatch::watchdog

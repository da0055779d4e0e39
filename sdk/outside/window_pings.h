// SPDX-License-Identifier: Apache-2.0
// Asks a window of another process whether its events are served: by _NET_WM_PING of the Extended Window
// Manager Hints, which any client of an X server may send. A program that does not answer may be in a
// handler; that is a reason to go on with a dispatch that nothing else proves, and no verdict.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace lagwatch::sdk {

// Thread safety: one thread's. Context: background.
class WindowPings {
 public:
  // Of process `pid`. Null if it has no display, or is another user's: the display would be of that user's
  // choice. To be called before other threads are started: it sets XAUTHORITY for this process.
  static std::unique_ptr<WindowPings> Create(pid_t pid);

  // Now is `now_ns` (CLOCK_MONOTONIC). Has a window asked soon by a thread of its own, unless that was done
  // in the last ten seconds.
  void Ask(int64_t now_ns);
  // Whether a window was asked, by a server that works, and has not answered so far.
  bool IsUnanswered() const { return phase_->load(std::memory_order_acquire) == Phase::kUnanswered; }

 private:
  enum class Phase : uint8_t { kIdle, kAsking, kUnanswered };

  WindowPings(pid_t pid, std::string display) : pid_(pid), display_(std::move(display)) {}
  static void AskWindow(const std::string& display, pid_t pid, std::atomic<Phase>* phase);

  pid_t pid_;
  std::string display_;
  int64_t asked_ns_ = 0;  // CLOCK_MONOTONIC; 0: never
  // Outlives this object: a thread may wait for a server that stands still.
  std::shared_ptr<std::atomic<Phase>> phase_ = std::make_shared<std::atomic<Phase>>(Phase::kIdle);
};

}  // namespace lagwatch::sdk

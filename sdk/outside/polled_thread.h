// SPDX-License-Identifier: Apache-2.0
// A thread of another process whose loop is watched by looking at it now and then.
#pragma once

#include <cstdint>
#include <string>

#include "base/owned_fd.h"
#include "policies/polled_dispatch.h"
#include "sdk/outside/return_counter.h"
#include "sdk/waits/wait_home.h"
#include "stack/threads/thread_state.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

struct PollOptions {
  bool takes_probable = false;
  bool counts_returns = true;  // where the kernel permits it
};

// Thread safety: one thread's. Context: background.
class PolledThread {
 public:
  enum class State : uint8_t {
    kAlive,
    kGone,
    kHidden,  // the kernel does not let this process see where it sleeps
  };

  PolledThread(int32_t tid, const PollOptions& options);

  // Looks at it once.
  State Poll();
  // Whether its loop's wait is known by now.
  bool has_home() const { return home_.home_frame() != 0; }
  // From now on its dispatches are those of `loop`; null: of none.
  void SetLoop(watchdog::WatchedLoop* loop);
  watchdog::WatchedLoop* loop() const { return loop_; }
  int32_t tid() const { return tid_; }
  std::string Name() const;

 private:
  struct Counters {
    int64_t voluntary_switches = -1;
    int64_t io_calls = -1;
    bool is_stopped = false;

    bool operator==(const Counters&) const = default;
  };

  bool IsContinuous(stack::ThreadActivity activity, const stack::BlockedThread& blocked,
                    uint64_t slices) const;
  // Notes the wait that the thread is in, if it is another one than at the last look. Returns whether it is
  // the loop's.
  bool NoteWait(stack::ThreadActivity activity, const stack::BlockedThread& blocked, bool is_continuous);
  uint64_t ReadSlices() const;
  Counters ReadCounters() const;
  void Apply(policies::PolledDispatch::Action action);

  int32_t tid_;
  PollOptions options_;
  base::OwnedFd activity_file_;
  base::OwnedFd slices_file_;
  WaitHome home_;
  policies::PolledDispatch dispatch_;
  ReturnCounter returns_;
  watchdog::WatchedLoop* loop_ = nullptr;
  // At the last look.
  stack::ThreadActivity activity_ = stack::ThreadActivity::kRunning;
  stack::BlockedThread blocked_{};
  uint64_t slices_ = 0;
  bool is_in_wait_ = false;
  bool is_home_wait_ = false;
  Counters counters_;
  uint64_t home_return_ = 0;  // where the loop's wait returns to
};

}  // namespace lagwatch::sdk

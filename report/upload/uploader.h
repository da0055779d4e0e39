// SPDX-License-Identifier: Apache-2.0
// Sends the spool while the program runs, from a thread of its own, and the rest when it
// ends. Context: background.
#pragma once

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "base/status.h"
#include "report/upload/spool_sender.h"
#include "report/upload/transport/transport.h"
#include "report/upload/upload_pacing.h"

namespace lagwatch::report {

// Sends all that is finished in the spool, trying again after failures, until the deadline (CLOCK_MONOTONIC)
// or until `most_failures` came one after the other. Returns how many segments are left. For programs that do
// nothing else: `lagwatch upload`.
size_t DrainSpool(SpoolSender* sender, int64_t deadline_mono_ns, int most_failures = INT_MAX);

// Thread safety: Start and TryStop from one thread, Wake from any.
class Uploader {
 public:
  // `sender` and `transport`, the one that it sends by, are borrowed.
  Uploader(SpoolSender* sender, Transport* transport);
  ~Uploader();  // stops at once, and waits for as long as that takes
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // Called on the thread at each round, and once a minute while it waits after a failure. When it returns
  // true, the collector may be asked again now. Before Start.
  void SetPoll(std::function<bool()> poll) { poll_ = std::move(poll); }
  // After so many failures, one after the other, TryStop() takes the collector for unreachable and tries no
  // more. Before Start.
  void SetMostFailuresAtEnd(int count) { most_failures_at_end_ = count; }
  // Starts the thread "lagwatch-upload". At most once.
  base::Status Start();
  // Looks at the spool now rather than at the next second; a wait after a failure is not cut short.
  void Wake() { sleeper_.Wake(); }
  // Sends the segments sealed by now, for at most `flush_deadline_ms`, and ends the thread. A collector that
  // asked to wait longer is not contacted. The transport is aborted: neither can be used again. Returns false
  // if the thread did not end within 3 s more, because a disk hangs: then everything that it uses must be
  // leaked, or this be called again.
  [[nodiscard]] bool TryStop(int64_t flush_deadline_ms);

 private:
  void Run();
  void RunWhateverHappens();
  void RunUntilStopped();
  // One look at the spool, and the wait after it. Returns until when the collector is to be left alone.
  int64_t RunRound(UploadPacing* pacing);
  bool Poll();

  SpoolSender* sender_;
  Transport* transport_;
  std::function<bool()> poll_ = [] { return false; };
  int most_failures_at_end_ = INT_MAX;
  base::Sleeper sleeper_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<int64_t> stop_deadline_mono_ns_{0};
  base::QuietThread thread_;
};

}  // namespace lagwatch::report

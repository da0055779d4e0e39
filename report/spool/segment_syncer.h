// SPDX-License-Identifier: Apache-2.0
// Syncs appended records to disk, on a thread of its own: only that one waits when the disk hangs. It sleeps
// until a request, opens segments by their paths, and holds no descriptor while it sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/counter.h"
#include "base/process/env.h"
#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"

namespace lagwatch::report {

class SegmentSyncer {
 public:
  // For the session whose paths begin with `path_prefix` (see SegmentPath). `env` is borrowed, and must stay
  // for ever if TryStop() fails. Null if no thread can be started. Context: background.
  static std::unique_ptr<SegmentSyncer> Start(base::Env* env, std::string directory, std::string path_prefix);
  SegmentSyncer(const SegmentSyncer&) = delete;
  SegmentSyncer& operator=(const SegmentSyncer&) = delete;

  // Requests a sync of the session's segment `sequence`, which follows soon. One thread at a time calls; does
  // not wait. Requests made before the sync are merged. Context: watchdog.
  void Ask(uint32_t sequence);
  // Serves pending requests and ends the thread. Returns false if the disk took longer: then this object must
  // be leaked. Context: background.
  [[nodiscard]] bool TryStop(int64_t timeout_ns);

  // Segments synced, together with their directory entries; and those that the system refused to. One that is
  // gone by then, because it was sent, is neither. Context: any.
  uint64_t synced_count() const { return synced_.value(); }
  uint64_t failed_count() const { return failed_.value(); }

 private:
  static constexpr size_t kThreadStackBytes = 256 << 10;

  SegmentSyncer(base::Env* env, std::string directory, std::string path_prefix)
      : env_(env), directory_(std::move(directory)), path_prefix_(std::move(path_prefix)) {}

  void Run();
  void SyncAsked(uint64_t asked);
  // 0, or an errno value: ENOENT when it is gone.
  int SyncSegment(uint32_t sequence);

  // A range of sequence numbers in one word, so that it can be changed at once: the first and the last.
  static uint64_t Range(uint32_t first, uint32_t last) { return uint64_t{first} << 32 | last; }
  static constexpr uint64_t kNothing = uint64_t{UINT32_MAX} << 32;  // the first is after the last

  base::Env* env_;
  std::string directory_;
  std::string path_prefix_;
  std::atomic<uint64_t> asked_{kNothing};
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "the watchdog must not wait");
  std::atomic<bool> is_to_stop_{false};
  base::Sleeper sleeper_;
  base::Counter synced_;
  base::Counter failed_;
  base::QuietThread thread_;
};

}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
// A recording that the program starts and stops itself, for a file as `lagwatch trace record` writes it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "trace/model/trace.h"

namespace lagwatch::sdk {

struct RecordingOptions {
  int64_t interval_ns = 10 * base::kNsPerMs;  // 1 to 100 ms
  uint64_t buffer_bytes = 32 << 20;
  bool has_hooks = false;             // captures in hooked calls, too
  std::vector<int32_t> threads = {};  // the kernel's ids; empty: all
};

// A process has one at a time. Thread safety: any thread; nothing waits for another thread's call. After
// fork() the child has none.
class ProgramRecording {
 public:
  static ProgramRecording& Instance();

  // Errors: kUnavailable, with the reason: the program is being recorded already, the process's limits, no
  // memory, no threads. Context: background.
  base::Status Start(const RecordingOptions& options);
  // Ends it, and writes the file, unless `path` is empty. Errors: kNotFound when there is none; kIo. The
  // recording is over in any case. Context: background.
  base::Status Stop(const std::string& path);

 private:
  struct Recording;
  class Claim;

  template <typename Call>
  base::Status Claimed(const Call& call);
  base::Status StartNow(const RecordingOptions& options);
  base::Status StopNow(const std::string& path);

  std::atomic<pid_t> claimed_by_{0};  // the process a thread of which starts or stops it; 0: none
  Recording* recording_ = nullptr;    // the claimant's
};

}  // namespace lagwatch::sdk

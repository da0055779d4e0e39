// SPDX-License-Identifier: Apache-2.0
// The process's limits: whether they leave room for a monitor, and the signal of the file size limit.
#pragma once

#include <csignal>

#include "base/status.h"
#include "base/system/process.h"

namespace lagwatch::sdk {

// Errors: kUnavailable, with the reason for lw_why_off(): too little address space is left (RLIMIT_AS,
// RLIMIT_DATA) to start without taking memory that the program needs, or a seccomp filter confines the
// process and may not know our system calls. A filter that also confines the first process of the pid
// namespace is a container's. Context: background.
base::Status CheckCanRunHere(bool is_traced, bool seccomp_is_allowed);

// Past RLIMIT_FSIZE the kernel sends this thread SIGXFSZ, which would end the program. Held back and dropped
// here; one that was there before stays.
class ScopedNoFileSizeSignal {
 public:
  ScopedNoFileSizeSignal() {
    sigset_t pending;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &mask_before_);
  }
  ~ScopedNoFileSizeSignal() {
    if (!was_pending_) base::DropPendingSignals(signal_);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  ScopedNoFileSizeSignal(const ScopedNoFileSizeSignal&) = delete;
  ScopedNoFileSizeSignal& operator=(const ScopedNoFileSizeSignal&) = delete;

 private:
  sigset_t signal_;
  sigset_t mask_before_;
  bool was_pending_ = false;
};

}  // namespace lagwatch::sdk

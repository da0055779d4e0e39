// SPDX-License-Identifier: Apache-2.0
// Probes of lagwatch's own, by import tables, while a process is served.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "base/system/seccomp.h"
#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::sdk {

// Ends probes and their service before the process confines itself by seccomp, whose filter may end it at a
// system call of theirs; and before its main thread ends, after which the kernel gives no one its memory, and
// the program's last thread would not be the process's. Has children of vfork(2), which have their parent's
// memory, deliver nothing. Context: background, one thread.
class ProcessGuard {
 public:
  void Arm(trace::FunctionProber* prober);
  void Disarm(trace::FunctionProber* prober);
  // Whether the main thread has ended, or has other filters than at the first call: by system calls of the
  // program's own, which the probes do not see. Three system calls, twice.
  bool MustEnd();

 private:
  std::optional<base::SeccompState> first_filters_;
  std::vector<trace::ProbeId> ids_;
};

// For a process that has been found not to be confined: lagwatch may make system calls there again.
void ForgetConfinement();

// Called by the thread that is about to do so; may be null.
extern std::atomic<void (*)()> g_end_probes;

}  // namespace lagwatch::sdk

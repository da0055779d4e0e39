// SPDX-License-Identifier: Apache-2.0
// Probes of lagwatch's own, by import tables, while scripts are armed in a process.
#pragma once

#include <atomic>
#include <vector>

#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::sdk {

// Ends probes before the process confines itself by seccomp, whose filter may end it at a system call of
// theirs; and has children of vfork(2), which have their parent's memory, deliver nothing. Context:
// background, one thread.
class ProcessGuard {
 public:
  void Arm(trace::FunctionProber* prober);
  void Disarm(trace::FunctionProber* prober);

 private:
  std::vector<trace::ProbeId> ids_;
};

// For a process that has been found not to be confined: lagwatch may make system calls there again.
void ForgetConfinement();

// Called by a thread that is about to confine its process; may be null.
extern std::atomic<void (*)()> g_before_confinement;

}  // namespace lagwatch::sdk

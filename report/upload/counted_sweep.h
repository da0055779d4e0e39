// SPDX-License-Identifier: Apache-2.0
// Keeps a spool that is sent within its limits: unsent records are counted in the ledger before their file is
// removed. Context: background.
#pragma once

#include <functional>
#include <string>

#include "base/process/env.h"
#include "base/status.h"
#include "policies/upload/retention.h"
#include "report/upload/upload_gate.h"

namespace lagwatch::report {

// Actions of the ledger's owner. See SweepVisitor.
struct SweepHooks {
  // Before the save: the decision about it has to last, also of a segment that came after the sweep began.
  std::function<void(const std::string& name)> on_counted;
  std::function<bool()> save;  // the ledger that the gate counts in; where that fails, the files stay
  std::function<void(const std::string& name)> on_removed;
  std::function<bool()> goes_on;
};

// Errors: as SweepSpool.
base::Status SweepCounted(base::Env* env, const std::string& directory,
                          const policies::RetentionLimits& limits, int64_t now_wall_ms, UploadGate* gate,
                          const SweepHooks& hooks);

}  // namespace lagwatch::report

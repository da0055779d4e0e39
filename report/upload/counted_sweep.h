// SPDX-License-Identifier: Apache-2.0
// Keeps a spool that is sent within its limits: what goes unsent is in the ledger before its file is gone.
// Context: background.
#pragma once

#include <functional>
#include <string>

#include "base/env.h"
#include "base/status.h"
#include "policies/retention.h"
#include "report/upload/upload_gate.h"

namespace lagwatch::report {

// `save` writes the ledger that `gate` counts in; where that fails, the files stay. Errors: as SweepSpool.
base::Status SweepCounted(base::Env* env, const std::string& directory,
                          const policies::RetentionLimits& limits, int64_t now_wall_ms, UploadGate* gate,
                          const std::function<base::Status()>& save);

}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
// Keeps the spool within its limits at the program's start, as long as no process sends it: a sender sweeps
// it, too, and knows what was decided about each report. Context: background.
#pragma once

#include <string>

#include "base/process/env.h"
#include "report/spool/spool_sweep.h"
#include "report/spool/spool_writer.h"

namespace lagwatch::sdk {

// Sweeps the directory that `writer` writes to, unless a ledger there shows that a process sends it: still,
// or again in this run (`is_sent`). The reports that it removes are counted in records of losses, appended by
// `writer` before: once, since such a record's id follows from the removed segment's name, and if a kill left
// both, only the segment is removed.
void SweepUnsentSpool(base::Env* env, const std::string& directory, bool is_sent, int64_t now_wall_ms,
                      report::SpoolWriter* writer);

}  // namespace lagwatch::sdk

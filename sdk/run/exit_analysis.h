// SPDX-License-Identifier: Apache-2.0
// Determines how earlier runs ended, from the records that they left. Context: background.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "policies/exit_reason.h"
#include "report/format/report.h"
#include "sdk/run/run_record.h"

namespace lagwatch::sdk {

struct EndedRun {
  RunRecord record;
  policies::ExitReason reason = policies::ExitReason::kUnknown;
  bool is_of_same_program = false;  // the same app, from a file of the same name

  report::RunEnd ToRunEnd() const;
  // Its loops' usage that was not reported any more, as an encoded Usage record; empty if there is none.
  std::string EncodeUsage() const;
  // The end of the hang in which the process ended by itself, as an encoded HangEnd record of the length that
  // the run's record has; empty if there was no such hang.
  std::string EncodeHangEnd() const;
};

inline constexpr size_t kMaxEndedRuns = 64;

// Calls `visit` for every run of SPOOL/runs that is over, the newest first, and removes its record when it
// returns true. `now` is the run that is about to begin. Records past kMaxEndedRuns are removed without a
// call. Records of running processes, of other machines and of newer versions, files with other names and
// symbolic links are left alone. Several processes may do this at once: each run is reported by one of them.
void TakeEndedRuns(const std::string& spool_directory, const RunFacts& now,
                   const std::function<bool(const EndedRun&)>& visit);
// Calls `look` for the same runs whose processes are gone, and changes nothing. Leaves out those of which
// only the lock shows whether they are over: a lock that is taken for a moment could hide the run from a
// start.
void VisitEndedRuns(const std::string& spool_directory, const RunFacts& now,
                    const std::function<void(const EndedRun&)>& look);
// As TakeEndedRuns(), without a limit: only what `is_to_go` returns true for is removed.
void RemoveEndedRuns(const std::string& spool_directory, const RunFacts& now,
                     const std::function<bool(const EndedRun&)>& is_to_go);

}  // namespace lagwatch::sdk

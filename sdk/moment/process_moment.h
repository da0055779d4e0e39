// SPDX-License-Identifier: Apache-2.0
// A process at one moment, seen from outside: what its threads do, which of them matters, and a report about
// that one. Nothing is injected, and nothing but a thread that runs is stopped, once, for as long as its
// stack is copied (docs/design/outside.md). Context: background. Linux.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process/process.h"
#include "base/status.h"
#include "base/uuid.h"
#include "sdk/moment/suspect.h"
#include "sdk/moment/thread_survey.h"

namespace lagwatch::sdk {

struct MomentOptions {
  // The time in which the threads are looked at, again and again.
  int64_t survey_ns = 700 * base::kNsPerMs;
  std::string app;  // that the report is of; empty: the process's name
  // The thread that matters, if that is known: one that a signal has ended its process in. 0: it is chosen.
  int32_t suspect_tid = 0;
  int64_t seen_wall_ms = 0;  // the time that the report is of; 0: now
};

struct ProcessMoment {
  base::Uuid report_id;
  // An encoded lagwatch.Report about the thread that matters: of kind dump if the process responds, else of a
  // hang that has lasted for the time since `suspect.since_ns` at least.
  std::string report;
  Standing standing = Standing::kResponds;
  SurveyedThread suspect;               // the thread that matters
  std::vector<SurveyedThread> threads;  // all of them
  int64_t seen_ns = 0;                  // CLOCK_MONOTONIC, of the report
};

// Looks at `process` now, or at the one moment of its core file: of that no time is known, nothing of the
// machine and nothing of other processes. Errors: kNotFound if it has ended; kUnavailable, saying why, if
// there is no memory, or if the report does not fit.
base::Result<ProcessMoment> LookAtProcess(const base::Process& process, const MomentOptions& options);

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
// Chooses the threads that the state of a program depends on, where no loop is known. Context: any; pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sdk/moment/thread_survey.h"

namespace lagwatch::sdk {

// Whether a process does what it is asked.
enum class Standing : uint8_t {
  kResponds,     // its main thread waits for events, or handles them
  kFrozen,       // a thread that it needs does not go on
  kMayBeFrozen,  // its main thread waits for something that idle threads wait for, too
};

// Of a process whose thread that matters is this one, by its pastime. A thread beside a main thread that
// idles is a worker: whether the process needs it is not known.
Standing StandingOf(const SurveyedThread& thread, bool is_beside_idle_main);

// The threads that matter, the one that matters most first: of those that do not go on the main thread, then
// those that wait in uninterruptible sleep or for another thread, the ones that have waited longest first,
// then what the main thread does, then what computes. Never empty unless `threads` are.
std::vector<const SurveyedThread*> RankSuspects(std::span<const SurveyedThread> threads, int32_t main_tid);

}  // namespace lagwatch::sdk

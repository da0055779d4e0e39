// SPDX-License-Identifier: Apache-2.0
// Watches what the threads of another process do during a short time: several looks at each of them, of which
// none disturbs it. Context: background. Linux.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/process/process.h"
#include "policies/verdict.h"
#include "stack/threads/thread_counters.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {
class ProcessorClocks;
class StackCapturer;
}

namespace lagwatch::sdk {

// The way in which a thread has passed the time of a survey.
enum class Pastime : uint8_t {
  kIdle,    // waited as those do that have nothing to do: for events, connections, signals
  kParked,  // waited for whatever others say: a condition, an answer, a child. Idle threads do so, and frozen
            // ones
  kBlocked,    // in one sleep where no thread idles: for a lock that another one has, a disk
  kComputing,  // ran, or was ready, without a pause and without a call for input or output
  kBusy,       // ran, and slept or called for input or output in between
  kStopped,    // by a signal, or by a debugger
};

// A thread as it was in the time of a survey.
struct SurveyedThread {
  int32_t tid = 0;
  std::string name;
  Pastime pastime = Pastime::kIdle;
  policies::Verdict verdict;       // on the time of the survey
  stack::BlockedThread blocked{};  // the call that it was in at the last look, unless it ran
  const char* call = nullptr;      // the call's name, static; null where threads do not wait in it
  std::string file;      // that a thread that is blocked waits for, as the process names it; or empty
  int64_t since_ns = 0;  // CLOCK_MONOTONIC: it has done so since then at least
  // Whether `since_ns` is the beginning for certain. Else it may have been earlier.
  bool is_since_exact = false;
  bool is_parked_since_start = false;  // it waits where it came to within a moment of its process's start
  // It is busy, but at nearly each look it waited for a lock in the same place, and it hardly ran: one wait
  // that is made again and again, each with a limit.
  bool retries_one_wait = false;
};

// Thread safety: one thread's.
class ThreadSurvey {
 public:
  // `capturer`, of the process that is surveyed, is borrowed.
  explicit ThreadSurvey(const stack::StackCapturer* capturer) : capturer_(capturer) {}

  // Looks at all threads once. False if there are none any more.
  bool Look();
  // All threads that were there at the last look, after two looks at least, by their ids.
  std::vector<SurveyedThread> Result() const;

 private:
  struct Entry {
    std::string name;
    char state = '?';
    policies::TimeAccount account;
    stack::ThrottleCounters throttle;  // at the first look
    stack::BlockedThread blocked{};
    bool is_asleep = false;
    bool has_moved = false;        // it was not in one sleep all the time
    bool has_idled = false;        // one of the looks has found it idle
    bool has_been_stopped = true;  // at all looks
    bool has_paused = false;       // it has slept of its own will, or called for input or output
    stack::BlockedThread futex{};  // the last one
    int64_t looks_in_futex = 0;    // in that one
    policies::ThreadUse first_use{};
    int64_t io_calls = -1;
    int64_t look = 0;  // the number of the last one
  };
  // Whether it has slept since the last look, which is all that a look at it would find.
  bool StillSleeps(const base::Thread& thread, Entry* entry);
  void LookAt(const base::Thread& thread, Entry* entry);
  // `throttled_ns`: the time without quota since the first look.
  SurveyedThread Judge(int32_t tid, const Entry& entry, int64_t throttled_ns,
                       stack::ProcessorClocks* clocks) const;
  Pastime PastimeOf(const base::Thread& thread, const Entry& entry) const;
  bool IsIdle(const base::Thread& thread, const Entry& entry) const;

  const stack::StackCapturer* capturer_;
  std::map<int32_t, Entry> entries_;
  int64_t looks_ = 0;
  int64_t first_ns_ = 0;  // CLOCK_MONOTONIC, of the first look
};

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
// Decides whether a thread that is watched by its waits (`lagwatch run`) hangs in a handler of
// its loop or idles elsewhere: in sigwait, join, accept, a condition, a sleep. The rule and its
// costs: docs/design/waits.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/process/process.h"
#include "stack/frames/stack.h"
#include "stack/threads/thread_state.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::watchdog {

// A thread that has waited less often, and has no home, has no loop yet.
inline constexpr uint16_t kFewWaits = 10;

// The frames of a handler lie below those of the loop that called it, on the same stack.
inline constexpr uintptr_t kDeepestStackBytes = uintptr_t{64} << 20;
// Or as high as those of the loop's wait, which helper functions of the loop call.
inline constexpr uintptr_t kHelperBytes = 512;

// Kinds of waits, by the system call alone.
enum class WaitKind : uint8_t {
  kOther,  // a lock, a disk: no thread idles there
  kEvent,  // for as long as it takes
  kTime,   // a sleep, or an event with a timeout
};
WaitKind KindOfWait(const stack::BlockedThread& blocked);

// Two sleeps of one thread in the same call of the same frame.
bool IsSamePlace(const stack::BlockedThread& blocked, const stack::BlockedThread& other);

// Whether threads wait in that call for what others ask of them: a signal, a connection, a message.
bool IsForOrders(const stack::BlockedThread& blocked);

// Whether it waits for the descriptor that the thread's last poll was for: a client that polls first.
bool IsForPolled(const WatchedLoop& loop, const stack::BlockedThread& blocked);

// Whether it waits for a child, or by another call than a poll for another descriptor than the thread's only
// one.
bool IsForAnother(const WatchedLoop& loop, const stack::BlockedThread& blocked);

// Context: watchdog; not thread-safe. One loop's.
class IdlePlaces {
 public:
  enum class Answer : uint8_t {
    kHang,      // nothing says that it idles
    kIdle,      // it idles, until it leaves this place
    kUnproven,  // it may idle; if it comes back to its loop, it was a hang
  };

  // A loop takes the place whose probe has begun so many dispatches.
  void BeginLoop(uint64_t begun, int64_t now_ns);
  // The window of dispatch `number` is due: whether the thread still sleeps where an earlier check found
  // it. Captures nothing.
  Answer AtWindow(uint64_t number, const base::Thread& thread, const stack::ThreadFiles* files);
  // A check of dispatch `number` of a loop in `process`, whose newest sample is `stack`. That it `is_certain`
  // to be no idleness is found by its functions: a lock of readers and writers sleeps in the same call as a
  // condition.
  Answer AtCheck(uint64_t number, const WatchedLoop& loop, const stack::Stack& stack, bool is_certain,
                 int64_t now_ns, const base::Process& process, const stack::ThreadFiles* files);
  // Dispatch `number`, of that duration, is over: the thread waits in its loop again, unless the
  // loop is gone.
  void EndDispatch(uint64_t number, int64_t duration_ns, bool has_returned);

  // Whether the last answer at a check of dispatch `number` was kUnproven, and nothing has settled it since.
  bool IsUnproven(uint64_t number) const {
    return number != 0 && asleep_.number == number && !asleep_.is_idle;
  }
  // Whether the last unproven place is one where a program that is killed there hung rather than idled.
  bool MayHang() const { return asleep_.where != Where::kOutside && asleep_.may_hang; }
  // The same, and now that the thread polls again, it was a hang.
  bool IsProven(uint64_t number, const WatchedLoop& loop) const {
    const bool is_elsewhere = asleep_.where == Where::kInside && asleep_.home_moves != loop.home_moves.load();
    return IsUnproven(number) && (!is_elsewhere || IsHandlers(number, loop));
  }
  // The thread itself has found that it was in a handler.
  static bool IsHandlers(uint64_t number, const WatchedLoop& loop) {
    return number != 0 && loop.handlers_number.load() == static_cast<uint32_t>(number);
  }
  // The same, and if the process ends after the thread has left this place, it was a hang, too.
  bool IsProvenByEnd(uint64_t number) const {
    return IsUnproven(number) && asleep_.where == Where::kNowhere && asleep_.kind == WaitKind::kTime;
  }

 private:
  enum class Where : uint8_t {
    kNowhere,  // no loop is known
    kInside,   // in a handler of the loop, or on another stack
    kBeside,   // above the loop's frame, from where the thread has come back before
    kOutside,  // above the loop's frame
  };
  struct Place {
    uint64_t path_hash = 0;
    int64_t slept_ns = 0;
    uint32_t dispatches = 0;
    bool was_idle = false;
  };
  static constexpr size_t kPlaces = 4;

  Where WhereIs(const WatchedLoop& loop, const stack::BlockedThread& blocked) const;
  bool IsKnown(uint64_t path_hash, int64_t now_ns) const;
  void Learn(uint64_t path_hash, int64_t slept_ns, bool was_idle);

  uint64_t first_begun_ = 0;
  int64_t first_ns_ = 0;
  uintptr_t loop_top_ = 0;  // handlers' frames have been as high as that
  Place places_[kPlaces];
  Answer Rest(uint64_t number, const WatchedLoop& loop, Where where, WaitKind kind,
              const stack::BlockedThread& blocked, int64_t cpu_ns);

  // The place at which a check has found the thread, and the dispatch.
  struct {
    uint64_t number = 0;
    uint64_t path_hash = 0;
    bool was_idle = false;
  } seen_;
  struct {
    uint64_t number = 0;  // 0: nowhere
    bool is_idle = false;
    Where where = Where::kNowhere;
    WaitKind kind = WaitKind::kOther;
    bool may_hang = false;
    uint32_t home_moves = 0;
    stack::BlockedThread blocked{};
    int64_t cpu_ns = 0;
  } asleep_;
};

// Number of outermost frames that two stacks have in common.
size_t CountCommonFrames(const stack::Stack& stack, const stack::Stack& other);

}  // namespace lagwatch::watchdog

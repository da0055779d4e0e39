// SPDX-License-Identifier: Apache-2.0
// Summarizes why a hang took so long: the shares of the watched thread's time, and one word for them.
// The words and shares are those of policies/verdict.def. Context: watchdog; pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lagwatch::policies {

enum class VerdictWord : int32_t {
#define VERDICT_WORD(number, enumerator, ...) enumerator = number,
#include "policies/verdict.def"
};

// "cpu", "lock" …, as in the JSON that people and programs read.
constexpr const char* VerdictName(VerdictWord word) {
  switch (word) {
#define VERDICT_WORD(number, enumerator, name, ...) \
  case VerdictWord::enumerator:                     \
    return name;
#include "policies/verdict.def"
  }
  return "unknown";
}

// The parts of `wall_ns` of a thread. They do not overlap; time that is not accounted for is unknown.
struct TimeShares {
  int64_t wall_ns = 0;
#define TIME_SHARE(field, member, ...) int64_t member##_ns = 0;
#include "policies/verdict.def"

  bool operator==(const TimeShares&) const = default;
};

// One of them, with its names.
struct TimeShare {
  int64_t TimeShares::*ns;
  VerdictWord word;       // that it speaks for
  uint32_t field;         // in the schema's Verdict
  const char* name;       // likewise: "lock_ns"
  const char* json_name;  // "lock_ms"
  const char* label;      // for people
};
inline constexpr TimeShare kTimeShares[] = {
#define TIME_SHARE(field, member, enumerator, label, row) \
  {&TimeShares::member##_ns, VerdictWord::enumerator, field, #member "_ns", #member "_ms", label},
#include "policies/verdict.def"
};

// A thread's use of resources in some time. Trivial: whole rings of it are not to be touched
// before their use.
struct ThreadUse {
  int64_t cpu_ns;
  int64_t minor_faults;
  int64_t major_faults;
  int64_t voluntary_switches;
  int64_t involuntary_switches;

  bool operator==(const ThreadUse&) const = default;
};

struct Verdict {
  VerdictWord word = VerdictWord::kUnknown;
  TimeShares shares;
  ThreadUse use = {};

  bool operator==(const Verdict&) const = default;
};

// The state in which a thread is found at one moment.
enum class Doing : uint8_t {
  kUnknown,
  kRunning,  // on a processor
  kQueued,   // ready, without a processor
#define WAIT_SHARE(field, member, enumerator, ...) enumerator,
#include "policies/verdict.def"
  kStopped,
};

// The known facts of a thread at one moment. All but the first two count from the thread's beginning on.
struct ThreadLook {
  int64_t mono_ns = 0;
  Doing doing = Doing::kUnknown;
  int64_t user_ns = 0;  // coarse, as kernel_ns: only their proportion counts
  int64_t kernel_ns = 0;
  int64_t run_queue_ns = 0;  // waits for a processor that are over
  int64_t block_io_ns = 0;   // coarse; 0 where the kernel does not count it
  ThreadUse use = {};
};

// Accounts for a thread's time, from a first look on:
// - Time on a processor and finished waits for one are the kernel's own sums.
// - The rest between two looks is what the thread was doing at both, half and half if they differ. `kRunning`
//   has no part in it: all of it is what the other look found.
// - If both found it running, it slept too shortly to be seen. Such time is assumed to be like the waits that
//   were seen; without any, block I/O as far as the kernel counted that, else unknown.
// - A wait in the queue enters the kernel's sum when it is over. If a look has counted it before, it is
//   not counted again; if the sum then has less, the rest is unknown, or a quota's: newer kernels take a
//   thread without quota out of the queue.
// The parts never add up to more than `wall_ns`.
class TimeAccount {
 public:
  // Resets the account, with a first look.
  void Open(const ThreadLook& look);
  // Returns what the thread used since the look before. A look that is not later than that changes nothing.
  ThreadUse Add(const ThreadLook& look);
  // Takes off the time in which the process was stopped, up to a moment before `now_ns`.
  void Discount(int64_t stopped_ns, int64_t now_ns);
  // `throttled_ns` is for how long the thread's control group was without quota meanwhile: so much of the
  // time in the queue, and not more than that, is its fault.
  TimeShares Shares(int64_t throttled_ns) const;
  ThreadUse use() const;
  // Only after Open().
  const ThreadLook& last_look() const { return last_; }
  int look_count() const { return look_count_; }

 private:
  static constexpr size_t kDoingCount = static_cast<size_t>(Doing::kStopped) + 1;

  int64_t& TimeOf(Doing doing) { return time_ns_[static_cast<size_t>(doing)]; }

  int look_count_ = 0;
  ThreadLook first_;
  ThreadLook last_;
  std::array<int64_t, kDoingCount> time_ns_{};  // that of kUnknown: at least one look did not know
  int64_t unseen_ns_ = 0;                       // both looks found it running
  int64_t early_queue_ns_ = 0;                  // counted before the kernel did
  int64_t unproven_queue_ns_ = 0;               // … and it did not, when the wait was over
};

// The word for `shares`; the first rule that applies:
//   1. `is_deadlock`: kDeadlock.
//   2. More than half of the time in the queue: kStarved, or kThrottled if a quota was the cause of at
//      least a quarter of that. (The kernel reports a period without quota only when it is over, so a quarter
//      is enough.) A busy machine makes all programs wait a little: less than half is no evidence.
//   3. The largest of the waits, stopped, and CPU as the sum of both kinds; of equal ones the first in this
//      order, because a wait is easier to do something about.
//   4. kUnknown if there is none, or if more of the time is not accounted for than that.
VerdictWord Judge(const TimeShares& shares, bool is_deadlock);
// The same for the time outside of the queue: the word for a starved thread on a machine that has a processor
// for it. A thread that did nothing else would compute. kUnknown if more of that time is not accounted for.
VerdictWord JudgeWithProcessor(const TimeShares& shares);

}  // namespace lagwatch::policies

// SPDX-License-Identifier: Apache-2.0
#include "watchdog/evidence/idle_places.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace lagwatch::watchdog {
namespace {

// The home does not prove that the thread is in a handler.
bool IsDoubtful(const WatchedLoop& loop, const stack::BlockedThread& blocked) {
  return blocked.stack_pointer + loop.home_doubtful_depth.load() > loop.home_frame.load() &&
         loop.home_doubtful_depth.load() != 0;
}

// Equal for sleeps that the same calls led to, each from the same place of its function.
uint64_t PathHash(const stack::Stack& stack, const stack::BlockedThread& blocked) {
  uint64_t hash = base::HashWord(static_cast<uint64_t>(blocked.syscall_number), base::kFnvOffsetBasis);
  if (stack.frame_count == 0) hash = base::HashWord(blocked.stack_pointer, hash);
  for (const stack::Frame& frame : stack.view()) {
    hash = base::HashWord(frame.module, hash);
    hash = base::HashWord(frame.offset, hash);
  }
  return hash;
}

}  // namespace

bool IsSamePlace(const stack::BlockedThread& blocked, const stack::BlockedThread& other) {
  return blocked.syscall_number == other.syscall_number && blocked.stack_pointer == other.stack_pointer &&
         blocked.program_counter == other.program_counter;
}

void IdlePlaces::BeginLoop(uint64_t begun, int64_t now_ns) {
  *this = {};
  first_begun_ = begun;
  first_ns_ = now_ns;
}

IdlePlaces::Answer IdlePlaces::AtWindow(uint64_t number, const base::Thread& thread,
                                        const stack::ThreadFiles* files) {
  if (asleep_.number != number) return Answer::kHang;
  stack::BlockedThread blocked{};
  const stack::ThreadActivity activity = stack::ReadThreadActivity(thread, files, &blocked);
  if (activity != stack::ThreadActivity::kBlocked || !IsSamePlace(blocked, asleep_.blocked))
    return Answer::kHang;
  // It woke up, and sleeps there again, without a wait of its loop in between: a loop of sleeps, unless that
  // is a handler's.
  const int64_t cpu_ns = thread.CpuNs();
  const bool has_run = std::exchange(asleep_.cpu_ns, cpu_ns) != cpu_ns;
  asleep_.is_idle |= has_run && asleep_.where != Where::kInside;
  if (seen_.number == number) seen_.was_idle |= asleep_.is_idle;
  return asleep_.is_idle ? Answer::kIdle : Answer::kUnproven;
}

IdlePlaces::Answer IdlePlaces::AtCheck(uint64_t number, const WatchedLoop& loop, const stack::Stack& stack,
                                       bool is_certain, int64_t now_ns, const base::Process& process,
                                       const stack::ThreadFiles* files) {
  stack::BlockedThread blocked{};
  const base::Thread thread{process, loop.tid.load()};
  const stack::ThreadActivity activity = stack::ReadThreadActivity(thread, files, &blocked);
  if (activity == stack::ThreadActivity::kGone) return Answer::kIdle;  // it waited in its last destructor
  const bool may_idle = activity == stack::ThreadActivity::kBlocked && !is_certain;
  const WaitKind kind = may_idle ? KindOfWait(blocked) : WaitKind::kOther;
  // The time until now may be another loop's, which has waited and run.
  if (loop.has_doubtful_wait.load()) return Rest(number, loop, Where::kInside, kind, blocked, thread.CpuNs());
  if (kind == WaitKind::kOther) return Answer::kHang;
  const Where where = WhereIs(loop, blocked);
  const bool is_shared = loop.is_home_shared.load();
  if (where == Where::kInside && !is_shared && !IsDoubtful(loop, blocked)) return Answer::kHang;
  // From outside, a thread without a home has waited so often before it has a loop.
  const bool is_early = where == Where::kInside ? IsDoubtful(loop, blocked)
                                                : where == Where::kNowhere && process.is_own() &&
                                                      loop.probe.begun() - first_begun_ < kFewWaits;
  const uint64_t path_hash = PathHash(stack, blocked);
  const bool is_loops = (where == Where::kNowhere || is_shared) && IsForPolled(loop, blocked);
  const bool is_idle = is_loops || IsKnown(path_hash, now_ns);
  seen_ = {number, path_hash, is_idle};
  if (!is_idle && !is_early && where != Where::kOutside) return Answer::kHang;
  const Answer answer = Rest(number, loop, where, kind, blocked, thread.CpuNs());
  asleep_.is_idle = is_idle;
  return is_idle ? Answer::kIdle : answer;
}

IdlePlaces::Answer IdlePlaces::Rest(uint64_t number, const WatchedLoop& loop, Where where, WaitKind kind,
                                    const stack::BlockedThread& blocked, int64_t cpu_ns) {
  asleep_ = {.number = number,
             .is_idle = false,
             .where = where,
             .kind = kind,
             .may_hang = !loop.has_doubtful_wait.load() && kind != WaitKind::kOther && !IsForOrders(blocked),
             .home_moves = loop.home_moves.load(),
             .blocked = blocked,
             .cpu_ns = cpu_ns};
  return Answer::kUnproven;
}

void IdlePlaces::EndDispatch(uint64_t number, int64_t duration_ns, bool has_returned) {
  if (seen_.number == number) Learn(seen_.path_hash, duration_ns, seen_.was_idle);
  // The thread above the loop's frame was in a handler after all.
  if (asleep_.number == number && asleep_.where == Where::kOutside && has_returned)
    loop_top_ = std::max<uintptr_t>(loop_top_, asleep_.blocked.stack_pointer + 1);
  seen_ = {};
  asleep_ = {};
}

IdlePlaces::Where IdlePlaces::WhereIs(const WatchedLoop& loop, const stack::BlockedThread& blocked) const {
  const uintptr_t home = loop.home_frame.load();
  if (home == 0) return Where::kNowhere;
  const uintptr_t top = home + kHelperBytes;
  if (blocked.stack_pointer < top || blocked.stack_pointer - top > kDeepestStackBytes) return Where::kInside;
  return blocked.stack_pointer < loop_top_ ? Where::kBeside : Where::kOutside;
}

bool IdlePlaces::IsKnown(uint64_t path_hash, int64_t now_ns) const {
  return std::ranges::any_of(places_, [&](const Place& place) {
    const uint32_t enough = place.was_idle ? 1 : 2;
    return place.path_hash == path_hash && place.dispatches >= enough &&
           place.slept_ns > (now_ns - first_ns_) / 2;
  });
}

void IdlePlaces::Learn(uint64_t path_hash, int64_t slept_ns, bool was_idle) {
  Place* place = std::ranges::find(places_, path_hash, &Place::path_hash);
  if (place == std::end(places_)) {
    place = std::ranges::min_element(places_, {}, &Place::slept_ns);
    *place = {.path_hash = path_hash};
  }
  ++place->dispatches;
  place->slept_ns += slept_ns;
  place->was_idle |= was_idle;
}

size_t CountCommonFrames(const stack::Stack& stack, const stack::Stack& other) {
  const size_t most = std::min(stack.frame_count, other.frame_count);
  size_t count = 0;
  while (count < most) {
    const stack::Frame& frame = stack.frames[stack.frame_count - 1 - count];
    const stack::Frame& others = other.frames[other.frame_count - 1 - count];
    if (frame.module != others.module || frame.offset != others.offset) break;
    ++count;
  }
  return count;
}

}  // namespace lagwatch::watchdog

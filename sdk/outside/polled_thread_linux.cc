// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/system/system_calls.h"
#include "sdk/outside/frozen_sleep.h"
#include "sdk/outside/kernel_waits_slot.h"
#include "sdk/outside/polled_thread.h"
#include "sdk/waits/home_note.h"
#include "stack/threads/processor_clocks.h"
#include "stack/threads/thread_counters.h"
#include "stack/threads/thread_files.h"
#include "watchdog/loops/outside_looks.h"
#include "watchdog/waits/sleeping_call.h"

namespace lagwatch::sdk {
namespace {

using policies::PolledDispatch;
using stack::BlockedThread;
using stack::ThreadActivity;

WaitKey KeyOf(const base::Process& process, const BlockedThread& blocked) {
  const uint64_t first = blocked.arguments[0];
  const auto word = static_cast<int32_t>(first);
  const std::optional<WaitSet> set = watchdog::SetOf(blocked);
  if (!set) return {};
  if (set->is_epoll()) return {LAGWATCH_EPOLL_WAIT, word};
  if (!set->is_poll()) return {LAGWATCH_SELECT_WAIT, word};
  int32_t descriptor = -1;
  if (blocked.arguments[1] != 0) static_cast<void>(process.ReadValue(first, &descriptor));
  return {LAGWATCH_POLL_WAIT, descriptor};
}

// For other threads or their own next piece of work, and not for a mutex of glibc's or Rust's: the values of
// these say that a thread waits.
bool IsParking(const BlockedThread& blocked) {
  const int command = blocked.FutexCommand();
  const auto value = static_cast<uint32_t>(blocked.arguments[2]);
  constexpr uint32_t kLockedWithWaiters = 2;
  return (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && value != kLockedWithWaiters &&
         (value & FUTEX_WAITERS) == 0;
}

ObjectCall PlaceOf(const BlockedThread& blocked, ObjectKind kind, uint64_t object) {
  return {.site = blocked.program_counter, .frame = blocked.stack_pointer, .object = object, .kind = kind};
}

// A wait of a condition, a semaphore or another thread's end. Mutexes wait by FUTEX_WAIT.
std::optional<ObjectCall> FutexCallOf(const base::Process& process, const BlockedThread& blocked) {
  if (blocked.FutexCommand() != FUTEX_WAIT_BITSET) return std::nullopt;
  timespec until{};
  const bool has_limit = blocked.arguments[3] != 0 && process.ReadValue(blocked.arguments[3], &until);
  if (has_limit && IsSoon(until)) return std::nullopt;
  constexpr uint64_t kGroups = 7;  // a condition of glibc's has two words side by side
  return PlaceOf(blocked, ObjectKind::kLock, blocked.arguments[0] & ~kGroups);
}

// The wait that the thread is in, if loops wait so without a set of descriptors.
std::optional<ObjectCall> ObjectCallOf(const base::Process& process, const BlockedThread& blocked) {
  using base::CallAwaits;
  const base::SystemCall& call = blocked.call();
  const auto first = static_cast<uint32_t>(blocked.arguments[0]);
  if (blocked.FutexCommand() >= 0) return FutexCallOf(process, blocked);
  if (call.is_for_orders) {
    const bool is_signal = call.awaits == CallAwaits::kTime;
    return PlaceOf(blocked, ObjectKind::kOrders, is_signal ? 0 : uint64_t{1} << 32 | first);
  }
  if (call.awaits == CallAwaits::kTime) return PlaceOf(blocked, ObjectKind::kFrame, 0);
  if (!call.may_idle) return std::nullopt;
  if (call.awaits == CallAwaits::kRing) return PlaceOf(blocked, ObjectKind::kRing, first);
  if (call.awaits == CallAwaits::kLock) return PlaceOf(blocked, ObjectKind::kLock, blocked.arguments[0]);
  if (call.use == base::DescriptorUse::kReads) return PlaceOf(blocked, ObjectKind::kRead, first);
  return std::nullopt;
}

// A descriptor that is kept open, while there are enough others for all else that this process does: else
// the file is opened for each look.
base::OwnedFd Keep(int file) {
  base::OwnedFd kept(file);
  rlimit limit{};
  const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  constexpr rlim_t kMostKept = 1 << 16;
  if (is_known && static_cast<rlim_t>(file) >= std::min(limit.rlim_cur / 2, kMostKept)) kept.Close();
  return kept;
}

// The same moment in ticks.
uint64_t TicksAt(int64_t mono_ns, const base::TickScale& scale) {
  const base::TickPair now = base::ReadTickPair(base::SystemClock());
  return now.ticks - scale.ToTicks(now.mono_ns - mono_ns);
}

}  // namespace

PolledThread::PolledThread(int32_t tid, bool takes_probable, const KernelWaits* waits, Common* common)
    : thread_{common->process, tid},
      takes_probable_(takes_probable),
      common_(common),
      activity_file_(Keep(stack::OpenThreadFile(thread_, stack::ThreadFile::kActivity))),
      counters_file_(Keep(stack::OpenThreadFile(thread_, stack::ThreadFile::kCounters))),
      home_(common->process),
      objects_(common->process),
      dispatch_(takes_probable),
      waits_(waits, tid) {}

PolledThread::State PolledThread::Poll(const base::TickScale& scale) {
  // Its turns are read before all else: while their number stays, it is where the last look has found it.
  const int64_t turns = ReadTurns();
  const bool is_continuous = activity_ == ThreadActivity::kBlocked && turns == turns_ && turns >= 0;
  has_run_ = !is_continuous;
  if (has_run_) activity_ = stack::ReadThreadActivity(thread_, activity_file_.get(), &blocked_);
  turns_ = turns;
  if (activity_ == ThreadActivity::kGone) return State::kGone;
  if (activity_ == ThreadActivity::kHidden) return State::kHidden;
  const bool is_home_wait = NoteWait(is_continuous);
  is_parked_ = !is_home_wait && IsParked(is_continuous);
  const bool has_waited = home_call_.return_address != 0;
  NoteSleep(has_waited, is_continuous);
  const bool is_at_home = is_home_wait || is_parked_ || (!has_waited && !is_frozen_);
  if (is_at_home) is_stopped_ = false;
  if (!is_at_home && !is_continuous) is_stopped_ = IsStopped();
  NoteAway(!is_at_home && !is_stopped_, is_continuous);
  if (loop_ == nullptr) return State::kAlive;
  if (is_home_wait) NoteHomePlace();
  if (IsRecordedByKernel() && scale.is_known()) {
    FollowKernel(scale);
    returns_.Disarm();
    returns_.Rest();
    return State::kAlive;
  }
  FollowLooks(is_at_home || is_stopped_, is_continuous);
  return State::kAlive;
}

void PolledThread::NoteSleep(bool has_waited, bool is_continuous) {
  is_first_sleep_ = !std::exchange(has_looked_, true) || (is_first_sleep_ && is_continuous);
  const bool was_judged = std::exchange(is_sleep_judged_, is_continuous && !has_waited);
  if (!is_sleep_judged_) {
    if (std::exchange(is_frozen_, false) && watchdog::found_frozen_tid.load() == tid())
      watchdog::found_frozen_tid.store(0);
  } else if (!was_judged) {  // once a sleep: most threads sleep for long
    is_frozen_ = SleepsWhereNoneIdles(thread_, blocked_, is_first_sleep_);
  }
}

void PolledThread::FollowLooks(bool is_at_home, bool is_continuous) {
  PolledDispatch::Moment moment{.is_at_home = is_at_home, .is_continuous = is_continuous};
  if (!is_at_home && !is_continuous) {
    const Pauses pauses = ReadPauses();
    moment.has_paused = pauses != pauses_ || pauses.io_calls < 0;
    moment.returns = returns_.Read();
    pauses_ = pauses;
  }
  moment.has_unanswered_ping = HasUnansweredWindow();
  PolledDispatch::Action action = dispatch_.Observe(moment);
  const bool begins =
      action == PolledDispatch::Action::kBegin || action == PolledDispatch::Action::kBeginAgain;
  if (begins && !is_continuous && IsBackAfterArming()) {
    is_at_home = true;
    action = dispatch_.Observe({.is_at_home = true});
  }
  Apply(action);
  const bool goes_on = action == PolledDispatch::Action::kNone;
  if (!is_at_home) sure_looks_ = goes_on ? sure_looks_ + 1 : 1;
  AskWindow(action, moment);
  // If it cannot be armed, the next moment is without returns.
  if (!dispatch_.wants_returns()) {
    if (action != PolledDispatch::Action::kNone) returns_.Disarm();
    returns_.Rest();
  } else if (!returns_.is_armed() && home_call_.return_address != 0) {
    returns_.Arm(home_call_);
  }
}

// A dispatch that is found begins with a look after the counter was set. Between a look and that, the watcher
// may lose its processor: the thread could come back and go away again, and two dispatches would be one.
bool PolledThread::IsBackAfterArming() {
  returns_.Disarm();
  if (home_call_.return_address != 0) returns_.Arm(home_call_);
  const int64_t turns = ReadTurns();
  if (turns == turns_ && turns >= 0 && activity_ == ThreadActivity::kBlocked) return false;
  turns_ = turns;
  activity_ = stack::ReadThreadActivity(thread_, activity_file_.get(), &blocked_);
  return NoteWait(/*is_continuous=*/false);
}

int64_t PolledThread::ReadTurns() const {
  if (counters_file_) return stack::ReadTurns(counters_file_.get());
  return stack::ReadTurns(base::OwnedFd(stack::OpenThreadFile(thread_, stack::ThreadFile::kCounters)).get());
}

bool PolledThread::IsParked(bool is_continuous) const {
  if (is_continuous && is_parked_) return true;
  return home_epoll_ >= 0 && activity_ == ThreadActivity::kBlocked && IsParking(blocked_) &&
         common_->waits.HasOther(tid(), home_epoll_);
}

void PolledThread::NoteAway(bool is_away, bool is_continuous) {
  if (!is_away) {
    away_looks_ = sure_looks_ = 0;
    away_since_ns_ = 0;
    return;
  }
  const bool is_first = away_looks_++ == 0;
  if (is_first || !is_continuous)
    away_since_ns_ = base::SystemClock().MonoNs() -
                     (is_frozen_ ? stack::ProcessorClocks().AsleepNs(thread_).value_or(0) : 0);
  if (loop_ != nullptr) return;  // FollowLooks() knows better
  bool is_sure = is_continuous;
  if (!is_continuous) {
    const Pauses pauses = ReadPauses();
    is_sure = away_looks_ > 1 && pauses.voluntary_switches == pauses_.voluntary_switches;
    pauses_ = pauses;
  }
  sure_looks_ = is_sure ? sure_looks_ + 1 : 1;
}

bool PolledThread::MayHang() const {
  constexpr uint32_t kSure = 2;
  constexpr uint32_t kDoubtful = 5;  // it has slept in between, perhaps in its loop's wait
  return sure_looks_ >= kSure || away_looks_ >= kDoubtful;
}

bool PolledThread::NoteWait(bool is_continuous) {
  if (is_continuous) return is_home_wait_;
  const auto now_ms = static_cast<uint32_t>(base::SystemClock().MonoNs() / base::kNsPerMs);
  EndWait(now_ms);
  is_in_wait_ = is_home_wait_ = false;
  object_call_.reset();
  const bool is_own_wait =
      activity_ == ThreadActivity::kBlocked && !common_->go.Holds(blocked_.program_counter);
  std::optional<WaitSet> set;
  if (is_own_wait) set = watchdog::SetOf(blocked_);
  common_->waits.Set(tid(), set && set->is_epoll() ? set->epoll() : -1);
  if (set) {
    is_home_wait_ = NotePolledWait(*set, now_ms);
  } else if (is_own_wait && (objects_.has_home() || home_.home_frame() == 0)) {
    object_call_ = ObjectCallOf(thread_.process, blocked_);
    if (object_call_) is_home_wait_ = NoteObjectWait(*object_call_, now_ms);
  }
  if (is_home_wait_) {
    home_call_ = {tid(), static_cast<uint64_t>(blocked_.syscall_number), blocked_.program_counter};
    home_epoll_ = set && set->is_epoll() ? set->epoll() : -1;
  }
  return is_home_wait_;
}

void PolledThread::EndWait(uint32_t now_ms) {
  // Its memory is another process's, which is copied in any case.
  if (is_in_wait_) home_.GoesOn(/*succeeded=*/false);
  const bool had_home = objects_.has_home();
  if (object_call_) {
    objects_.End(*object_call_, now_ms);
  } else if (is_in_wait_ && had_home) {
    objects_.EndPolled(now_ms);
  }
  if (loop_ == nullptr) return;
  if (had_home) NoteForeignWait(home_, objects_, loop_);
  if (had_home != objects_.has_home()) NoteMoves(home_, objects_, loop_);
}

bool PolledThread::NotePolledWait(const WaitSet& set, uint32_t now_ms) {
  is_in_wait_ = true;
  const bool serves =
      home_.Serves({.set = set, .site = blocked_.program_counter, .frame = blocked_.stack_pointer});
  if (objects_.has_home())
    return objects_.BeginPolled(home_.IsLikelyLoops(), now_ms) == ObjectHome::Use::kLoops;
  if (!serves && loop_ != nullptr) NoteForeignWait(home_, objects_, loop_);
  return serves;
}

bool PolledThread::NoteObjectWait(const ObjectCall& call, uint32_t now_ms) {
  const bool is_loops = objects_.Begin(call, now_ms) == ObjectHome::Use::kLoops;
  if (is_loops && loop_ != nullptr) NoteMoves(home_, objects_, loop_);
  return is_loops;
}

void PolledThread::SetLoop(watchdog::WatchedLoop* loop, const base::TickScale& scale) {
  Apply(PolledDispatch::Action::kEnd);
  loop_ = loop;
  home_looks_ = 0;
  is_recorded_under_way_ = false;
  dispatch_ = PolledDispatch(takes_probable_);
  if (loop == nullptr) return;
  loop->is_inferred.store(true);
  if (is_frozen_) watchdog::found_frozen_tid.store(tid());
  if (away_since_ns_ == 0 || !scale.is_known()) return;
  dispatch_.Observe({});
  NoteHome(home_, objects_, loop_);
  // The next look proves a sleep. Other dispatches are known from now on, if returns are counted.
  const bool sleeps = activity_ == ThreadActivity::kBlocked;
  if (!sleeps && home_call_.return_address != 0) returns_.Arm(home_call_);
  pauses_ = ReadPauses();
  loop->probe.BeginAt("", TicksAt(sleeps ? away_since_ns_ : base::SystemClock().MonoNs(), scale));
}

void PolledThread::Apply(PolledDispatch::Action action) {
  using Action = PolledDispatch::Action;
  if (loop_ == nullptr || action == Action::kNone) return;
  watchdog::LoopProbe& probe = loop_->probe;
  if (action != Action::kBegin && probe.number_under_way() != 0) probe.End();
  if (action == Action::kEnd) return;
  NoteHome(home_, objects_, loop_);
  probe.Begin("");
}

void PolledThread::NoteHomePlace() {
  if (objects_.has_home()) {  // the kernel's programs know only polls
    home_looks_ = 0;
    return;
  }
  const WaitKey key = KeyOf(thread_.process, blocked_);
  if (key != recorded_home_) {
    recorded_home_ = key;
    waits_.SetHome(key);
    home_looks_ = 0;
    is_recorded_under_way_ = false;
  }
  if (home_looks_ == kSureLooks) return;
  Apply(dispatch_.Observe({.is_at_home = true}));
  if (++home_looks_ == kSureLooks) waits_.SkipLong();  // the looks have judged them
}

void PolledThread::AskWindow(PolledDispatch::Action action, const PolledDispatch::Moment& moment) {
  constexpr uint32_t kSuspiciousLooks = 5;
  if (windows_ == nullptr && unanswered_ == nullptr) return;
  const bool is_doubtful = action == PolledDispatch::Action::kBeginAgain && !moment.returns;
  if (action != PolledDispatch::Action::kNone) doubtful_looks_ = is_doubtful ? doubtful_looks_ + 1 : 0;
  if (windows_ != nullptr && doubtful_looks_ >= kSuspiciousLooks) windows_->Ask(base::SystemClock().MonoNs());
  if (action != PolledDispatch::Action::kNone) watchdog::window_is_unanswered.store(false);
  if (action == PolledDispatch::Action::kNone && moment.has_unanswered_ping && !moment.returns &&
      !moment.is_continuous)
    watchdog::window_is_unanswered.store(true);
}

bool PolledThread::HasUnansweredWindow() const {
  return (windows_ != nullptr && windows_->IsUnanswered()) ||
         (unanswered_ != nullptr && unanswered_->Has(thread_.process.pid()));
}

bool PolledThread::IsStopped() const {
  const char state = stack::ReadThreadStateLetter(thread_);
  if (state == 'T' || state == 't') return true;
  if (state != 'S' && state != 'D') return false;
  // By a freezer of control groups: "docker pause", systemctl freeze.
  char channel[64];
  stack::ReadWaitChannel(thread_, channel, sizeof channel);
  const std::string_view function = stack::FunctionOfChannel(channel);
  return function == "get_signal" || function == "do_freezer_trap" || function == "__refrigerator";
}

void PolledThread::FollowKernel(const base::TickScale& scale) {
  watchdog::LoopProbe& probe = loop_->probe;
  const ThreadWaits::Turn turn = waits_.Read();
  const auto begin = [&](int64_t begin_ns) {
    NoteHome(home_, objects_, loop_);
    recorded_begin_ns_ = begin_ns;
    probe.BeginAt("", TicksAt(begin_ns, scale));
  };
  int64_t begin_ns = 0;
  for (int64_t end_ns = 0; waits_.TakeLong(&begin_ns, &end_ns);) {
    if (begin_ns > recorded_begin_ns_) {
      probe.End();  // of one whose end was lost
      begin(begin_ns);
    } else if (!is_recorded_under_way_) {
      continue;  // it was stopped
    }
    probe.EndAt(TicksAt(end_ns, scale));
    is_recorded_under_way_ = false;
  }
  if (turn.is_home && is_recorded_under_way_) {  // it was stopped, and its wait goes on
    probe.EndAt(TicksAt(turn.since_ns, scale));
    is_recorded_under_way_ = false;
  }
  const bool is_known = turn.since_ns <= recorded_begin_ns_;
  if (turn.is_home || (is_known && !is_recorded_under_way_)) return;
  if (base::SystemClock().MonoNs() - turn.since_ns < ThreadWaits::kLongNs) return;
  if (IsStopped()) {  // the time is not its own doing
    probe.End();
    recorded_begin_ns_ = turn.since_ns;
    is_recorded_under_way_ = false;
  } else if (!is_known) {
    probe.End();
    begin(turn.since_ns);
    is_recorded_under_way_ = true;
  }
}

std::string PolledThread::Name() const {
  char name[watchdog::WatchedLoop::kMaxNameBytes];
  stack::ReadThreadName(thread_, name, sizeof name);
  return name;
}

PolledThread::Pauses PolledThread::ReadPauses() const {
  Pauses pauses;
  stack::SchedulerCounters scheduler;
  if (stack::ReadSchedulerCounters(thread_, &scheduler))
    pauses.voluntary_switches = scheduler.voluntary_switches;
  pauses.io_calls = stack::ReadIoCalls(thread_);
  return pauses;
}

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <string_view>

#include "base/process/proc_file.h"
#include "sdk/outside/polled_thread.h"

namespace lagwatch::sdk {
namespace {

using policies::PolledDispatch;
using stack::BlockedThread;
using stack::ThreadActivity;

base::OwnedFd OpenTaskFile(int32_t tid, const char* leaf) {
  return base::OwnedFd(open(base::TaskPath(tid, leaf).c_str(), O_RDONLY | O_CLOEXEC));
}

// The descriptors that the call waits for; none if it is another call.
std::optional<WaitSet> SetOf(const BlockedThread& blocked) {
  const uint64_t* arguments = blocked.arguments;
  switch (blocked.syscall_number) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return WaitSet::Epoll(static_cast<int>(arguments[0]));
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
      return WaitSet::Poll(reinterpret_cast<pollfd*>(arguments[0]), arguments[1]);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6: {
      const auto set = [&](size_t i) { return reinterpret_cast<const fd_set*>(arguments[i]); };
      return WaitSet::Select(static_cast<int>(arguments[0]), set(1), set(2), set(3));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

PolledThread::PolledThread(int32_t tid, const PollOptions& options)
    : tid_(tid),
      options_(options),
      activity_file_(OpenTaskFile(tid, "syscall")),
      slices_file_(OpenTaskFile(tid, "schedstat")),
      dispatch_(options.takes_probable) {}

PolledThread::State PolledThread::Poll() {
  BlockedThread blocked{};
  const ThreadActivity activity = stack::ReadThreadActivity(tid_, activity_file_.get(), &blocked);
  if (activity == ThreadActivity::kGone) return State::kGone;
  if (activity == ThreadActivity::kHidden) return State::kHidden;
  const uint64_t slices = ReadSlices();
  const bool is_continuous = IsContinuous(activity, blocked, slices);
  const bool is_home_wait = NoteWait(activity, blocked, is_continuous);
  activity_ = activity;
  blocked_ = blocked;
  slices_ = slices;
  if (loop_ == nullptr) return State::kAlive;

  PolledDispatch::Moment moment{.is_at_home = is_home_wait, .is_continuous = is_continuous};
  if (!is_home_wait && !is_continuous) {
    const Counters counters = ReadCounters();
    moment.has_paused = counters != counters_ || counters.io_calls < 0;
    moment.returns = returns_.Read();
    counters_ = counters;
  }
  moment.is_at_home |= !is_home_wait && counters_.is_stopped;
  const PolledDispatch::Action action = dispatch_.Observe(moment);
  Apply(action);
  if (action != PolledDispatch::Action::kNone) returns_.Disarm();
  const bool is_to_be_armed = dispatch_.wants_returns() && !returns_.is_armed() && options_.counts_returns;
  if (is_to_be_armed && home_return_ != 0 && !returns_.Arm(tid_, home_return_))
    options_.counts_returns = false;
  return State::kAlive;
}

bool PolledThread::IsContinuous(ThreadActivity activity, const BlockedThread& blocked,
                                uint64_t slices) const {
  return activity == ThreadActivity::kBlocked && activity_ == ThreadActivity::kBlocked &&
         blocked == blocked_ && slices == slices_;
}

bool PolledThread::NoteWait(ThreadActivity activity, const BlockedThread& blocked, bool is_continuous) {
  if (is_continuous && is_in_wait_) return is_home_wait_;
  // Its memory is another process's, which is copied in any case.
  if (is_in_wait_) home_.GoesOn(/*succeeded=*/false);
  is_in_wait_ = is_home_wait_ = false;
  if (activity != ThreadActivity::kBlocked) return false;
  const std::optional<WaitSet> set = SetOf(blocked);
  if (!set) return false;
  is_in_wait_ = true;
  is_home_wait_ =
      home_.Serves({.set = *set, .site = blocked.program_counter, .frame = blocked.stack_pointer});
  if (is_home_wait_) home_return_ = blocked.program_counter;
  return is_home_wait_;
}

void PolledThread::SetLoop(watchdog::WatchedLoop* loop) {
  Apply(PolledDispatch::Action::kEnd);
  loop_ = loop;
  dispatch_ = PolledDispatch(options_.takes_probable);
  if (loop != nullptr) loop->is_inferred.store(true);
}

void PolledThread::Apply(PolledDispatch::Action action) {
  using Action = PolledDispatch::Action;
  if (loop_ == nullptr || action == Action::kNone) return;
  watchdog::LoopProbe& probe = loop_->probe;
  if (action != Action::kBegin && probe.number_under_way() != 0) probe.End();
  if (action == Action::kEnd) return;
  loop_->home_frame.store(home_.home_frame(), std::memory_order_relaxed);  // published by the dispatch
  loop_->polled_descriptor.store(home_.only_descriptor(), std::memory_order_relaxed);
  probe.Begin("");
}

std::string PolledThread::Name() const {
  char name[watchdog::WatchedLoop::kMaxNameBytes];
  stack::ReadThreadName(tid_, name, sizeof name);
  return name;
}

uint64_t PolledThread::ReadSlices() const {
  char buffer[128];
  const ssize_t size = pread(slices_file_.get(), buffer, sizeof buffer, 0);
  std::string_view text(buffer, size < 0 ? 0 : static_cast<size_t>(size));
  uint64_t value = 0;
  for (int field = 0; field < 3; ++field) {  // time on a processor, time in the queue, slices
    if (!base::ConsumeDecimal(&text, &value)) return 0;
  }
  return value;
}

PolledThread::Counters PolledThread::ReadCounters() const {
  char buffer[4096];
  Counters counters;
  std::string_view text = base::ReadSmallFile(base::TaskPath(tid_, "status").c_str(), buffer, sizeof buffer);
  constexpr std::string_view kState = "\nState:\t";
  const size_t state = text.find(kState);
  if (state != std::string_view::npos && state + kState.size() < text.size()) {
    const char letter = text[state + kState.size()];
    counters.is_stopped = letter == 'T' || letter == 't';
  }
  if (const auto switches = base::NumberInLine(text, "voluntary_ctxt_switches:"))
    counters.voluntary_switches = static_cast<int64_t>(*switches);
  text = base::ReadSmallFile(base::TaskPath(tid_, "io").c_str(), buffer, sizeof buffer);
  const auto reads = base::NumberInLine(text, "syscr:");
  const auto writes = base::NumberInLine(text, "syscw:");
  if (reads && writes) counters.io_calls = static_cast<int64_t>(*reads + *writes);
  return counters;
}

}  // namespace lagwatch::sdk

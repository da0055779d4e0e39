// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/safe_memory.h"
#include "stack/stack_capturer.h"
#include "stack/thread_block_layout.h"

// glibc's own sigaction: sanitizers and preloaded libraries that wrap the public name delay handlers or
// record them as the application's.
extern "C" int __sigaction(int signal_number, const struct sigaction* action,
                           struct sigaction* previous) noexcept;

namespace lagwatch::stack {
namespace {

// A thread that has used so much CPU time runs in the program: it is not just leaving a system call.
constexpr int64_t kProgressNs = 5'000;

// On pages of its own, touched as far as stacks usually are, so that the handler takes no page fault; the
// rest costs nothing until a stack is that deep. Null when there is no memory.
CaptureSlot* CreateSlot() {
  void* pages =
      mmap(nullptr, sizeof(CaptureSlot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  madvise(pages, sizeof(CaptureSlot), MADV_NOHUGEPAGE);  // a huge page would make all of it resident at once
  auto* slot = new (pages) CaptureSlot;
  std::memset(slot->stack.bytes, 0, kUsualRawStackBytes);
  return slot;
}

// Never freed, because a signal may arrive late; shared by a process's capturers, of which there is one at a
// time.
CaptureSlot* SharedSlot() {
  static CaptureSlot* slot = CreateSlot();
  return slot;
}

bool HasHandler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == HandleCaptureSignal;
}

// The application's own signals are to work as before.
struct sigaction ActionOnTopOf(const struct sigaction& previous) {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_sigaction = HandleCaptureSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  if (HasHandler(previous)) {
    action.sa_flags = SA_SIGINFO | (previous.sa_flags & (SA_RESTART | SA_ONSTACK | SA_NODEFER));
    action.sa_mask = previous.sa_mask;
  }
  return action;
}

bool IsUnused(int signal_number) {
  struct sigaction current {};
  return __sigaction(signal_number, nullptr, &current) == 0 && !HasHandler(current) &&
         current.sa_handler == SIG_DFL;
}

// From the upper end, because applications take SIGRTMIN and up.
int ChooseUnusedSignal() {
  for (int candidate = SIGRTMAX - 1; candidate >= SIGRTMIN; --candidate) {
    if (IsUnused(candidate)) return candidate;
  }
  return 0;
}

// What the signal had before, once ours was put on top of it; null when it never was.
PreviousAction* FindPrevious(CaptureSlot* slot, int signal_number) {
  uint32_t count = slot->previous_count.load(std::memory_order_relaxed);  // one thread at a time writes it
  for (uint32_t i = 0; i < count; ++i) {
    if (slot->previous[i].signal_number == signal_number) return &slot->previous[i];
  }
  return nullptr;
}

// Puts our handler on top of `previous`. False when that cannot be, or must not: a handler that is itself on
// top of an earlier one of ours may call that, and they would call each other for ever. Ours itself may be
// there, put back by somebody who had taken the signal meanwhile: then what was below it still is.
bool InstallHandler(CaptureSlot* slot, int signal_number, const struct sigaction& found) {
  PreviousAction* entry = FindPrevious(slot, signal_number);
  if (IsOurs(found) && entry == nullptr) return false;
  const struct sigaction previous = IsOurs(found) ? entry->action : found;
  if (entry != nullptr && !entry->is_given_back && !IsOurs(found) && HasHandler(previous)) return false;
  uint32_t count = slot->previous_count.load(std::memory_order_relaxed);  // one thread at a time writes it
  if (entry == nullptr && count == CaptureSlot::kMaxSignals) return false;
  if (entry == nullptr) entry = &slot->previous[count++];
  entry->signal_number = signal_number;
  entry->is_given_back = false;
  entry->action = previous;
  slot->previous_count.store(count, std::memory_order_release);  // pairs with the handler
  const struct sigaction action = ActionOnTopOf(previous);
  struct sigaction replaced {};
  if (__sigaction(signal_number, &action, &replaced) != 0) return false;
  if (replaced.sa_handler == found.sa_handler) return true;
  __sigaction(signal_number, &replaced, nullptr);  // somebody took it just now
  entry->is_given_back = true;
  return false;
}

bool RestartsCalls(CaptureSlot* slot, int signal_number) {
  const PreviousAction* previous = FindPrevious(slot, signal_number);
  return previous != nullptr && (ActionOnTopOf(previous->action).sa_flags & SA_RESTART) != 0;
}

bool IsStillTheSame(const RawStack& raw) {
  uint8_t now[4096];
  for (size_t at = 0; at < raw.size_bytes;) {
    const size_t size = std::min<size_t>(raw.size_bytes - at, sizeof now);
    if (base::ReadOwnMemory(raw.address + at, now, size) != size) return false;
    if (std::memcmp(raw.bytes + at, now, size) != 0) return false;
    at += size;
  }
  return true;
}

}  // namespace

base::Result<std::unique_ptr<StackCapturer>> StackCapturer::Create(const CaptureOptions& options,
                                                                   std::unique_ptr<Unwinder> unwinder) {
  int signal_number = options.signal_number != 0 ? options.signal_number : ChooseUnusedSignal();
  if (signal_number == 0) {
    return base::Status(base::StatusCode::kUnavailable, "every real-time signal already has a handler");
  }
  CaptureSlot* slot = SharedSlot();
  if (slot == nullptr) return base::Status(base::StatusCode::kUnavailable, "no memory for captured stacks");
  struct sigaction previous {};
  if (__sigaction(signal_number, nullptr, &previous) != 0) {
    return base::Status(base::StatusCode::kInvalid,
                        "there is no signal " + std::to_string(signal_number) + " to capture with");
  }
  if (slot->is_taken.exchange(true))
    return base::Status(base::StatusCode::kUnavailable, "there is a capturer already");
  slot->thread_block = FindThreadBlockLayout();
  g_capture_slot.store(slot);
  if (!InstallHandler(slot, signal_number, previous)) {
    slot->is_taken = false;
    return base::Status(
        base::StatusCode::kUnavailable,
        "cannot install the handler of signal " + std::to_string(signal_number) + " to capture with");
  }
  return std::unique_ptr<StackCapturer>(new StackCapturer(options, std::move(unwinder), signal_number));
}

StackCapturer::StackCapturer(const CaptureOptions& options, std::unique_ptr<Unwinder> unwinder,
                             int signal_number)
    : signal_timeout_ns_(options.signal_timeout_ns),
      unwinder_(std::move(unwinder)),
      signal_number_(signal_number),
      restarts_calls_(RestartsCalls(SharedSlot(), signal_number)),
      // Goes on where an earlier capturer of this process left off, so that no ticket is used twice.
      ticket_(CaptureSlot::TicketOf(SharedSlot()->request.load())),
      blocked_stack_(new RawStack) {}

StackCapturer::~StackCapturer() {
  ReleaseSignals();
  SharedSlot()->is_taken = false;
}

void StackCapturer::AbandonAllInForkedChild() {
  CaptureSlot* slot = g_capture_slot.load();
  if (slot == nullptr) return;
  ReleaseSignals();
  // The parent may have been in the middle of a capture.
  slot->request.store(CaptureSlot::Request(CaptureSlot::TicketOf(slot->request.load()), CaptureSlot::kIdle));
  slot->is_taken = false;
}

void StackCapturer::ReleaseSignals() {
  CaptureSlot* slot = SharedSlot();
  uint32_t count = slot->previous_count.load(std::memory_order_relaxed);  // one thread at a time writes it
  for (uint32_t i = 0; i < count; ++i) {
    PreviousAction& previous = slot->previous[i];
    struct sigaction current {};
    if (__sigaction(previous.signal_number, nullptr, &current) != 0 || !IsOurs(current)) continue;
    // Ignoring a signal discards those under way to any thread (POSIX, sigaction); only then is the default
    // safe, which would end the process, or a handler that does not expect ours.
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    __sigaction(previous.signal_number, &ignore, nullptr);
    __sigaction(previous.signal_number, &previous.action, nullptr);
    previous.is_given_back = true;
  }
}

void StackCapturer::KeepSignal() {
  if (OwnsSignal()) {
    is_lost_ = false;
    return;
  }
  counters_.handler_lost.Add(!std::exchange(is_lost_, true));
  const int other = ChooseUnusedSignal();
  struct sigaction previous {};
  if (other == 0 || __sigaction(other, nullptr, &previous) != 0) return;
  if (!InstallHandler(SharedSlot(), other, previous)) return;
  signal_number_ = other;
  restarts_calls_ = RestartsCalls(SharedSlot(), other);
  answered_tid_ = 0;
  is_lost_ = false;
  counters_.handler_moved.Add();
}

void StackCapturer::RefreshModules() {
  CaptureSlot* slot = SharedSlot();
  if (IsHandlerCopying()) return;  // it may be looking at the regions
  modules_read_ns_ = base::SystemClock().MonoNs();
  has_met_unknown_code_ = false;
  if (modules_.Refresh()) unwinder_->OnModulesChanged();
  static_assert(CaptureSlot::kMaxRegions >= ModuleMap::kMaxRanges);
  slot->stacks = modules_.stacks();
  std::copy_n(slot->stacks.regions, slot->stacks.count, slot->regions);
  slot->stacks.regions = slot->regions;  // a copy, because a late handler may outlive the capturer
}

void StackCapturer::RefreshModulesIfDue() {
  constexpr int64_t kShortestAgeNs = 1 * base::kNsPerSecond;  // code that a program generates is never known
  constexpr int64_t kLongestAgeNs = 10 * base::kNsPerSecond;
  const int64_t age_ns = base::SystemClock().MonoNs() - modules_read_ns_;
  if (age_ns >= kLongestAgeNs || (has_met_unknown_code_ && age_ns >= kShortestAgeNs)) RefreshModules();
}

void StackCapturer::Capture(int tid, Stack* stack, int64_t cpu_ns) {
  counters_.captures.Add();
  stack->Clear();
  // A thread that goes to sleep and wakes all the time is looked at again, rather than signalled: the signal
  // might reach it in its next sleep.
  constexpr int kTries = 8;
  constexpr int64_t kPauseNs = 20'000;
  bool was_asleep = false;
  for (int i = 0; i < kTries && !TryCapture(tid, cpu_ns, &was_asleep, stack); ++i) {
    cpu_ns = kUnread;
    Pause(kPauseNs);
  }
  counters_.incomplete_stacks.Add(stack->completeness >= Completeness::kIncomplete);
  const std::span<const Frame> frames(stack->frames, stack->frame_count);
  has_met_unknown_code_ |=
      std::ranges::any_of(frames, [](const Frame& frame) { return frame.module == kNoModule; });
}

bool StackCapturer::TryCapture(int tid, int64_t cpu_ns, bool* was_asleep, Stack* stack) {
  if (cpu_ns == kUnread) {
    BlockedThread blocked;
    ThreadActivity activity = ReadThreadActivity(tid, &blocked);
    if (activity == ThreadActivity::kGone) return true;
    if (activity == ThreadActivity::kRunning && *was_asleep) return false;
    if (activity == ThreadActivity::kBlocked) {
      *was_asleep = true;
      if (!TryReadBlocked(tid, blocked)) return false;
      unwinder_->Unwind(*blocked_stack_, modules_, stack);
      if (stack->completeness != Completeness::kIncomplete || !MayInterrupt(blocked)) return true;
      counters_.sleepers_signalled.Add();
    }
  }
  switch (TrySignal(tid, cpu_ns)) {
    case SignalOutcome::kAsleep:
      *was_asleep = true;
      return false;
    case SignalOutcome::kNoAnswer:
      return true;
    case SignalOutcome::kAnswered:
      break;
  }
  unwinder_->Unwind(SharedSlot()->stack, modules_, stack);
  SharedSlot()->request.store(CaptureSlot::Request(ticket_, CaptureSlot::kIdle));
  return true;
}

bool StackCapturer::TryReadBlocked(int tid, const BlockedThread& blocked) {
  RawStack& raw = *blocked_stack_;
  raw.registers.known_mask = uint64_t{1} << Registers::kStackPointer | uint64_t{1}
                                                                           << Registers::kProgramCounter;
  raw.registers.value[Registers::kStackPointer] = blocked.stack_pointer;
  raw.registers.value[Registers::kProgramCounter] = blocked.program_counter;
  MemoryRegion live = modules_.stacks().LiveStack(blocked.stack_pointer);
  raw.address = live.begin;
  raw.end = live.end;
  const int64_t cpu_ns = base::ThreadCpuNs(tid);
  raw.size_bytes = base::ReadOwnMemory(raw.address, raw.bytes,
                                       std::min<uint64_t>(raw.end - raw.address, kMaxRawStackBytes));
  // Nothing moved while the stack was read, if the thread is in the same call and has not run, or has left
  // its stack as it was. The call alone does not tell: a loop may be back in it by now, or fault at the same
  // place.
  BlockedThread after;
  return raw.size_bytes != 0 && (base::ThreadCpuNs(tid) == cpu_ns || IsStillTheSame(raw)) &&
         ReadThreadActivity(tid, &after) == ThreadActivity::kBlocked && after == blocked;
}

StackCapturer::SignalOutcome StackCapturer::TrySignal(int tid, int64_t cpu_ns) {
  CaptureSlot* slot = SharedSlot();
  const bool runs_on = cpu_ns != kUnread;
  if (!runs_on) cpu_ns = base::ThreadCpuNs(tid);
  if (IsHandlerCopying()) {  // an earlier one, which was put off in the middle
    counters_.signal_timeouts.Add();
    return SignalOutcome::kNoAnswer;
  }
  bool has_answered = std::exchange(answered_tid_, 0) == tid;
  if (!has_answered && IsSignalBlocked(tid, signal_number_)) {
    counters_.signals_withheld.Add();
    return SignalOutcome::kNoAnswer;
  }
  siginfo_t info;
  std::memset(&info, 0, sizeof info);
  info.si_signo = signal_number_;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = CaptureSlot::SignalValue(++ticket_);
  slot->process_id = info.si_pid;
  if (!AwaitProgress(tid, &cpu_ns)) {
    counters_.signals_withheld.Add();
    return SignalOutcome::kNoAnswer;
  }
  // The last questions before the signal: the thread may have gone to sleep where a signal would be noticed,
  // or may have taken the handler just now. The CPU clock of one that is on a processor goes on from one
  // reading to the next, which is sooner told, and for less, than by /proc; but that also knows who is about
  // to sleep.
  const bool still_runs_on = runs_on && base::ThreadCpuNs(tid) > cpu_ns;
  if (!still_runs_on && !MayBeInterrupted(tid)) return SignalOutcome::kAsleep;
  if (!OwnsSignal()) {
    counters_.signals_withheld.Add();
    return SignalOutcome::kNoAnswer;
  }
  slot->request.store(CaptureSlot::Request(ticket_, CaptureSlot::kRequested));
  if (syscall(SYS_rt_tgsigqueueinfo, info.si_pid, tid, signal_number_, &info) != 0) {
    slot->request.store(CaptureSlot::Request(ticket_, CaptureSlot::kIdle));
    return SignalOutcome::kNoAnswer;
  }
  counters_.signals_sent.Add();
  if (AwaitAnswer()) {
    counters_.pause_ticks.Add(slot->pause_ticks);
    answered_tid_ = tid;
    return SignalOutcome::kAnswered;
  }
  counters_.signal_timeouts.Add();
  return SignalOutcome::kNoAnswer;
}

bool StackCapturer::AwaitProgress(int tid, int64_t* cpu_ns) {
  constexpr int64_t kSpinNs = 50'000;
  constexpr int64_t kPauseNs = 200'000;
  const int64_t begin_ns = base::SystemClock().MonoNs();
  const int64_t first_cpu_ns = *cpu_ns;
  for (;;) {
    *cpu_ns = base::ThreadCpuNs(tid);
    if (*cpu_ns < 0) return false;
    const int64_t progress_ns = *cpu_ns - first_cpu_ns;
    if (progress_ns >= kProgressNs) return true;
    const int64_t now_ns = base::SystemClock().MonoNs();
    const int64_t waited_ns = now_ns - begin_ns;
    if (waited_ns >= signal_timeout_ns_) return false;
    BlockedThread blocked;
    if (waited_ns < kSpinNs) {
      // Another thread's clock is dear to read.
      while (base::SystemClock().MonoNs() - now_ns < kProgressNs - progress_ns) {
      }
      continue;
    }
    if (ReadThreadActivity(tid, &blocked) != ThreadActivity::kRunning) return true;
    Pause(kPauseNs);
  }
}

bool StackCapturer::AwaitAnswer() {
  CaptureSlot* slot = SharedSlot();
  const uint64_t done = CaptureSlot::Request(ticket_, CaptureSlot::kDone);
  // Polled, so that the handler needs no system call to wake us; at first without a pause, because waking up
  // from one might take the very processor that the thread runs on. The pauses grow as the answer gets less
  // likely.
  constexpr int64_t kSpinNs = 30'000;
  const int64_t spin_end_ns = base::SystemClock().MonoNs() + kSpinNs;
  while (base::SystemClock().MonoNs() < spin_end_ns) {
    if (slot->request.load(std::memory_order_acquire) == done) return true;  // pairs with the handler
  }
  constexpr int64_t kFirstPauseNs = 10'000;
  constexpr int64_t kLongestPauseNs = 1'000'000;
  int64_t waited_ns = 0;
  for (int64_t pause_ns = kFirstPauseNs; waited_ns < signal_timeout_ns_; waited_ns += pause_ns) {
    if (slot->request.load(std::memory_order_acquire) == done) return true;  // pairs with the handler
    Pause(pause_ns);
    pause_ns = std::min(pause_ns * 2, kLongestPauseNs);
  }
  uint64_t expected = CaptureSlot::Request(ticket_, CaptureSlot::kRequested);
  if (slot->request.compare_exchange_strong(expected, CaptureSlot::Request(ticket_, CaptureSlot::kIdle)))
    return false;
  return expected == done;
}

void StackCapturer::Pause(int64_t ns) {
  constexpr int64_t kLateNs = 500'000;  // as late as timers are; more is somebody's fault
  const int64_t begin_ns = base::SystemClock().MonoNs();
  timespec duration{.tv_sec = ns / base::kNsPerSecond, .tv_nsec = ns % base::kNsPerSecond};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
  const int64_t waited_ns = std::min(base::SystemClock().MonoNs() - begin_ns, ns + kLateNs);
  counters_.waited_ns.Add(static_cast<uint64_t>(waited_ns));
}

bool StackCapturer::IsHandlerCopying() const {
  uint64_t request = SharedSlot()->request.load(std::memory_order_acquire);  // pairs with the handler's kDone
  return CaptureSlot::StateOf(request) == CaptureSlot::kCopying;
}

bool StackCapturer::MayInterrupt(const BlockedThread& blocked) const {
  return restarts_calls_ && blocked.RestartsAfterSignal();
}

bool StackCapturer::MayBeInterrupted(int tid) const {
  BlockedThread blocked;
  switch (ReadThreadActivity(tid, &blocked)) {
    case ThreadActivity::kRunning:
      return true;
    case ThreadActivity::kBlocked:
      return MayInterrupt(blocked);
    case ThreadActivity::kGone:
      break;
  }
  return false;
}

bool StackCapturer::OwnsSignal() const {
  struct sigaction current {};
  return __sigaction(signal_number_, nullptr, &current) == 0 && IsOurs(current);
}

}  // namespace lagwatch::stack

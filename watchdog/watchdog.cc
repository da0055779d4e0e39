// SPDX-License-Identifier: Apache-2.0
#include "watchdog/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <utility>

#include "base/one_moment.h"
#include "base/process/proc_file.h"
#include "base/system/process.h"
#include "base/system/thread.h"
#include "stack/threads/thread_counters.h"
#include "watchdog/report_facts.h"
#include "watchdog/samples/thread_loads.h"
#include "watchdog/service/service_feed.h"

namespace lagwatch::watchdog {
namespace {

constexpr size_t kStackBytes = 512 * 1024;
constexpr int64_t kFirstCalibrationNs = 10 * base::kNsPerMs;
constexpr int64_t kAnyWait = INT64_MAX;
constexpr timespec kShortPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs};
constexpr int64_t kLongestPauseNs = 3 * base::kNsPerMs / 2;  // with the lateness of timers
constexpr int kPauseTries = 100;
constexpr int64_t kYoungNs = 1 * base::kNsPerSecond;
constexpr int64_t kSetUpTimeoutNs = base::kNsPerSecond;
constexpr int64_t kStopTimeoutNs = 3 * base::kNsPerSecond;
// The number of threads of the process that may run at once.
int64_t CountParallelThreads(const base::Process& process) {
  int64_t threads = 0;
  base::ForEachThread(process, [&](int) {
    ++threads;
    return true;
  });
  return std::clamp<int64_t>(threads, 1, CountUsableCores(process));
}

}  // namespace

struct Watchdog::Task {
  enum class State : uint8_t { kWaiting, kRunning, kDone };

  void (*run)(void*);
  void* context;
  std::atomic<State> state{State::kWaiting};
};

Watchdog::Watchdog(const WatchOptions& options, LoopRegistry* registry, stack::StackCapturer* capturer,
                   HangSink* sink)
    : options_(options),
      registry_(registry),
      sink_(sink),
      threads_(options.max_threads),
      watches_(options.ring_size),
      cpu_(options.cpu.is_watched ? new CpuWatch(options.cpu, options.max_threads) : nullptr),
      io_(options.io.limit_ns != 0 ? new IoDispatches : nullptr),
      tools_{.options = &options_,
             .tick_scale = &tick_scale_,
             .clock = &base::SystemClock(),
             .capturer = capturer,
             .threads = &threads_,
             .waits = &waits_,
             .sink = sink,
             .counters = &counters_,
             .usage = &usage_,
             .registry = registry,
             .rings = watches_.rings(),
             .processor_users = &processor_users_,
             .processor_facts = &processor_facts_,
             .power_facts = &power_facts_,
             .end_ns = &end_ns_},
      listener_(options.listener),
      dump_sample_(new LoopSample) {
  if (options_.listener != nullptr) options_.listener = &listener_;
  usage_.values().SetSource(options_.values);
  if (!watches_.ok()) return;
  ActivateWoken();  // loops that were listed before are among all
  const LoopRegistry::Places places = registry_->places();
  for (size_t i = 0; i < places.size(); ++i) {
    if (watches_.Activate(i)) watches_.Of(i).SkipWhatWasBefore(places[i]);
  }
}

Watchdog::~Watchdog() {
  while (thread_.is_running() && !TryStop()) {
  }
}

base::Status Watchdog::Start() {
  const bool has_memory = threads_.ok() && watches_.ok() && waits_.ok() && (cpu_ == nullptr || cpu_->ok());
  if (!has_memory) return base::Status(base::StatusCode::kUnavailable, "no memory for the watchdog's stacks");
  base::Status status = thread_.Start(
      "lagwatch", kStackBytes, [](void* self) { static_cast<Watchdog*>(self)->RunRounds(); }, this);
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kSetUpTimeoutNs;
  while (status.ok() && !is_set_up_.load() && base::SystemClock().MonoNs() < deadline_ns)
    starter_.SleepUntil(deadline_ns);
  registry_->SetHasWatchdog(status.ok());
  if (status.ok()) registry_->dump_requests().Open(options_.dump_interval_ns);
  return status;
}

bool Watchdog::TryStop(StopReason reason) {
  stop_reason_.store(reason);
  stopping_.store(true);
  registry_->watchdog_sleeper().Wake();
  registry_->SetHasWatchdog(false);
  const bool is_stopped = thread_.TryJoin(kStopTimeoutNs);
  if (!is_stopped) registry_->dump_requests().Close();
  return is_stopped;
}

bool Watchdog::EndWithProcess(int64_t timeout_ns, int64_t hang_timeout_ns) {
  end_ns_.store(base::SystemClock().MonoNs());
  stop_reason_.store(StopReason::kProcessEnds);
  stopping_.store(true);
  registry_->watchdog_sleeper().Wake();
  return thread_.AwaitEnd(is_near_hang_.load() ? hang_timeout_ns : timeout_ns);
}

void Watchdog::ReportNearHangs(int64_t timeout_ns) {
  auto nothing = [](void*) {};
  // A task runs before a round: the second one after the first one's.
  for (int i = 0; i < 2 && is_near_hang_.load(); ++i) {
    if (!RunBetweenRounds(nothing, nullptr, timeout_ns, timeout_ns)) return;
  }
}

bool Watchdog::PauseForFork() {
  if (is_paused_) is_paused_ = false;  // a page that is written before or after a fork is a page fault
  if (has_own_files_.load()) return false;
  is_paused_ = round_mutex_.try_lock();
  for (int i = 0; i < kPauseTries && !is_paused_; ++i) {
    nanosleep(&kShortPause, nullptr);
    is_paused_ = round_mutex_.try_lock();
  }
  return is_paused_;
}

bool Watchdog::RunBetweenRounds(void (*run)(void*), void* context, int64_t begin_timeout_ns,
                                int64_t end_timeout_ns) {
  if (tid_.load() == base::CurrentThreadId()) {
    run(context);
    return true;
  }
  auto* task = new (std::nothrow) Task{run, context};
  if (task == nullptr) return false;
  auto wait = [&](int64_t timeout_ns) {
    const int64_t now_ns = base::SystemClock().MonoNs();
    const int64_t until_ns =
        timeout_ns < base::Sleeper::kForever - now_ns ? now_ns + timeout_ns : base::Sleeper::kForever;
    while (task->state.load() != Task::State::kDone && base::SystemClock().MonoNs() < until_ns)
      task_done_.SleepUntil(until_ns);
  };
  task_.store(task);
  registry_->watchdog_sleeper().Wake();
  wait(begin_timeout_ns);
  // The thread that takes it out runs it, or deletes it.
  if (task_.exchange(nullptr) == task) {
    delete task;
    return false;
  }
  wait(end_timeout_ns);
  if (task->state.load() == Task::State::kDone)
    delete task;  // else it is leaked, as the thread still runs it
  return true;
}

void Watchdog::RunTaskIfAsked() {
  Task* task = task_.exchange(nullptr);
  if (task == nullptr) return;
  task->state.store(Task::State::kRunning);
  task->run(task->context);
  task->state.store(Task::State::kDone);  // from here on it is the caller's
  task_done_.Wake();
}

bool Watchdog::TryLockRound() {
  bool is_locked = round_mutex_.try_lock();
  for (int i = 0; !is_locked && i < kPauseTries && !is_fork_slow_; ++i) {
    nanosleep(&kShortPause, nullptr);
    waited_ns_ += kLongestPauseNs;
    is_locked = round_mutex_.try_lock();
  }
  is_fork_slow_ = !is_locked;
  return is_locked;
}

void Watchdog::SetUp() {
  tid_.store(base::CurrentThreadId());
  has_own_files_.store(base::HasOwnFiles());
  sink_->OnStart();
  if (base::HasOwnFiles()) tools_.capturer->thread_files().Allow();
  // Servers drop their privileges between their first waits, after which the file cannot be opened any more.
  tools_.capturer->thread_files().Keep(tools_.thread(tools_.process().pid()));
  is_set_up_.store(true);
  starter_.Wake();
}

void Watchdog::RunRounds() {
  const base::Clock& clock = base::SystemClock();
  begin_ns_ = clock.MonoNs();
  SetUp();
  counters_.lock_layouts_unknown.Add(static_cast<uint64_t>(waits_.MeasureLayouts()));
  tick_scale_.Anchor(base::ReadTickPair(clock));
  int64_t next_ns = clock.MonoNs() + kFirstCalibrationNs;
  suppressed_reported_ = CountSuppressed();
  BeginUsagePeriod();
  processor_facts_.Begin();
  power_facts_.Refresh(clock.MonoNs());
  DiscountForeignTime(0);  // a first reading, with which the next ones are compared
  while (!stopping_.load()) {
    Sleep(next_ns);
    RunTaskIfAsked();
    bool is_locked = TryLockRound();
    tick_scale_.Update(base::ReadTickPair(clock));
    next_ns = tick_scale_.is_known() ? RunRound() : next_ns + kFirstCalibrationNs;
    NoteNearHang();
    if (is_locked) round_mutex_.unlock();
  }
  while (!registry_->dump_requests().CloseIfIdle()) DumpIfAsked();  // an accepted request is always served
  const bool is_end = stop_reason_.load() == StopReason::kProcessEnds;
  const LoopRegistry::Places places = registry_->places();
  for (uint32_t place : watches_.active()) {
    if (is_end) watches_.Of(place).FinishHangs(places[place], tools_);
    watches_.Of(place).FinishIfOver(places[place], tools_);
  }
  LookAtIo();
  ReportLastUsage();
  sink_->OnStop();
  last_cpu_ns_.store(base::ThreadCpuNs(tid_.exchange(0)));
}

void Watchdog::NoteNearHang() {
  is_near_hang_.store(std::ranges::any_of(watches_.active(),
                                          [&](uint32_t place) { return watches_.Of(place).IsNearHang(); }));
}

template <typename Visit>
void Watchdog::ForEachParked(Visit visit) {
  const LoopRegistry::Places places = registry_->places();
  for (size_t i = 0; i < places.size(); ++i) {
    LoopWatch* watch = watches_.Find(i);
    if (watch != nullptr && !watch->is_active()) visit(watch, places[i]);
  }
}

void Watchdog::Sleep(int64_t next_ns) {
  const base::Clock& clock = base::SystemClock();
  // A dispatch that is to be reported has ended since the last look, or ends soon.
  const bool has_io = io_ != nullptr && io_->is_waiting();
  bool is_for_good = tick_scale_.is_known() && !has_io && ParkQuietLoops();
  const int64_t wait_ns = std::max<int64_t>(next_ns - clock.MonoNs(), 0);
  int64_t quiet_until_ns = base::Sleeper::kForever;
  if (options_.service != nullptr) quiet_until_ns = options_.service->due_ns();
  if (options_.beats != nullptr) quiet_until_ns = std::min(quiet_until_ns, options_.beats->due_ns());
  if (cpu_ != nullptr) quiet_until_ns = std::min(quiet_until_ns, cpu_->NextLookNs());
  WokenProbes& woken = registry_->woken_probes();
  const int64_t until_ns = is_for_good ? quiet_until_ns : next_ns;
  const int64_t begin_ns = clock.MonoNs();
  woken.SetNextLook(until_ns);
  if (woken.is_empty()) registry_->watchdog_sleeper().SleepUntil(until_ns);
  const int64_t woken_ns = woken.woken_ns();
  woken.SetNextLook(0);
  ActivateWoken();
  // It did not want to sleep on: between the wake and now there was no processor for it, or it was stopped.
  if (woken_ns != 0) return DiscountForeignTime(std::max<int64_t>(woken_ns - begin_ns, 0));
  DiscountForeignTime(is_for_good ? kAnyWait : wait_ns);
}

void Watchdog::DiscountForeignTime(int64_t wanted_wait_ns) {
  const base::Clock& clock = base::SystemClock();
  const int64_t now_ns = clock.MonoNs();
  const int64_t interval_ns = now_ns - std::exchange(last_account_ns_, now_ns);
  waited_ns_ += std::min(wanted_wait_ns, interval_ns);
  // Nearly every wake is on time: then the kernel's accounts need only be fresh.
  constexpr int64_t kFreshNs = base::kNsPerSecond;
  constexpr int64_t kFreshCpuNs = 100 * base::kNsPerMs;
  bool is_on_time = wanted_wait_ns > interval_ns - policies::TimeDiscount::kToleranceNs;
  const int64_t cpu_interval_ns = now_ns - process_cpu_.mono_ns;
  if (is_on_time && now_ns - time_discount_.last_mono_ns() < kFreshNs) {
    if (cpu_interval_ns >= kFreshCpuNs) process_cpu_ = {now_ns, base::ProcessCpuNs()};
    return;
  }
  policies::SelfReading self{.waited_ns = std::exchange(waited_ns_, 0)};
  ProcessCpu process_cpu;
  const int tid = base::CurrentThreadId();
  const base::Bracket bracket = base::ReadAtOneMoment(clock, [&] {
    self.boot_ns = clock.BootNs();
    self.cpu_ns = base::ThreadCpuNs(tid);
    self.run_delay_ns = stack::ReadRunQueueNs(base::OwnThread(tid));
    process_cpu.cpu_ns = base::ProcessCpuNs();
  });
  self.mono_ns = process_cpu.mono_ns = bracket.begin_ns;
  self.read_ns = bracket.end_ns - bracket.begin_ns;
  const int64_t interval_cpu_ns = process_cpu.cpu_ns - std::exchange(process_cpu_, process_cpu).cpu_ns;
  policies::DiscountedTime findings = time_discount_.Update(self);
  if (findings.is_clean()) return;
  const bool was_blocked =
      findings.stopped_ns != 0 &&
      !policies::CanHaveBeenStopped(std::min(findings.stopped_ns, cpu_interval_ns), cpu_interval_ns,
                                    interval_cpu_ns, CountParallelThreads(tools_.process()));
  if (was_blocked) findings.blocked_ns = std::exchange(findings.stopped_ns, 0);
  counters_.blocked_ms.Add(static_cast<uint64_t>(findings.blocked_ns / base::kNsPerMs));
  counters_.stops.Add(findings.stopped_ns != 0);
  counters_.stopped_ms.Add(static_cast<uint64_t>(findings.stopped_ns / base::kNsPerMs));
  counters_.suspensions.Add(findings.suspended_ns != 0);
  counters_.late_wakes.Add(findings.late_ns != 0);
  for (uint32_t place : watches_.active()) watches_.Of(place).Discount(findings);
  if (findings.stopped_ns == 0) return;
  ForEachParked([&](LoopWatch* watch, const WatchedLoop&) { watch->DiscountParked(findings.stopped_ns); });
}

void Watchdog::ActivateWoken() {
  for (LoopProbe* probe = registry_->woken_probes().TakeAll(); probe != nullptr;) {
    const uint32_t place = probe->place();
    probe = probe->TakeNextWoken();
    if (!watches_.Activate(place))  // no memory: again with its next dispatch
      registry_->places()[place].probe.AskForWake(options_.check_period_ns);
  }
}

bool Watchdog::ParkQuietLoops() {
  // The end of a process has to wait for its first fence, and many processes end soon.
  const bool is_young = base::SystemClock().MonoNs() - begin_ns_ < kYoungNs;
  if (is_young && !base::AreFencesPrepared()) return watches_.active().empty();
  const LoopRegistry::Places places = registry_->places();
  bool is_any_asked = false;
  for (uint32_t place : watches_.active()) {
    if (!places[place].is_in_use() || !watches_.Of(place).IsQuiet(places[place])) continue;
    places[place].probe.AskForWake(watches_.Of(place).idle_sleep_ns());
    is_any_asked = true;
  }
  if (!is_any_asked) return watches_.active().empty();
  const bool is_fenced = base::FenceAllThreads();
  watches_.DeactivateIf([&](uint32_t place) {
    WatchedLoop& loop = places[place];
    const bool is_asleep = is_fenced && loop.is_in_use() && loop.probe.is_asked_for_wake() &&
                           watches_.Of(place).IsQuiet(loop) && loop.probe.Read().number == 0;
    if (!is_asleep && loop.probe.is_asked_for_wake()) loop.probe.CancelWake();
    return is_asleep;
  });
  return watches_.active().empty();
}

int64_t Watchdog::RunRound() {
  int64_t next_ns = base::SystemClock().MonoNs() + options_.check_period_ns;
  // Time so far counts where it was spent.
  if (std::exchange(was_foreground_, registry_->is_foreground()) != registry_->is_foreground())
    CollectParkedUsage();
  const uint64_t reports_before = counters_.reports.value();
  const LoopRegistry::Places places = registry_->places();
  watches_.DeactivateIf([&](uint32_t place) {
    if (places[place].is_in_use()) return false;
    watches_.Of(place).Forget(places[place], tools_);
    return true;
  });
  for (uint32_t place : watches_.active()) {
    if (!places[place].is_in_use()) continue;  // it has left just now, and is listed again
    const int64_t waited_ns = WaitedInLooksNs();
    const uint64_t reports = CountReportsTried();
    next_ns = std::min(next_ns, watches_.Of(place).Look(&places[place], tools_));
    AccountForLook(waited_ns, reports);
  }
  if (cpu_ != nullptr) {
    const int64_t waited_ns = WaitedInLooksNs();
    const uint64_t reports = CountReportsTried();
    next_ns = std::min(next_ns, cpu_->Look(registry_->is_foreground(), tools_));
    AccountForLook(waited_ns, reports);
  }
  DumpIfAsked();
  KeepSignalNowAndThen();
  CountPauses(tools_);
  LookAtIo();
  next_ns = std::min({next_ns, FeedIfWell(), DumpIfLate()});
  ReportUsage(reports_before);
  sink_->OnRoundDone();
  if (!is_near_hang_.load()) power_facts_.Refresh(base::SystemClock().MonoNs());
  return next_ns;
}

void Watchdog::DumpIfAsked() {
  DumpRequest request;
  if (!registry_->dump_requests().Take(&request)) return;
  const WatchedLoop* loop = nullptr;
  const LoopRegistry::Places places = registry_->places();
  for (size_t i = 0; i < places.size() && loop == nullptr; ++i) {
    if (places[i].is_in_use()) loop = &places[i];
  }
  for (uint32_t place : watches_.active()) {
    if (!places[place].is_in_use() || !watches_.Of(place).IsHanging()) continue;
    loop = &places[place];
    break;
  }
  if (options_.reports_under_debugger || stack::ReadTracer(tools_.process()) == 0) {
    MakeDump(request, loop);
    DiscountForeignTime(kAnyWait);  // for the disk
  } else {
    counters_.checks_under_debugger.Add();
  }
  registry_->dump_requests().Finish();
}

void Watchdog::KeepSignalNowAndThen() {
  constexpr int64_t kCheckPeriodNs = 60 * base::kNsPerSecond;
  const int64_t now_ns = base::SystemClock().MonoNs();
  if (now_ns - last_signal_check_ns_ < kCheckPeriodNs) return;
  last_signal_check_ns_ = now_ns;
  tools_.capturer->KeepSignal();
}

int64_t Watchdog::FeedIfWell() {
  if (options_.service == nullptr) return INT64_MAX;
  const bool is_hanging =
      std::ranges::any_of(watches_.active(), [&](uint32_t place) { return watches_.Of(place).IsHanging(); });
  if (is_hanging) return INT64_MAX;
  options_.service->Feed(base::SystemClock().MonoNs());
  return options_.service->due_ns();
}

int64_t Watchdog::DumpIfLate() {
  if (options_.beats == nullptr) return INT64_MAX;
  ServiceBeats::Late late;
  if (!options_.beats->TakeLate(base::SystemClock().MonoNs(), &late)) return options_.beats->due_ns();
  if (options_.reports_under_debugger || stack::ReadTracer(tools_.process()) == 0) {
    MakeDump({.reason = "late WATCHDOG=1", .signal_number = 0}, nullptr, &late);
    DiscountForeignTime(kAnyWait);  // for the disk
  } else {
    counters_.checks_under_debugger.Add();
  }
  return options_.beats->due_ns();
}

int64_t Watchdog::CpuNs() const {
  const int tid = tid_.load();
  return tid == 0 ? last_cpu_ns_.load() : std::max<int64_t>(base::ThreadCpuNs(tid), 0);
}

void Watchdog::CollectParkedUsage() {
  ForEachParked([&](LoopWatch* watch, const WatchedLoop& loop) { watch->CollectUsage(loop, tools_); });
}

uint64_t Watchdog::CountReportsTried() const {
  return counters_.reports.value() + counters_.reports_lost.value();
}

void Watchdog::AccountForLook(int64_t waited_ns_before, uint64_t reports_before) {
  const int64_t waited_ns = WaitedInLooksNs() - waited_ns_before;
  // The next loop is checked by the present account.
  if (base::SystemClock().MonoNs() - last_account_ns_ <= policies::TimeDiscount::kToleranceNs) {
    waited_ns_ += waited_ns;
    return;
  }
  const bool has_reported = CountReportsTried() != reports_before;
  DiscountForeignTime(has_reported ? kAnyWait : waited_ns);  // any, for the disk
}

}  // namespace lagwatch::watchdog

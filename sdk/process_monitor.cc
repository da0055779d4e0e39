// SPDX-License-Identifier: Apache-2.0
#include "sdk/process_monitor.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/process/own_memory.h"
#include "base/system/capabilities.h"
#include "base/system/float_environment.h"
#include "base/system/process.h"
#include "base/system/seccomp.h"
#include "base/system/thread.h"
#include "sdk/report/program_facts.h"
#include "sdk/report/writing_switch.h"
#include "stack/signal_stacks.h"
#include "stack/stack_capturer.h"
#include "trace/hooks/hook_recorder.h"

namespace lagwatch::sdk {
namespace {

constexpr char kNotStarted[] = "not started";  // short: a std::string of it needs no memory
constexpr char kWasStopped[] = "it was stopped";
constexpr char kNoConsent[] = "it waits for the user's consent";

// The mutex lies in wiped memory, where there is some: zeros are an unlocked mutex, and a fork locks and
// unlocks it.
std::mutex& WipedMutexOr(std::mutex* copied) {
  void* wiped = base::TakeWiped(sizeof(std::mutex));
  return wiped == nullptr ? *copied : *new (wiped) std::mutex;
}

}  // namespace

ProcessMonitor& ProcessMonitor::Instance() {
  // Never destroyed, and not from malloc, so that calls into lagwatch work where there is no memory.
  alignas(ProcessMonitor) static char storage[sizeof(ProcessMonitor)];
  static auto* instance = new (storage) ProcessMonitor;
  return *instance;
}

ProcessMonitor::ProcessMonitor() : mutex_(WipedMutexOr(&copied_mutex_)), why_off_(kNotStarted) {
  // The value is the thread's id: a thread that is confined by then may not ask for it.
  has_thread_end_key_ =
      0 == pthread_key_create(&thread_end_key_, [](void* tid) {
        trace::ForgetThreadIo();
        Instance().registry_.RemoveThread(static_cast<int>(reinterpret_cast<intptr_t>(tid)));
      });
  // A program that calls exit() without stopping the monitor still has a clean end.
  std::atexit(&NoteExit);
  base::CallAtQuickExit(&NoteQuickExit);
  pthread_atfork(&PrepareFork, &FinishForkInParent, &FinishForkInChild);
}

ProcessMonitor::StartResult ProcessMonitor::Start(StartRequest request) {
  std::function<void()> on_started = request.on_started;
  StartResult result;
  {
    std::lock_guard life_lock(life_mutex_);
    if (is_on()) return StartResult::kAlreadyStarted;
    std::optional<StartRequest> previous(std::move(request));  // destroyed without a lock
    {
      std::lock_guard lock(mutex_);
      request_.swap(previous);
      is_wanted_ = true;
    }
    result = TryStart();
  }
  if (result == StartResult::kStarted && on_started) on_started();
  return result;
}

ProcessMonitor::StartResult ProcessMonitor::SetConsent(bool is_given) {
  std::function<void()> on_started;
  StartResult result = StartResult::kOff;
  {
    std::lock_guard life_lock(life_mutex_);
    {
      std::lock_guard lock(mutex_);
      consent_ = is_given;
    }
    if (!is_given) {
      process_writing.SetRefused(true);
      StopAll(0, watchdog::StopReason::kStopped);
      if (request_ && request_->erase_kept) request_->erase_kept(request_->options);
      return StayOff(kNoConsent);
    }
    if (is_on()) return StartResult::kAlreadyStarted;
    if (!is_wanted_) return StayOff(request_ ? kWasStopped : kNotStarted);
    on_started = request_->on_started;
    result = TryStart();
  }
  if (result == StartResult::kStarted && on_started) on_started();
  return result;
}

ProcessMonitor::StartResult ProcessMonitor::TryStart() {
  StopAll(0, watchdog::StopReason::kStopped);  // an upload that only waits for another config
  const bool has_consent = consent_.value_or(request_->has_consent);
  process_writing.SetRefused(!has_consent);
  if (!has_consent) return StayOff(kNoConsent);
  MonitorOptions options = request_->options;
  const bool is_killed = request_->apply_config && !request_->apply_config(&options);
  process_writing.SetKilled(is_killed);
  if (!is_killed) return StartMonitor(options);
  std::unique_ptr<BackgroundUpload> upload = StartUpload(options.Normalized().spool_directory);
  std::lock_guard lock(mutex_);
  upload_ = std::move(upload);
  why_off_ = "the collector's config has turned it off";
  return StartResult::kOff;
}

ProcessMonitor::StartResult ProcessMonitor::StartMonitor(const MonitorOptions& options) {
  auto monitor = Monitor::Start(options, &registry_);
  if (!monitor.ok()) return StayOff(monitor.status().message().c_str());
  std::unique_ptr<BackgroundUpload> upload = StartUpload((*monitor)->spool_directory());
  std::lock_guard lock(mutex_);
  monitor_ = std::move(monitor).value();
  upload_ = std::move(upload);
  why_off_.clear();
  last_run_ = monitor_->last_run();
  return StartResult::kStarted;
}

ProcessMonitor::StartResult ProcessMonitor::StayOff(const char* why) {
  std::lock_guard lock(mutex_);
  why_off_ = why;
  return StartResult::kOff;
}

std::unique_ptr<BackgroundUpload> ProcessMonitor::StartUpload(const std::string& spool_directory) const {
  if (!request_->create_upload) return nullptr;
  auto created = request_->create_upload(spool_directory);
  if (!created.ok() || !(*created)->Start().ok()) return nullptr;
  return std::move(created).value();
}

void ProcessMonitor::Stop(int64_t flush_timeout_ms, watchdog::StopReason reason) {
  std::lock_guard life_lock(life_mutex_);
  {
    std::lock_guard lock(mutex_);
    is_wanted_ = false;
  }
  StopAll(flush_timeout_ms, reason);
}

void ProcessMonitor::StopAll(int64_t flush_timeout_ms, watchdog::StopReason reason) {
  std::unique_ptr<Monitor> monitor;
  std::unique_ptr<BackgroundUpload> upload;
  {
    std::lock_guard lock(mutex_);
    if (monitor_ == nullptr && upload_ == nullptr) return;
    stopping_stats_ = CurrentStats();
    monitor = std::move(monitor_);
    upload = std::move(upload_);
    why_off_ = kIsBeingStopped;
  }
  lw_stats stats{};
  if (monitor != nullptr)
    Monitor::Stop(std::move(monitor), reason, [&](const Monitor& stopped) { stats = StatsOf(stopped); });
  if (upload != nullptr) {
    const bool is_stopped = upload->TryStop(flush_timeout_ms);
    AddUpload(*upload, &stats);
    if (!is_stopped) static_cast<void>(upload.release());
  }
  std::lock_guard lock(mutex_);
  stopping_stats_ = {};
  AddStats(stats, &ended_stats_);
  why_off_ = kWasStopped;
}

bool ProcessMonitor::is_on() {
  std::lock_guard lock(mutex_);
  return monitor_ != nullptr;
}

std::string ProcessMonitor::why_off() {
  std::lock_guard lock(mutex_);
  return why_off_;
}

void ProcessMonitor::NoteReady() {
  ProcessStartUp().NoteReady(base::SystemClock().MonoNs());
  registry_.watchdog_sleeper().Wake();
}

void ProcessMonitor::WithdrawStart() {
  std::lock_guard life_lock(life_mutex_);  // only the holder of this one changes the monitor
  if (ProcessStartUp().Withdraw() && monitor_ != nullptr) monitor_->WithdrawReports();
}

namespace {

// The calling thread's calls and captures are those of that loop's dispatches.
void CountFor(watchdog::WatchedLoop* loop) {
  const watchdog::LoopWords& words = loop->probe.words();
  trace::SetDispatchWords({&words.begun, &words.ended, &words.begin_ticks, &words.tag},
                          loop->probe.track_request());
}

}  // namespace

watchdog::WatchedLoop* ProcessMonitor::WatchLoop(const char* name) {
  if (!has_thread_end_key_) return nullptr;  // its thread's end would go unnoticed
  const int tid = base::CurrentThreadId();
  pthread_setspecific(thread_end_key_, reinterpret_cast<void*>(static_cast<intptr_t>(tid)));
  stack::SignalStacks::NoteOwn();
  watchdog::WatchedLoop* loop = registry_.Add(name, tid);
  if (loop != nullptr) CountFor(loop);
  return loop;
}

void ProcessMonitor::UnwatchLoop(watchdog::WatchedLoop* loop) {
  const int tid = base::CurrentThreadId();
  const bool is_counted = loop->tid.load() == tid && trace::AreDispatchWordsOf(loop->probe.words().begun);
  if (is_counted) trace::SetDispatchWords({});
  registry_.Remove(loop);
  if (!is_counted) return;
  // Another one of the thread goes on: the one that it is in a dispatch of, if this was an inner loop.
  watchdog::WatchedLoop* next = nullptr;
  for (watchdog::WatchedLoop& other : registry_.places()) {
    if (!other.is_in_use() || other.tid.load() != tid) continue;
    if (next == nullptr || other.probe.Read().number != 0) next = &other;
  }
  if (next != nullptr) CountFor(next);
}

void ProcessMonitor::UnwatchAllLoops() {
  for (watchdog::WatchedLoop& loop : registry_.places()) registry_.Remove(&loop);
}

bool ProcessMonitor::AskForTrace() {
  std::lock_guard lock(mutex_);
  return monitor_ != nullptr && monitor_->TraceNow();
}

std::optional<EndedRun> ProcessMonitor::last_run() {
  std::lock_guard lock(mutex_);
  return last_run_;
}

lw_stats ProcessMonitor::stats() {
  std::lock_guard lock(mutex_);
  lw_stats stats = CurrentStats();
  AddStats(stopping_stats_, &stats);
  AddStats(ended_stats_, &stats);
  return stats;
}

void ProcessMonitor::AddStats(const lw_stats& other, lw_stats* sum) {
  using Words = std::array<uint64_t, sizeof(lw_stats) / sizeof(uint64_t)>;
  auto words = std::bit_cast<Words>(*sum);
  const auto others = std::bit_cast<Words>(other);
  for (size_t i = 1; i < words.size(); ++i) words[i] += others[i];  // the first one is the struct's size
  *sum = std::bit_cast<lw_stats>(words);
}

lw_stats ProcessMonitor::CurrentStats() const {
  if (monitor_ == nullptr) return {};
  lw_stats stats = StatsOf(*monitor_);
  if (upload_ != nullptr) AddUpload(*upload_, &stats);
  return stats;
}

void ProcessMonitor::AddUpload(const BackgroundUpload& upload, lw_stats* stats) {
  using report::LossReason;
  const report::LossCounts losses = upload.losses();
  auto lost = [&](LossReason reason) { return losses[static_cast<size_t>(reason)]; };
  stats->reports_uploaded = upload.reports_delivered();
  stats->reports_not_sampled = lost(LossReason::kNotSampled);
  stats->reports_past_day_quota = lost(LossReason::kDayIsFull);
  stats->reports_past_cause_quota = lost(LossReason::kCauseIsFull);
  stats->reports_too_old = lost(LossReason::kTooOld);
  stats->reports_past_disk_limit = lost(LossReason::kTooMuch);
  stats->reports_refused = lost(LossReason::kRefused);
  stats->reports_damaged = lost(LossReason::kDamaged);
  stats->reports_turned_off = lost(LossReason::kTurnedOff);
}

lw_stats ProcessMonitor::StatsOf(const Monitor& monitor) {
  lw_stats stats{};
  const watchdog::WatchCounters& watch = monitor.watch_counters();
  const stack::CaptureCounters& capture = monitor.capture_counters();
  stats.hangs = watch.hangs.value();
  stats.reports_written = watch.reports.value();
  stats.reports_dropped = watch.reports_lost.value();
  stats.unchanged_checks = watch.unchanged_checks.value();
  stats.stack_samples = watch.samples.value();
  stats.capture_signals_sent = capture.signals_sent.value();
  stats.capture_timeouts = capture.signal_timeouts.value();
  stats.stacks_incomplete = capture.incomplete_stacks.value();
  stats.dumps = watch.dumps.value();
  stats.watchdog_cpu_ns = static_cast<uint64_t>(monitor.WatchdogCpuNs());
  stats.capture_pause_ns = watch.capture_pause_ns.value();
  stats.handler_lost = capture.handler_lost.value();
  stats.handler_moved = capture.handler_moved.value();
  if (const watchdog::ServiceFeed* service = monitor.service()) {
    stats.service_feeds = service->sent_count();
    stats.service_feeds_failed = service->failed_count();
  }
  stats.run_records_failed = monitor.has_run_record() ? 0 : 1;
  stats.reports_over_limit = watch.reports_over_hang_limit.value();
  stats.reports_too_large = monitor.reports_too_large();
  stats.checks_under_debugger = watch.checks_under_debugger.value();
  stats.hangs_stopped = watch.hangs_stopped.value() + watch.hangs_suspended.value();
  stats.hangs_ended_first = watch.hangs_ended_first.value();
  stats.waits_unproven = watch.unproven_waits.value() - watch.unproven_waits_settled.value();
  stats.slow_dispatches_lost = watch.notes_lost.value();
  stats.usage_records = watch.usage_records.value();
  const report::SpoolCounters spool = monitor.spool_counters();
  auto refusals = [&](report::SpoolRefusal why) { return spool.refusals[static_cast<size_t>(why)]; };
  stats.reports_removed = spool.reports_removed;
  stats.spool_no_space = refusals(report::SpoolRefusal::kNoSpace);
  stats.spool_forbidden = refusals(report::SpoolRefusal::kForbidden);
  stats.spool_io_errors = refusals(report::SpoolRefusal::kIo);
  stats.spool_other_errors = refusals(report::SpoolRefusal::kOther);
  stats.spool_syncs = spool.syncs;
  stats.spool_syncs_failed = spool.syncs_failed;
  if (const FlightRecorder* recorder = monitor.flight_recorder()) {
    stats.traces_written = recorder->written_count();
    stats.traces_dropped = recorder->dropped_count();
  }
  return stats;
}

void ProcessMonitor::EndWithProcess() {
  const std::unique_lock life_lock(life_mutex_, std::try_to_lock);
  if (!life_lock.owns_lock() || !why_off().empty()) return;
  monitor_->EndWithProcess();  // only the holder of this lock changes it
}

void ProcessMonitor::ReportBeforeExec() {
  const base::ScopedFloatEnvironment floats;
  const std::unique_lock life_lock(life_mutex_, std::try_to_lock);
  if (life_lock.owns_lock() && monitor_ != nullptr) monitor_->ReportBeforeExec();
}

// Other handlers of the program may follow, in which a hang still counts.
void ProcessMonitor::NoteExit() {
  const base::ScopedFloatEnvironment floats;
  NoteRunEnded();
  if (!Instance().is_end_promised_.load()) NoteQuickExit();
}

void ProcessMonitor::NoteQuickExit() {
  NoteRunEnded();
  ProcessMonitor& self = Instance();
  std::unique_lock lock(self.mutex_, std::try_to_lock);
  if (lock.owns_lock() && self.monitor_ != nullptr) self.monitor_->RemoveEmptySegment();
}

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
// The process's one monitor, started by the C ABI or by the preloaded library. Survives stops, restarts,
// threads that end and forks.
#pragma once

#include <lagwatch/c_types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "report/format/losses.h"
#include "sdk/monitor.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

// Sends the spool from inside the process, if anything does.
class BackgroundUpload {
 public:
  virtual ~BackgroundUpload() = default;
  virtual base::Status Start() = 0;
  // False when it cannot be ended, because a disk hangs: then it must be leaked.
  [[nodiscard]] virtual bool TryStop(int64_t flush_timeout_ms) = 0;
  virtual uint64_t reports_delivered() const = 0;
  // Reports that were not sent, and why.
  virtual report::LossCounts losses() const = 0;
};
using CreateUpload =
    std::function<base::Result<std::unique_ptr<BackgroundUpload>>(const std::string& spool_directory)>;

// The parameters of a start: at once, or when the user has given consent.
struct StartRequest {
  MonitorOptions options;
  CreateUpload create_upload{};  // may be empty, as may be the next three
  // Takes over what the collector wants; false when it wants nothing watched.
  std::function<bool(MonitorOptions*)> apply_config{};
  std::function<void()> on_started{};
  // Consent was withdrawn: removes stored data.
  std::function<void(const MonitorOptions&)> erase_kept{};
  bool has_consent = true;  // until SetConsent() says so or otherwise
};

// Thread safety: all methods from any thread. Context: background.
class ProcessMonitor {
 public:
  // The one that the C ABI needs. Made at the first call, never destroyed: threads may use it while
  // the process ends.
  static ProcessMonitor& Instance();

  // An upload that cannot start leaves the monitor on: reports stay on disk. Where the collector wants
  // nothing watched, the upload starts alone, to hear when that changes. Errors: as Monitor::Start. Does
  // nothing but say so when it is on already.
  enum class StartResult { kStarted, kAlreadyStarted, kOff };
  StartResult Start(StartRequest request);
  void Stop(int64_t flush_timeout_ms, watchdog::StopReason reason = watchdog::StopReason::kStopped);
  // The caller will call EndWithProcess() at the end of the process; exit() itself does not wait for the
  // monitor before that.
  void PromiseEnd() { is_end_promised_.store(true); }
  // The process ends by exit(). Waits for the last records, as Monitor::EndWithProcess(), unless a start or a
  // stop is under way.
  void EndWithProcess();
  // The process is about to become another program. Has hangs reported that nothing would report any more.
  void ReportBeforeExec();
  // Given: starts a monitor that waits for consent. Withdrawn: stops, sends nothing more and erases the data
  // in the directory of the last start.
  StartResult SetConsent(bool is_given);
  // Empty when the monitor is on.
  std::string why_off();

  // The program is ready; only the first call of a process counts.
  void NoteReady();
  // No user waited for this start: it is not reported.
  void WithdrawStart();

  // False when the program has taken all keys of thread-specific data: the end of a thread
  // would go unnoticed.
  bool CanWatchLoops() const { return has_thread_end_key_; }
  // For the calling thread; its loops are forgotten when it ends.
  watchdog::WatchedLoop* WatchLoop(const char* name);
  void UnwatchLoop(watchdog::WatchedLoop* loop);
  // Those of all threads, for a monitor that is stopped.
  void UnwatchAllLoops();

  // Asks for a dump; false when none will be made, because the monitor is off or one was asked for just
  // before. Context: any.
  bool AskForDump(const char* reason) {
    return registry_.dump_requests().Ask(reason, 0) == watchdog::DumpRequests::Answer::kAccepted;
  }

  // Requests a trace of the last seconds: see Monitor::TraceNow().
  bool AskForTrace();

  watchdog::LoopRegistry* registry() { return &registry_; }

  // Says where the application is. Any thread; wait-free.
  void SetForeground(bool is_foreground) { registry_.SetForeground(is_foreground); }

  // The end of the program's last run when the monitor was last started; none if no run left a record.
  std::optional<EndedRun> last_run();

  // Sums over all monitors of this process, without the struct's size, memory_failures and the next two.
  lw_stats stats();
  uint64_t loops_refused() const { return registry_.refused_count(); }
  // Lets the watchdog look at once.
  void WakeWatchdog() { registry_.watchdog_sleeper().Wake(); }
  uint64_t dumps_refused() { return registry_.dump_requests().refused_count(); }

 private:
  static constexpr char kIsBeingStopped[] = "it is being stopped";

  ProcessMonitor();

  static void NoteExit();
  static void NoteQuickExit();
  // In fork_handlers.cc, as the next three.
  static void PrepareFork();
  static void FinishForkInParent();
  static void FinishForkInChild();
  void ForgetUnknownState();
  static lw_stats StatsOf(const Monitor& monitor);
  static void AddStats(const lw_stats& other, lw_stats* sum);
  static void AddUpload(const BackgroundUpload& upload, lw_stats* stats);
  bool is_on();
  // With life_mutex_ held, as the next ones.
  StartResult TryStart();
  StartResult StartMonitor(const MonitorOptions& options);
  StartResult StayOff(const char* why);
  void StopAll(int64_t flush_timeout_ms, watchdog::StopReason reason);
  std::unique_ptr<BackgroundUpload> StartUpload(const std::string& spool_directory) const;
  lw_stats CurrentStats() const;

  watchdog::LoopRegistry registry_;
  pthread_key_t thread_end_key_{};
  bool has_thread_end_key_ = false;  // a process has only so many
  std::atomic<bool> is_end_promised_{false};
  // Serializes starts and stops, through all their I/O and callbacks: no fork handler takes it. Taken
  // before the other.
  std::mutex life_mutex_;
  std::mutex copied_mutex_;  // `mutex_` where there is no wiped memory
  // Held for moments only, and during a fork. Discounts all that follows; the first three members change only
  // under both mutexes, so either one is enough to read them.
  std::mutex& mutex_;
  std::optional<StartRequest> request_;  // the last one
  bool is_wanted_ = false;               // no stop came after it
  std::optional<bool> consent_;          // the last value that SetConsent() was given
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<BackgroundUpload> upload_;
  std::optional<EndedRun> last_run_;
  std::string why_off_;
  lw_stats ended_stats_{};     // of monitors that were stopped
  lw_stats stopping_stats_{};  // of the one that is being stopped, when that began
  lw_stats forking_stats_{};   // of the monitor that a forked child does not have
};

}  // namespace lagwatch::sdk

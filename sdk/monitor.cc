// SPDX-License-Identifier: Apache-2.0
#include "sdk/monitor.h"

#include <unistd.h>

#include <algorithm>

#include "base/env.h"
#include "sdk/default_paths.h"
#include "stack/frame_section_file.h"
#include "stack/unwind/table_unwinder.h"

namespace lagwatch::sdk {

MonitorOptions MonitorOptions::Normalized() const {
  constexpr int64_t kShortestNs = 1 * base::kNsPerMs;
  constexpr int64_t kLongestNs = 3600 * base::kNsPerSecond;
  MonitorOptions normal = *this;
  watchdog::WatchOptions& in = normal.watch;
  const watchdog::Thresholds thresholds = in.thresholds().InRange();
  in.threshold_ns = thresholds.threshold_ns;
  in.anr_threshold_ns = thresholds.anr_threshold_ns;
  in.idle_handler_threshold_ns =
      std::clamp(in.idle_handler_threshold_ns, watchdog::Thresholds::kShortestNs, kLongestNs);
  in.input_threshold_ns = std::clamp(in.input_threshold_ns, watchdog::Thresholds::kShortestNs, kLongestNs);
  in.slow_dispatch_ns = std::clamp(in.slow_dispatch_ns, kShortestNs, kLongestNs);
  in.check_period_ns = std::clamp(in.check_period_ns, kShortestNs, kLongestNs);
  in.annealing_cap_ns =
      std::clamp(in.annealing_cap_ns, in.check_period_ns, std::max(kLongestNs, in.check_period_ns));
  in.sample_interval_ns = std::clamp(in.sample_interval_ns, kShortestNs, kLongestNs);
  in.ring_size = std::clamp(in.ring_size, 1, watchdog::WatchOptions::kMaxRingSize);
  in.max_threads = std::clamp(in.max_threads, 1, 512);
  in.listener = normal.listener.get();
  if (normal.app.empty()) normal.app = ProgramName();
  if (normal.spool_directory.empty()) normal.spool_directory = DefaultSpoolDirectory();
  return normal;
}

base::Result<std::unique_ptr<Monitor>> Monitor::Start(const MonitorOptions& options,
                                                      watchdog::LoopRegistry* registry) {
  const MonitorOptions normal = options.Normalized();
  std::unique_ptr<Monitor> monitor(new Monitor);
  monitor->process_id_ = getpid();
  monitor->spool_directory_ = normal.spool_directory;
  monitor->listener_ = normal.listener;

  ProgramFacts facts = SystemFacts();
  facts.app = normal.app;
  facts.app_version = normal.app_version;
  facts.user = normal.user;
  auto spool = report::SpoolWriter::Create(&base::SystemEnv(), normal.spool_directory, facts.session_id, {});
  if (!spool.ok()) return spool.status();
  monitor->spool_ = std::move(spool).value();

  auto unwinder = stack::CreateTableUnwinder(stack::FrameSectionLoader::FromModuleFiles());
  if (!unwinder.ok()) return unwinder.status();
  auto capturer = stack::StackCapturer::Create(normal.capture, std::move(unwinder).value());
  if (!capturer.ok()) return capturer.status();
  monitor->capturer_ = std::move(capturer).value();

  monitor->sink_ = std::make_unique<ReportSink>(std::move(facts), monitor->spool_.get());
  monitor->watchdog_ = std::make_unique<watchdog::Watchdog>(normal.watch, registry, monitor->capturer_.get(),
                                                            monitor->sink_.get());
  if (base::Status status = monitor->watchdog_->Start(); !status.ok()) return status;
  return monitor;
}

void Monitor::Stop(std::unique_ptr<Monitor> monitor) {
  bool is_own = monitor->process_id_ == getpid();
  if (!is_own || !monitor->watchdog_->TryStop()) static_cast<void>(monitor.release());
}

void Monitor::AbandonInForkedChild(std::unique_ptr<Monitor> monitor) {
  monitor->spool_->AbandonInForkedChild();
  monitor->capturer_->AbandonInForkedChild();
  // The threads and locks of the rest belong to the parent.
  static_cast<void>(monitor.release());
}

}  // namespace lagwatch::sdk

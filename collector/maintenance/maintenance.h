// SPDX-License-Identifier: Apache-2.0
// Background jobs of the collector: removal of old reports, repair of sums, clustering again. In small steps,
// so that requests do not wait for long. Context: background.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"

namespace lagwatch::collector {

// One kind of work. `Step` does a little and says whether there is more to do at once. Not thread-safe.
class MaintenanceJob {
 public:
  virtual ~MaintenanceJob() = default;
  virtual std::string name() const = 0;
  virtual base::Result<bool> Step() = 0;
};

class Maintenance {
 public:
  // Receives each step's outcome and time.
  using OnStep = std::function<void(const std::string& job, bool is_ok, std::chrono::nanoseconds taken)>;

  // Runs the jobs' steps in turn on a thread of its own: at once while a job has more to do, and again
  // every `pause`. Borrows the jobs. `on_error` is called for a step that failed, which is tried again
  // after the pause.
  Maintenance(std::vector<MaintenanceJob*> jobs, std::chrono::milliseconds pause,
              std::function<void(const std::string& job, const base::Status& error)> on_error,
              OnStep on_step = {});
  // Waits for the step that is under way.
  ~Maintenance();

  // Something came up: the pause is over. Thread-safe.
  void Wake();

 private:
  void Run();
  bool StepAll();

  const std::vector<MaintenanceJob*> jobs_;
  const std::chrono::milliseconds pause_;
  const std::function<void(const std::string& job, const base::Status& error)> on_error_;
  const OnStep on_step_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool is_awake_ = true;      // guarded by mutex_
  bool is_stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace lagwatch::collector

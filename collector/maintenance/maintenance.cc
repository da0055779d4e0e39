// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/maintenance.h"

#include <utility>

namespace lagwatch::collector {

Maintenance::Maintenance(std::vector<MaintenanceJob*> jobs, std::chrono::milliseconds pause,
                         std::function<void(const std::string& job, const base::Status& error)> on_error,
                         OnStep on_step)
    : jobs_(std::move(jobs)),
      pause_(pause),
      on_error_(std::move(on_error)),
      on_step_(std::move(on_step)),
      thread_([this] { Run(); }) {}

Maintenance::~Maintenance() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wakes_.notify_one();
  thread_.join();
}

void Maintenance::Wake() {
  {
    std::lock_guard lock(mutex_);
    is_awake_ = true;
  }
  wakes_.notify_one();
}

void Maintenance::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    is_awake_ = false;
    lock.unlock();
    const bool has_more = StepAll();
    lock.lock();
    if (!has_more) wakes_.wait_for(lock, pause_, [&] { return is_stopping_ || is_awake_; });
  }
}

bool Maintenance::StepAll() {
  bool has_more = false;
  for (MaintenanceJob* job : jobs_) {
    const auto begin = std::chrono::steady_clock::now();
    const auto stepped = job->Step();
    if (on_step_) on_step_(job->name(), stepped.ok(), std::chrono::steady_clock::now() - begin);
    if (!stepped.ok()) on_error_(job->name(), stepped.status());
    has_more |= stepped.ok() && *stepped;
  }
  return has_more;
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/worker/worker_pool.h"

#include <algorithm>

#include "collector/symbols/mapping/mapping_id.h"

namespace lagwatch::collector {

Result<WorkerAnswer> WorkerPool::Inspect(int fd, bool is_mapping) {
  const WorkerRequest request{.is_mapping = is_mapping};
  return Ask("", request, std::span(&fd, 1), options_.inspect_timeout);
}

Result<WorkerAnswer> WorkerPool::Symbolize(const std::string& key, std::span<const int> fds, bool has_alt,
                                           std::span<const CodePlace> places) {
  const WorkerRequest request{
      .has_alt = has_alt, .is_mapping = IsMappingId(key), .places = {places.begin(), places.end()}};
  auto answer = Ask(key, request, fds, options_.batch_timeout);
  if (answer.ok() && answer->frames.size() != places.size()) {
    return Status(StatusCode::kInvalid, "the file's reader gave a wrong answer");
  }
  return answer;
}

Result<WorkerAnswer> WorkerPool::Ask(const std::string& key, const WorkerRequest& request,
                                     std::span<const int> fds, std::chrono::milliseconds timeout) {
  const std::string encoded = Encode(request);
  for (;;) {
    auto worker = LAGWATCH_TRY(Take(key));
    auto bytes = worker.process->Ask(encoded, fds, timeout);
    if (bytes.ok()) {
      Return(std::move(worker));
      auto answer = DecodeWorkerAnswer(*bytes);
      if (answer.ok() && !answer->error.empty()) return Status(StatusCode::kInvalid, answer->error);
      return answer;
    }
    // If the worker had other files open, those may have killed it: a new worker finds out.
    const bool may_be_another =
        bytes.status().code() == StatusCode::kUnavailable && worker.process->has_answered();
    worker.process.reset();
    ForgetOne();
    if (!may_be_another) {
      return Status(StatusCode::kInvalid, bytes.status().code() == StatusCode::kUnavailable
                                              ? "the file makes its reader crash"
                                              : "the file takes its reader too long, or gives too much");
    }
  }
}

Result<WorkerPool::Worker> WorkerPool::Take(const std::string& key) {
  std::unique_lock lock(mutex_);
  if (!is_free_.wait_for(lock, options_.inspect_timeout, [this] { return busy_ < options_.workers; })) {
    return Status(StatusCode::kUnavailable, "all symbol workers are busy; try again later");
  }
  ++busy_;
  auto same =
      std::find_if(idle_.begin(), idle_.end(), [&](const Worker& idle) { return idle.last_key == key; });
  // Without one that has these files: a new one while there may be more, else the one that rested longest.
  const bool may_start = idle_.size() + busy_ <= options_.workers;
  if (same == idle_.end() && !may_start) same = std::prev(idle_.end());
  if (same != idle_.end()) {
    Worker worker = std::move(*same);
    idle_.erase(same);
    worker.last_key = key;
    return worker;
  }
  lock.unlock();
  auto process = WorkerProcess::Start(options_.program, options_.argument);
  if (process.ok()) return Worker{std::move(*process), key};
  ForgetOne();
  return process.status();
}

void WorkerPool::Return(Worker worker) {
  std::lock_guard lock(mutex_);
  --busy_;
  idle_.push_front(std::move(worker));
  is_free_.notify_one();
}

void WorkerPool::ForgetOne() {
  std::lock_guard lock(mutex_);
  --busy_;
  is_free_.notify_one();
}

std::vector<pid_t> WorkerPool::IdlePidsForTest() {
  std::lock_guard lock(mutex_);
  std::vector<pid_t> pids;
  for (const Worker& worker : idle_) pids.push_back(worker.process->pid());
  return pids;
}

}  // namespace lagwatch::collector

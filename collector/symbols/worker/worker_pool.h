// SPDX-License-Identifier: Apache-2.0
// Reads symbol files in other processes, so that a file that breaks its reader, or takes it for ever, costs
// an answer and not the collector. Context: background. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "collector/symbols/worker/symbol_worker.h"
#include "collector/symbols/worker/worker_messages.h"
#include "collector/symbols/worker/worker_process.h"

namespace lagwatch::collector {

struct WorkerOptions {
  std::string program = "/proc/self/exe";  // that runs a worker when its argument is `argument`
  std::string argument = kWorkerArgument;
  size_t workers = 2;  // at most, started when they are wanted
  std::chrono::milliseconds batch_timeout = std::chrono::seconds(5);
  std::chrono::milliseconds inspect_timeout = std::chrono::seconds(60);
};

class WorkerPool {
 public:
  explicit WorkerPool(WorkerOptions options) : options_(std::move(options)) {}

  // Returns the file's build id, its dwz file, and whether it has symbols; it is ELF, or a mapping. Errors,
  // of both: kInvalid if the file is at fault, which includes that its reader crashed or took too long;
  // kUnavailable if no worker is available.
  base::Result<WorkerAnswer> Inspect(int fd, bool is_mapping = false);

  // The frames at each place (at least one) of the module whose files are `fds`, with the one that dwz made
  // last if `has_alt`. `key` is its build id: a worker that has the files open already answers sooner. The
  // answer has frames for each place.
  base::Result<WorkerAnswer> Symbolize(const std::string& key, std::span<const int> fds, bool has_alt,
                                       std::span<const CodePlace> places);

  // Those that wait for requests.
  std::vector<pid_t> IdlePidsForTest();

 private:
  struct Worker {
    std::unique_ptr<WorkerProcess> process;
    std::string last_key;
  };

  base::Result<WorkerAnswer> Ask(const std::string& key, const WorkerRequest& request,
                                 std::span<const int> fds, std::chrono::milliseconds timeout);
  base::Result<Worker> Take(const std::string& key);
  void Return(Worker worker);
  void ForgetOne();

  const WorkerOptions options_;
  std::mutex mutex_;
  std::condition_variable is_free_;
  std::list<Worker> idle_;  // guarded by mutex_, the last used first
  size_t busy_ = 0;         // guarded by mutex_
};

}  // namespace lagwatch::collector

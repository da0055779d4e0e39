// SPDX-License-Identifier: Apache-2.0
// The configuration that this process is watched by, from `lagwatch run` or from `lagwatch attach`, and
// whether it is in force. Context: background.
#pragma once

#include <atomic>
#include <string>

#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::sdk {

// Thread safety: all methods from any thread.
class ProcessConfig {
 public:
  // Made at the first call, in the library's constructor: takes the configuration out of the environment.
  static ProcessConfig& Instance();

  const PreloadConfig& get() const { return *config_.load(); }
  // The library's path, as LD_PRELOAD named it; empty where it was loaded otherwise.
  const std::string& library() const { return library_; }
  // Whether `lagwatch run` has started this process; false of a command of lagwatch.
  bool is_of_run() const { return is_of_run_; }
  // Whether loops are to be watched.
  bool is_wanted() const { return is_wanted_.load(); }
  bool is_seccomp_allowed() const { return get().options.process.seccomp_allows_lagwatch; }
  // Whether other threads are watched when the main thread runs no loop.
  bool IsAuto() const { return get().threads == "auto"; }
  // Whether the calling thread is watched, by its name.
  bool ShouldWatch(const char* thread_name) const;
  // Whether this process is recorded, whatever program it becomes by exec. Children are not.
  bool IsTraced() const;
  // False under a filter that was installed between `lagwatch run` and the program: it may not know our
  // calls, and would end the process at the first of them.
  bool MayRun() const;
  // The options for the monitor of this process, which may run.
  Options MonitorOptions() const;

  // Takes `config` from now on. A process that is followed by `lagwatch run` keeps its own: then false.
  bool TryAttach(const PreloadConfig& config);
  void Detach() { is_wanted_.store(false); }

 private:
  ProcessConfig();

  const PreloadConfig standard_;
  std::string library_;
  bool is_of_run_ = false;
  std::atomic<bool> is_wanted_{false};
  std::atomic<const PreloadConfig*> config_{&standard_};  // leaked: threads may read it
};

}  // namespace lagwatch::sdk

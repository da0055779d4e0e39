// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/watch/process_config.h"

#include <unistd.h>

#include <cstdlib>

#include "base/system/seccomp.h"
#include "sdk/preload/environment/own_command.h"
#include "sdk/preload/environment/preload_environment.h"

namespace lagwatch::sdk {

ProcessConfig& ProcessConfig::Instance() {
  static ProcessConfig* instance = new ProcessConfig;
  return *instance;
}

ProcessConfig::ProcessConfig() {
  const char* text = std::getenv(kPreloadConfigVariable);
  if (text == nullptr) return;
  const auto* config = new PreloadConfig(PreloadConfig::Parse(text));
  config_.store(config);
  library_ = RestoreEnvironment(*config);
  is_of_run_ = !IsOwnCommand();
  is_wanted_.store(is_of_run_ && config->is_watched != 0);
}

bool ProcessConfig::ShouldWatch(const char* thread_name) const {
  const std::string& threads = get().threads;
  if (threads == "all") return true;
  if (threads == "main" || IsAuto()) return gettid() == getpid();
  return threads == thread_name;
}

bool ProcessConfig::IsTraced() const {
  return !get().trace_arena.empty() && get().trace_pid == static_cast<uint32_t>(getpid());
}

bool ProcessConfig::MayRun() const {
  return is_seccomp_allowed() || base::ReadSeccomp().filters <= get().seccomp_filters;
}

Options ProcessConfig::MonitorOptions() const {
  Options options = get().options;
  options.app = AppName(get());
  options.process.seccomp_allows_lagwatch = true;  // MayRun() has looked
  // One recording at a time.
  if (!get().trace_arena.empty()) options.trace.is_on = options.slow.is_reported = false;
  return options;
}

bool ProcessConfig::TryAttach(const PreloadConfig& config) {
  if (is_wanted()) return false;
  const bool is_first = config_.load() == &standard_;
  if (is_first || get().ToText() != config.ToText()) config_.store(new PreloadConfig(config));
  is_wanted_.store(true);
  return true;
}

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/watch/trace_recording.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sdk/trace/shared_calls.h"
#include "stack/code_map.h"
#include "trace/instrument/rules/instrument_rules.h"
#include "trace/record/recorder.h"

namespace lagwatch::sdk {
namespace {

trace::RecorderOptions OptionsOf(const PreloadConfig& config) {
  trace::RecorderOptions options;
  options.main_interval_ns = config.trace_main_interval_us * int64_t{1000};
  options.worker_interval_ns = config.trace_worker_interval_us * int64_t{1000};
  options.worker_groups = config.trace_worker_groups;
  options.has_hooks = config.trace_hook_interval_us != 0;
  options.hooks.interval_ns = config.trace_hook_interval_us * int64_t{1000};
  options.calls.are_recorded = config.trace_calls != 0;
  options.calls.clock = config.trace_calls == 2 ? trace::CallClock::kCoarse : trace::CallClock::kPrecise;
  options.calls.are_patched = !config.trace_patched_modules.empty();
  options.calls.filter.allow_modules = base::SplitAtCommas(config.trace_patched_modules);
  options.calls.filter.allow_functions = base::SplitAtCommas(config.trace_patched_functions);
  options.calls.filter.deny_functions = base::SplitAtCommas(config.trace_unpatched_functions);
  options.calls.most_calls_per_s = config.trace_call_limit;
  if (config.trace_rules.empty()) return options;
  // The command has read them, so this file is as it should be.
  auto rules = trace::InstrumentRules::Read(config.trace_rules);
  if (rules.ok()) options.calls.filter.rules = std::move(rules).value();
  options.calls.are_patched &= rules.ok();
  return options;
}

// The program's own lagwatch library, if it links one: records the parts that the program names.
class LinkedCalls {
 public:
  LinkedCalls(const trace::Arena& arena, const trace::CallOptions& options) {
    if (!options.are_recorded) return;
    const auto start =
        reinterpret_cast<lw_internal_start_calls_function>(dlsym(RTLD_DEFAULT, LAGWATCH_START_CALLS));
    stop_ = reinterpret_cast<lw_internal_stop_calls_function>(dlsym(RTLD_DEFAULT, LAGWATCH_STOP_CALLS));
    const bool is_coarse = options.clock == trace::CallClock::kCoarse;
    const bool is_started =
        start != nullptr && stop_ != nullptr &&
        start(trace::ArenaHeader::kMagic, arena.call_pool().mutable_header(), is_coarse) != 0;
    if (!is_started) stop_ = nullptr;
  }
  void Stop() {
    if (stop_ != nullptr) std::exchange(stop_, nullptr)();
  }

 private:
  lw_internal_stop_calls_function stop_ = nullptr;
};

struct Recording {
  std::unique_ptr<trace::Arena> arena;
  std::unique_ptr<trace::Recorder> recorder;
  LinkedCalls linked_calls;
  pid_t pid;
};

// Leaked in a forked child, whose recorder has no threads.
Recording* g_recording = nullptr;

}  // namespace

bool StartTraceRecording(const PreloadConfig& config) {
  auto arena = trace::Arena::Open(config.trace_arena);
  if (!arena.ok()) return false;
  // The process was another program before, which was recorded, too.
  if ((*arena)->header().state.load() != trace::ArenaState::kEmpty) (*arena)->Clear();
  auto code = stack::CodeMap::Create();
  if (!code.ok()) return false;
  const trace::RecorderOptions options = OptionsOf(config);
  auto recorder = trace::Recorder::Start(arena->get(), *code, options);
  if (!recorder.ok()) return false;
  const LinkedCalls linked_calls(**arena, options.calls);
  g_recording = new Recording{std::move(arena).value(), std::move(recorder).value(), linked_calls, getpid()};
  return true;
}

bool IsTraceRecorded() {
  return g_recording != nullptr && g_recording->pid == getpid() &&
         g_recording->arena->header().state.load() == trace::ArenaState::kRecording;
}

void StopTraceRecording() {
  Recording* recording = std::exchange(g_recording, nullptr);
  if (recording == nullptr || recording->pid != getpid()) return;
  recording->linked_calls.Stop();
  const bool is_over = recording->recorder->TryStop();
  if (!is_over) return;
  static_cast<void>(recording->arena.release());  // threads may still be on their way out of a recorded call
  delete recording;
}

}  // namespace lagwatch::sdk

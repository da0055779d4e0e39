// SPDX-License-Identifier: Apache-2.0
// Records a process into an arena: lists its threads, has samplers look at them, and keeps the arena's tables
// of modules, names and clocks up to date.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/process/mapped_array.h"
#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "base/status.h"
#include "stack/code_map.h"
#include "trace/instrument/call_recorder.h"
#include "trace/instrument/function_filter.h"
#include "trace/record/arena.h"
#include "trace/record/hot_functions.h"
#include "trace/record/sampler.h"
#include "trace/record/script_samples.h"
#include "trace/record/self_captures.h"

namespace lagwatch::trace {

// Whether this system's threads can be recorded.
extern const bool kCanRecord;

struct CallOptions {
  bool are_recorded = false;  // of instrumented functions, and of parts that the program names
  bool are_required = true;   // false: a recorder that cannot record calls records the rest
  CallClock clock = CallClock::kPrecise;
  bool are_patched =
      false;  // also of functions built with -fpatchable-function-entry, which `filter` chooses
  FunctionFilter filter = {};
  bool finds_rules = false;     // a file of rules chooses, too:
  std::string rules_file = {};  // this one; empty: the one beside the program, if it is there
  // Patched functions with more calls a second leave, from then on; 0: none does.
  uint64_t most_calls_per_s = 100'000;
};

struct RecorderOptions {
  int64_t main_interval_ns = 10'000'000;    // how often the main thread is looked at: 1 to 100 ms
  int64_t worker_interval_ns = 10'000'000;  // … and all others; 0 is "never" for either
  uint32_t worker_groups = 2;               // threads that look at these
  bool has_timers = true;  // running threads capture themselves; else they are seen asleep only
  bool has_hooks = false;  // threads are captured in hooked calls, too
  HookOptions hooks;
  CallOptions calls;
  std::vector<int32_t> threads = {};     // that are sampled; empty: all
  DispatchSource* dispatches = nullptr;  // borrowed; null: no thread has a loop
  stack::CaptureOptions capture;
};

// The recording of calls. Thread safety: one thread at a time. Context: background.
class CallRecording {
 public:
  CallRecording() = default;
  ~CallRecording() { Stop(); }
  CallRecording(const CallRecording&) = delete;
  CallRecording& operator=(const CallRecording&) = delete;

  // Into the pool of `arena`, which must stay mapped for ever after. Errors: kUnavailable when there is such
  // a recording already.
  base::Status Start(Arena* arena, const CallOptions& options);
  // Patches modules loaded since. Does nothing if nothing is patched.
  void LookAtModules();
  // Has patched functions that are called too often leave. To be called several times a second.
  void LeaveHotOut(Arena* arena, uint64_t ticks_per_ms);
  void Stop();

 private:
  void FindRules();

  bool is_on_ = false;
  CallOptions options_;
  HotFunctions hot_{0};
};

// Thread safety: Start and TryStop from one thread at a time.
class Recorder {
 public:
  // Records into `arena`, which is borrowed (for ever, where calls are recorded), unwinding by `code`.
  // Errors: those of stack::StackCapturer, no memory, no threads; kUnavailable where !kCanRecord. Context:
  // background.
  static base::Result<std::unique_ptr<Recorder>> Start(Arena* arena, std::shared_ptr<stack::CodeMap> code,
                                                       const RecorderOptions& options);
  // Ends all of its threads; the recording stays. Returns false if one does not end in time: then this object
  // and the arena must be leaked. Context: background.
  [[nodiscard]] bool TryStop();
  // Waits for its threads, for as long as that takes: an exception may end the owner's start.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

 private:
  Recorder(Arena* arena, std::shared_ptr<stack::CodeMap> code);

  RecorderState state() {
    return {arena_, &stack_mutex_, &stacks_, &threads_, &ticks_per_ms_, scripts_.get()};
  }

  base::Status AddSampler(BlockPool pool, const RecorderOptions& options,
                          const std::atomic<int64_t>* interval_ns);
  base::Status StartThreads();
  base::Status StartSelfCaptures(const RecorderOptions& options);
  void DrainCaptures();
  void DescribeProcess(const RecorderOptions& options);
  static void Run(void* self);
  void KeepUp();
  // Drains captures until then, or until it is woken: then true.
  bool DrainUntil(int64_t due_ns);
  void ListThreads();
  // The thread's sampler; null without one, or if it is not sampled.
  Sampler* SamplerOf(int32_t tid);
  bool IsOurs(int32_t tid) const;
  void CopyModules();
  void NoteClocks();
  void NoteEnd();

  // A thread that some sampler looks at.
  struct KnownThread {
    int32_t tid;
    uint32_t place;
  };

  Arena* arena_;
  std::shared_ptr<stack::CodeMap> code_;
  std::unique_ptr<ScriptSamples> scripts_;
  std::mutex stack_mutex_;
  StackTable stacks_;
  ThreadPlaces threads_;
  std::unique_ptr<Sampler> main_sampler_;
  std::vector<std::unique_ptr<Sampler>> worker_samplers_;
  std::vector<int32_t> chosen_;  // RecorderOptions::threads
  base::MappedArray<KnownThread> known_;
  uint64_t period_ = 0;
  bool lists_now_ = false;
  bool is_abandoned_ = false;
  int64_t renamed_ns_ = 0;
  CallRecording calls_;
  std::mutex captures_mutex_;                    // of the next one, which the recorder's thread drains
  std::unique_ptr<SelfCaptures> self_captures_;  // null until they began
  std::atomic<uint64_t> ticks_per_ms_{0};
  std::atomic<bool> stopping_{false};
  base::Sleeper sleeper_;
  base::QuietThread thread_;
};

}  // namespace lagwatch::trace

// SPDX-License-Identifier: Apache-2.0
// Moves the threads' own records into the flight recorder: their captures of themselves, and the dispatches
// of their loops.
#pragma once

#include <cstdint>
#include <memory>

#include "base/process/mapped_array.h"
#include "base/status.h"
#include "stack/code_map.h"
#include "stack/own_stack.h"
#include "trace/hooks/hook_recorder.h"
#include "trace/record/arena.h"
#include "trace/record/dispatch_source.h"
#include "trace/record/recorder_state.h"
#include "trace/record/run_writer.h"

namespace lagwatch::trace {

// Thread safety: one thread at a time. At most one in a process.
class SelfCaptures {
 public:
  // Has the process's calls hooked. Borrows `state`, all that it points to, and `dispatches` (may be null).
  // Errors: those of stack::OwnStackWalker and HookRecorder. Context: background.
  static base::Result<std::unique_ptr<SelfCaptures>> Start(const RecorderState& state,
                                                           std::shared_ptr<stack::CodeMap> code,
                                                           HookOptions options, DispatchSource* dispatches);
  ~SelfCaptures();
  SelfCaptures(const SelfCaptures&) = delete;
  SelfCaptures& operator=(const SelfCaptures&) = delete;

  // Takes over the present captures; `clock` converts their times. To be called ten times a second. Samples
  // of the last kMostHeldNs may be missing until Stop(). Context: background.
  static constexpr int64_t kMostHeldNs = 200'000'000;
  void Drain(const ArenaClock& clock);
  // Removes the hooks; remaining captures can still be drained. Context: background.
  void Stop();
  // Whether a thread was still capturing when it stopped: it may use `state.scripts` for ever.
  bool is_stuck() const { return is_stuck_; }

 private:
  SelfCaptures(const RecorderState& state, std::shared_ptr<stack::CodeMap> code, DispatchSource* dispatches);

  // A thread's samples of one stack, one after the other; without a count they are written down as far as
  // they are known.
  static constexpr size_t kOpenRuns = 1024;
  // The stack of a thread's last copy.
  struct LastCopy {
    int32_t tid;
    uint32_t stack;
    bool is_complete;
  };
  void AddSample(const RunRecord& run);
  void FinishSamples(int32_t tid);
  void WriteOldSamples(int64_t before_ns);
  void WriteOpen(RunRecord* open);
  RunWriter& WriterOf(int32_t tid) { return tid == main_tid_ ? main_writer_ : worker_writer_; }
  void Write(int32_t tid, const CaptureRecord& record, const uint64_t* program_counters,
             const ArenaClock& clock);
  // The stack that the thread copied, with its script frames. kNoStack if it copied none.
  uint32_t StackOfCopy(int32_t tid, const CaptureRecord& record, bool* is_complete);
  uint32_t Intern();
  void DrainDispatches(const ArenaClock& clock);

  RecorderState state_;
  RecordCounters* counters_;
  std::shared_ptr<stack::CodeMap> code_;
  DispatchSource* dispatches_;  // may be null
  uint64_t forgotten_dispatches_ = 0;
  int32_t main_tid_;
  RunWriter main_writer_;
  RunWriter worker_writer_;
  std::unique_ptr<stack::Stack> stack_;
  std::unique_ptr<stack::OwnStackWalker> walker_;
  base::MappedArray<RunRecord> open_runs_;   // by the thread's id
  base::MappedArray<LastCopy> last_copies_;  // likewise
  HookRecorder hooks_;
  uint64_t dropped_captures_;  // of all recordings of this process so far
  uint64_t refused_copies_;    // likewise
  uint64_t copy_ticks_;        // likewise
  bool is_stopped_ = false;
  bool is_stuck_ = false;
};

}  // namespace lagwatch::trace

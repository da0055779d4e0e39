// SPDX-License-Identifier: Apache-2.0
#include "trace/record/script_samples.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/clock.h"

namespace lagwatch::trace {
namespace {

int64_t ThreadCpuNow() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * base::kNsPerSecond + used.tv_nsec;
}

}  // namespace

ScriptSamples::ScriptSamples(Arena* arena, std::shared_ptr<stack::CodeMap> code)
    : arena_(arena), code_(std::move(code)), functions_(arena) {}

void ScriptSamples::LookAtModules() {
  const std::lock_guard lock(mutex_);
  interpreters_.LookAtNewModules(code_.get());
  RefreshIfDue();
  if (raw_ != nullptr || !interpreters_.has_found()) return;
  auto raw = base::MapBlock<stack::RawStack>(1);
  if (raw == nullptr || !g_stack_copies.Prepare(CopyPieces, &interpreters_)) return;
  raw_ = std::move(raw);
  g_stack_copies.SetWanted(true);
}

void ScriptSamples::AddTo(const stack::CapturedThread& thread, stack::CodeMap* code, stack::Stack* stack) {
  const std::lock_guard lock(mutex_);
  const int64_t begin_ns = ThreadCpuNow();
  memory_.Use(nullptr, 0);
  interpreters_.AddTo(thread, code, stack);
  NoteFunctions(stack);
  arena_->header().counters.script_ns.Add(static_cast<uint64_t>(ThreadCpuNow() - begin_ns));
}

void ScriptSamples::Unwind(int tid, const StackCopy& copy, stack::Stack* stack) {
  stack->Clear();
  const std::lock_guard lock(mutex_);
  if (raw_ == nullptr) return;
  const int64_t begin_ns = ThreadCpuNow();
  stack::RawStack& raw = raw_[0];
  raw.registers = copy.registers;
  raw.address = copy.address;
  raw.size_bytes = std::min<uint64_t>(copy.size_bytes, sizeof copy.bytes);
  raw.end = copy.end;
  std::memcpy(raw.bytes, copy.bytes, raw.size_bytes);
  code_->Unwind(raw, stack);
  memory_.Use(&copy.pieces, base::SystemClock().MonoNs());
  interpreters_.AddTo({.tid = tid, .raw = &raw}, code_.get(), stack);
  memory_.Use(nullptr, 0);
  if (!NoteFunctions(stack)) has_missed_ = true;
  RecordCounters& counters = arena_->header().counters;
  counters.script_samples.Add();
  counters.script_ns.Add(static_cast<uint64_t>(ThreadCpuNow() - begin_ns));
}

void ScriptSamples::CopyPieces(void* self, const stack::Registers& registers, stack::MemoryPieces* pieces) {
  static_cast<stack::InterpreterStacks*>(self)->CopyPieces(registers, pieces);
}

void ScriptSamples::RefreshIfDue() {
  constexpr int64_t kShortestPauseNs = 100'000'000;
  constexpr int64_t kLongestPauseNs = 100'000'000'000;
  const int64_t now_ns = base::SystemClock().MonoNs();
  if (!std::exchange(has_missed_, false) || now_ns - refreshed_ns_ < refresh_pause_ns_) return;
  code_->Refresh();
  refreshed_ns_ = now_ns;
  refresh_pause_ns_ = std::clamp(2 * refresh_pause_ns_, kShortestPauseNs, kLongestPauseNs);
}

bool ScriptSamples::NoteFunctions(stack::Stack* stack) {
  bool has_scripts = false;
  for (stack::Frame& frame : std::span(stack->frames, stack->frame_count)) {
    if (frame.module == stack::kNoModule || !code_->modules().module(frame.module).is_language) continue;
    has_scripts = true;
    const uint64_t number = frame.function_offset;
    frame.offset -= number;
    frame.function_offset = functions_.Find(number, code_->script_functions());
  }
  return has_scripts;
}

}  // namespace lagwatch::trace

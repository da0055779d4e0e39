// SPDX-License-Identifier: Apache-2.0
// The script frames of sampled threads: see docs/design/trace_scripts.md.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/process/mapped_memory.h"
#include "stack/code_map.h"
#include "stack/interpreters/all/interpreter_stacks.h"
#include "stack/interpreters/sampled_memory.h"
#include "trace/hooks/stack_copies.h"
#include "trace/record/function_table.h"

namespace lagwatch::trace {

// Frames of scripts have, in the stacks that come from here, the function's index in the arena plus 1 as
// `function_offset`, and the line as `offset`; their module is a language's.
//
// Thread safety: any thread of the recorder's; one reads at a time, the others wait for it.
class ScriptSamples final : public stack::ScriptStacks {
 public:
  // `arena` is borrowed. Context: background.
  ScriptSamples(Arena* arena, std::shared_ptr<stack::CodeMap> code);

  // Looks for interpreters in modules that were loaded since. From the first one on threads copy their
  // stacks when they capture themselves. Context: watchdog.
  void LookAtModules();

  // Of a thread that sleeps, whose stack was just captured. Context: watchdog.
  void AddTo(const stack::CapturedThread& thread, stack::CodeMap* code, stack::Stack* stack) override;
  // Of thread `tid` as it copied itself. Leaves `stack` empty if the copy cannot be unwound. Context:
  // watchdog.
  void Unwind(int tid, const StackCopy& copy, stack::Stack* stack);

 private:
  static void CopyPieces(void* self, const stack::Registers& registers, stack::MemoryPieces* pieces);
  // Returns whether there are frames of scripts.
  bool NoteFunctions(stack::Stack* stack);
  void RefreshIfDue();

  Arena* arena_;
  std::shared_ptr<stack::CodeMap> code_;
  std::mutex mutex_;
  stack::SampledMemory memory_;
  stack::InterpreterStacks interpreters_{&memory_};
  FunctionTable functions_;
  // Interpreters' states lie in memory that the code map may not know yet. Refreshes are further and further
  // apart: threads without scripts need none.
  bool has_missed_ = false;
  int64_t refresh_pause_ns_ = 0;
  int64_t refreshed_ns_ = 0;
  base::MappedBlock<stack::RawStack> raw_;  // one; null until there is an interpreter
};

}  // namespace lagwatch::trace

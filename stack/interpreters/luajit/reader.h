// SPDX-License-Identifier: Apache-2.0
// Reads the calls of a thread's LuaJIT from LuaJIT's own data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/lua/calls.h"
#include "stack/interpreters/lua/source_names.h"
#include "stack/interpreters/luajit/function_names.h"
#include "stack/interpreters/luajit/layout.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/memory_pieces.h"

namespace lagwatch::stack::luajit {

// Reads only; every address and every type is checked, because the interpreter may go on while it is read. Of
// code that LuaJIT has compiled, the function in which it was entered is known, with the line of the loop;
// functions that were compiled into it are not. Context: watchdog; not thread-safe. Large: not for the stack.
class LuaJitReader {
 public:
  // Borrowed.
  void Attach(Memory* memory) { memory_ = memory; }

  // Reads the calls of those of `candidates` that are states which `raw`, a thread, runs, and adds the
  // functions to `functions`. False if none has a call of a function written in Lua, or if the calls are not
  // certain.
  bool Read(std::span<const uint64_t> candidates, const RawStack& raw, ScriptFunctions* functions,
            lua::Calls* calls);
  // The states of the last Read(), innermost first. 0 from their number on.
  uint64_t last_state(size_t index) const { return index < state_count_ ? states_[index].address : 0; }

  // As Interpreter::CopyPieces(), of the state at `address`. False if that is not one, or did not fit.
  bool CopyPieces(uint64_t address, const Registers& registers, MemoryPieces* pieces) const;

 private:
  static constexpr uint64_t kMostReads = 2000;  // for one stack: some two milliseconds
  static constexpr size_t kMostStates = 64;     // of a thread: coroutines that have resumed each other
  static constexpr size_t kGlobalBytes = 1024;

  struct JitState {
    uint64_t address;
    uint64_t global;
    uint64_t base;  // of the innermost function's values
    uint64_t stack;
    uint64_t last;
    uint64_t c_frame;

    bool Holds(uint64_t value) const { return value % 8 == 0 && stack < value && value <= last; }
  };
  struct LuaFunction {
    uint64_t address;
    bool is_script;
    bool is_c;
    uint64_t c_function;
    Prototype prototype;
  };
  // The innermost function as it runs.
  struct Top {
    uint64_t base;
    uint64_t next_instruction;  // 0: not known
    bool is_left_out;           // it is being entered or left
    uint32_t trace;             // the compiled code that runs, from 1 on; 0: none
  };
  // A function's frame on Lua's stack.
  struct Frame {
    uint64_t address;  // of the word before the function's first value
    LuaFunction function;
    uint64_t link;         // the kind of its call; of a copy for variable arguments, that of the frame below
    uint64_t caller;       // the frame of the function that has called it
    uint64_t caller_next;  // that function's next instruction; 0: it was left for C
    bool is_called_by_c() const { return (link & kKindMask) == kCFrameOfLua; }
  };

  bool IsOverBudget() const { return memory_->read_count() >= last_read_; }
  // The word of the thread's C stack, as it was captured if that is at hand.
  bool ReadStackWord(const RawStack& raw, uint64_t address, uint64_t* word);
  // Finds the states with calls, innermost first.
  void FindStates(std::span<const uint64_t> candidates, const RawStack& raw);
  bool ReadState(uint64_t address, const RawStack& raw, JitState* state);
  bool ReadFunction(uint64_t value, LuaFunction* function);
  // False if it is not certain which function is the innermost one.
  bool FindTop(const JitState& state, const RawStack& raw, Top* top);
  // The base of the function that entered compiled code, and the code's number. False if none runs.
  bool FindTrace(const JitState& state, Top* top);
  bool Walk(const JitState& state, const Top& top, const RawStack& raw, ScriptFunctions* functions,
            lua::Calls* calls);
  // Whether a function has its frame at `address`: the frames end before the stack's first values.
  static bool IsFrame(const JitState& state, uint64_t address) { return address > state.stack + kValueBytes; }
  bool ReadFrame(const JitState& state, uint64_t address, Frame* frame);
  // The next instruction of the function with the frame at `frame`, which has called C; 0: not known.
  // `c_frame`, of the interpreter that runs what C has called, becomes that of the one that runs the
  // function.
  uint64_t InstructionBelowC(const JitState& state, const RawStack& raw, uint64_t frame, uint64_t* c_frame);
  // 0 at the end.
  uint64_t PreviousCFrame(const RawStack& raw, uint64_t c_frame);
  uint64_t AddFunction(const Prototype& prototype, std::string_view name, ScriptFunctions* functions);

  Memory* memory_ = nullptr;
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
  size_t state_count_ = 0;
  std::array<JitState, kMostStates> states_;
  std::array<uint8_t, kGlobalBytes> global_;
  Frame frames_[2];
  FunctionNames names_;
  lua::FileNames files_;
};

}  // namespace lagwatch::stack::luajit

// SPDX-License-Identifier: Apache-2.0
// Reads the calls of a thread's Lua 5.1 to 5.4 from Lua's own data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/lua/calls.h"
#include "stack/interpreters/lua/function_names.h"
#include "stack/interpreters/lua/layout.h"
#include "stack/interpreters/lua/source_names.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/memory_pieces.h"

namespace lagwatch::stack::lua {

// Reads only; every address and every type is checked, because the interpreter may go on while it is read.
// Context: watchdog; not thread-safe. Large: not for the stack.
class LuaReader {
 public:
  // Both are borrowed.
  void Attach(Memory* memory, const LuaLayout* layout) {
    memory_ = memory;
    layout_ = layout;
  }

  // Reads the calls of those of `candidates` that are states which `raw`, a thread, runs, and adds the
  // functions to `functions`. False if none has a call of a function
  // written in Lua, or if the calls changed meanwhile and could not be read.
  bool Read(std::span<const uint64_t> candidates, const RawStack& raw, ScriptFunctions* functions,
            Calls* calls);
  // The states of the last Read(), innermost first. 0 from their number on.
  uint64_t last_state(size_t index) const { return index < state_count_ ? states_[index].address : 0; }

  // As Interpreter::CopyPieces(), of the state at `address`. False if that is not one, or did not fit.
  bool CopyPieces(uint64_t address, const Registers& registers, MemoryPieces* pieces) const;

 private:
  static constexpr int kTries = 3;
  static constexpr uint64_t kMostReads = 2000;  // for one stack: some two milliseconds
  static constexpr size_t kStateBytes = 176;
  static constexpr size_t kMostStates = 64;  // of a thread: coroutines that have resumed each other
  static constexpr size_t kMostCallBytes = 80;

  struct LuaState {
    uint64_t address;
    std::array<uint8_t, kStateBytes> bytes;
  };
  // A call as its CallInfo describes it.
  struct CallInfo {
    uint64_t address;
    uint64_t function;  // the address of the value that was called
    uint64_t instruction;
    uint64_t caller;
    bool is_tail_call;
    bool is_finalizer;
  };
  // The function that a call is of.
  struct Callee {
    bool is_c;
    uint64_t c_function;
    Prototype prototype;
  };
  bool IsOverBudget() const { return memory_->read_count() >= last_read_; }
  // Finds the states with calls, innermost first.
  void FindStates(std::span<const uint64_t> candidates, const RawStack& raw);
  bool ReadState(uint64_t address, LuaState* state);
  bool IsRunBy(const LuaState& state, const RawStack& raw) const;
  uint64_t StateMember(const LuaState& state, uint16_t offset) const;
  uint64_t BaseCallOf(const LuaState& state) const;
  bool ReadCalls(const RawStack& raw, ScriptFunctions* functions, Calls* calls);
  bool Walk(const LuaState& state, const RawStack& raw, ScriptFunctions* functions, Calls* calls);
  uint64_t BaseCallOf(uint64_t address, std::span<const uint8_t> state) const;
  bool ReadCallInfo(const LuaState& state, uint64_t address, CallInfo* call);
  bool ReadCallee(const LuaState& state, const CallInfo& call, Callee* callee);
  bool ReadPrototype(uint64_t address, Prototype* prototype);
  // The index of the instruction of a call; -1: it has not begun.
  int32_t IndexOf(const CallInfo& call, const Prototype& prototype) const;
  // The same for the call that runs: what it has saved may be old.
  int32_t RunningIndexOf(const CallInfo& call, const Prototype& prototype, const RawStack& raw) const;
  uint32_t ReadLine(const Prototype& prototype, int32_t index);
  uint32_t ReadLineFromAnchor(const Prototype& prototype, int32_t index);
  uint64_t AddFunction(const Prototype& prototype, std::string_view name, ScriptFunctions* functions);

  Memory* memory_ = nullptr;
  const LuaLayout* layout_ = nullptr;
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
  size_t state_count_ = 0;
  std::array<LuaState, kMostStates> states_;
  FunctionNames names_;
  FileNames files_;
  Callee callees_[2];
  std::array<int8_t, 1024> deltas_;
};

}  // namespace lagwatch::stack::lua

// SPDX-License-Identifier: Apache-2.0
// The stacks of the scripts that run in a process, of all interpreters that are known.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/memory.h"
#include "stack/script_stacks.h"

namespace lagwatch::stack {

// Looks for interpreters when modules were loaded. Context: watchdog; not thread-safe.
class InterpreterStacks final : public ScriptStacks {
 public:
  // With the process's present memory, as it is read after each MoveTo().
  explicit InterpreterStacks(const base::Process& process)
      : present_memory_(process), memory_(&present_memory_) {}
  // `memory`, of this process, is borrowed.
  explicit InterpreterStacks(Memory* memory) : present_memory_(base::Process::Own()), memory_(memory) {}
  InterpreterStacks(const InterpreterStacks&) = delete;
  InterpreterStacks& operator=(const InterpreterStacks&) = delete;

  // Asks `next`, too, which may be null. Borrowed.
  void SetNext(ScriptStacks* next) { next_ = next; }

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  void MoveTo(const base::Process& process) override;
  std::optional<ScriptLock> FindLock(int tid, const FutexWait& futex) override;
  ScriptTask FindTask(uint64_t number) override;
  policies::Doing FindWait(int tid, const FutexWait& futex, CodeMap* code) override;
  ScriptPeer FindPeer(int tid, const FutexWait& futex) override;
  std::optional<ScriptThreadWait> FindThreadWait(int tid) override;
  size_t ListThreads(std::span<int32_t> tids) override;
  bool NameThread(int tid, std::span<char> name) override;
  const char* GcCause() override;
  const char* unreadable() const override;

  // As AddTo() does first.
  void LookAtNewModules(CodeMap* code);
  // Whether there is an interpreter whose frames are known.
  bool has_found() const { return has_found_; }
  // See Interpreter::CopyPieces(). Context: signal.
  void CopyPieces(const Registers& registers, MemoryPieces* pieces) const {
    for (const auto& interpreter : interpreters_) interpreter->CopyPieces(registers, pieces);
  }

 private:
  void LookAtModulesOf(const Stack& stack, CodeMap* code);
  void LookAtModule(uint32_t index, CodeMap* code);

  PresentMemory present_memory_;
  Memory* memory_;
  const std::array<std::unique_ptr<Interpreter>, 11> interpreters_{
      CreatePython(memory_), CreateJvm(memory_),      CreateV8(memory_),    CreateLua(memory_),
      CreateLuaJit(memory_), CreateRuby(memory_),     CreatePerl(memory_),  CreatePhp(memory_),
      CreateGo(memory_),     CreatePostgres(memory_), CreateFibers(memory_)};
  ScriptStacks* next_ = nullptr;
  uint32_t seen_modules_ = 0;
  // Of a process that is looked at for a few stacks, only the modules in these are read.
  bool is_visiting_ = false;
  std::bitset<ModuleMap::kMaxModules> visited_modules_;
  size_t registered_count_ = 0;
  bool has_found_ = false;
};

}  // namespace lagwatch::stack

// SPDX-License-Identifier: Apache-2.0
// Reads the Python frames of a thread from CPython's own data.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "stack/code/script_functions.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/memory_pieces.h"
#include "stack/interpreters/python/layout.h"
#include "stack/interpreters/python/objects.h"
#include "stack/interpreters/python/tasks.h"
#include "stack/interpreters/script_frames.h"
#include "stack/script_stacks.h"

namespace lagwatch::stack::python {

// A running task as text; empty where there is none.
struct TaskText {
  char name[224];      // "NAME FUNCTION() (FILE)"
  char awaiters[512];  // "NAME FUNCTION() (FILE:LINE)" of each, separated by commas, from the one that waits
                       // for it on

  bool operator==(const TaskText& other) const {
    return std::strcmp(name, other.name) == 0 && std::strcmp(awaiters, other.awaiters) == 0;
  }
};

// One interpreter in one process. Reads only; every address and every type is checked, because the
// interpreter goes on while it is read. Context: watchdog; not thread-safe. Large: not for the stack.
class PythonReader {
 public:
  // Whether these are an interpreter's whose layout is known. `minor_hint`: as for FindLayout. `memory` is
  // borrowed.
  bool Attach(Memory* memory, const Symbols& symbols, int minor_hint);
  // As Py_Version has it; 0 where it is missing, as until 3.10.
  uint32_t version() const { return version_; }

  // Reads the frames of thread `tid`, and adds their functions to `functions`. False if the thread runs no
  // Python code, or if its frames changed meanwhile and could not be read.
  bool Read(int tid, ScriptFunctions* functions, ScriptFrames* frames);

  // As Interpreter::CopyPieces(), for thread `tid`, the calling one. Only of threads that were read before.
  void CopyPieces(int tid, MemoryPieces* pieces) const;
  // Reads the task of asyncio whose coroutine is among the frames that the last Read() found, and the tasks
  // that wait for it, as far as each waits for the next one itself. False if there is none.
  bool ReadTask(ScriptFunctions* functions, TaskText* task);

  // The thread that holds the global interpreter lock which `address` is a part of; none if it is in no such
  // lock, or if none holds it.
  std::optional<ScriptLock> FindLock(uint64_t address);
  // The thread that holds the threading.RLock which a thread waits for in `futex`; none if it waits for no
  // such lock.
  std::optional<ScriptLock> FindReentrantLock(const FutexWait& futex);

 private:
  static constexpr int kTries = 3;
  static constexpr uint64_t kMostReads = 6000;  // for one stack: a few milliseconds
  static constexpr int kMostInterpreters = 64;
  static constexpr int kMostThreads = 4096;
  static constexpr size_t kMostVisited = 512;  // frames of a stack in which a task is looked for
  static constexpr size_t kMostTableBytes = 16 << 10;

  // A function that was read, by the addresses of its code object and of its texts.
  struct KnownFunction {
    uint64_t code = 0;
    uint64_t file_name = 0;
    uint64_t name = 0;
    uint64_t function = 0;
  };
  // The function and the line of an instruction, as they were read last.
  struct InstructionPlace {
    uint64_t code = 0;
    uint64_t instruction = 0;
    uint64_t function = 0;
    uint32_t line = 0;
  };
  struct FoundState {
    uint64_t state = 0;
    uint64_t interpreter = 0;
  };
  // A thread's state, at a place by its id; a hint, since the thread may have ended, or be another one. Of
  // the members, only the state is read by the threads themselves.
  struct ThreadState {
    int tid = 0;
    uint64_t interpreter = 0;
    std::atomic<uint64_t> state{0};
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "not signal-safe");
  bool IsOverBudget() const { return memory_->read_count() >= last_read_; }
  // The current frame of thread `tid` and where its address is kept; 0 if there is none.
  uint64_t FindFrame(int tid, uint64_t* place);
  FoundState FindState(int tid);  // its members are 0 if it has none
  bool IsThread(uint64_t state, int tid) { return state != 0 && TidOf(state) == tid; }
  // 0 if it has none.
  int TidOf(uint64_t state);
  // Of the first thread for whose state that is true; its members are 0 if there is none.
  template <typename IsWanted>
  FoundState FindStateIf(IsWanted is_wanted);
  enum class Outcome { kDone, kChanged };
  Outcome Walk(uint64_t frame, ScriptFunctions* functions, ScriptFrames* frames);
  // The function and the line of a frame, by its bytes.
  bool ReadFrame(std::span<const uint8_t> bytes, ScriptFunctions* functions, ScriptFrame* frame);
  // The function and the line of an instruction.
  bool ReadPlace(uint64_t code, uint64_t instruction, ScriptFunctions* functions, ScriptFrame* frame);
  bool ReadFunction(uint64_t code, ScriptFunctions* functions, uint64_t* function);
  uint32_t ReadLine(uint64_t code, uint64_t instruction);
  // Appends "NAME FUNCTION() (FILE)", or "(FILE:LINE)", to `text`. Nothing is appended where it does not fit.
  bool AppendTask(const Task& task, bool with_line, ScriptFunctions* functions, std::span<char> text);
  bool IsOnStack(uint64_t frame) const;
  // Whether the type has that name.
  bool IsOfType(uint64_t type, std::string_view name);

  Memory* memory_ = nullptr;
  Symbols symbols_{};
  uint32_t version_ = 0;
  PythonLayout layout_{};
  // The part of a frame that is read, up to the last member that is needed: what follows may not be mapped.
  static constexpr size_t kMostFrameBytes = 128;
  size_t frame_bytes_ = 0;
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
  std::array<KnownFunction, 512> known_{};
  std::array<InstructionPlace, 512> places_{};
  std::array<ThreadState, 256> states_{};
  Objects objects_;
  Tasks tasks_;
  // Of the last stack that was read.
  uint64_t interpreter_ = 0;
  size_t visited_count_ = 0;
  std::array<uint64_t, kMostVisited> visited_;  // its frames' addresses
  std::array<uint8_t, kMostTableBytes> table_;
};

template <typename IsWanted>
PythonReader::FoundState PythonReader::FindStateIf(IsWanted is_wanted) {
  uint64_t interpreter = 0;
  memory_->Read(symbols_.runtime + layout_.interpreters, &interpreter);
  for (int i = 0; interpreter != 0 && i < kMostInterpreters; ++i) {
    uint64_t state = 0;
    memory_->Read(interpreter + layout_.threads, &state);
    for (int j = 0; state != 0 && j < kMostThreads && !IsOverBudget(); ++j) {
      if (is_wanted(state)) return {state, interpreter};
      if (!memory_->Read(state + layout_.next_thread, &state)) return {};
    }
    if (!memory_->Read(interpreter + layout_.next_interpreter, &interpreter)) return {};
  }
  return {};
}

}  // namespace lagwatch::stack::python

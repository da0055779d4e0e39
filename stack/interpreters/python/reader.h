// SPDX-License-Identifier: Apache-2.0
// Reads the Python frames of a thread from CPython's own data.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/memory_pieces.h"
#include "stack/interpreters/python/layout.h"
#include "stack/interpreters/script_frames.h"
#include "stack/scripts/script_functions.h"
#include "stack/scripts/script_stacks.h"

namespace lagwatch::stack::python {

// One interpreter in one process. Reads only; every address and every type is checked, because the
// interpreter goes on while it is read. Context: watchdog; not thread-safe. Large: not for the stack.
class Reader {
 public:
  // The interpreter's own objects. 0: not found.
  struct Symbols {
    uint64_t runtime;  // _PyRuntime
    uint64_t code_type;
    uint64_t text_type;
    uint64_t bytes_type;
    uint64_t version;  // Py_Version; missing until 3.10

    static Symbols Of(const ExportedSymbols& exports);
  };
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

  // The thread that holds the global interpreter lock which `address` is a part of; none if it is in no such
  // lock, or if none holds it.
  std::optional<ScriptLock> FindLock(uint64_t address);

 private:
  static constexpr int kTries = 3;
  static constexpr uint64_t kMostReads = 6000;  // for one stack: a few milliseconds
  static constexpr int kMostInterpreters = 64;
  static constexpr int kMostThreads = 4096;
  static constexpr size_t kMostTableBytes = 16 << 10;

  // A function that was read, by the addresses of its code object and of its texts.
  struct Known {
    uint64_t code = 0;
    uint64_t file_name = 0;
    uint64_t name = 0;
    uint64_t function = 0;
  };
  // The function and the line of an instruction, as they were read last.
  struct Place {
    uint64_t code = 0;
    uint64_t instruction = 0;
    uint64_t function = 0;
    uint32_t line = 0;
  };
  // A thread's state, at a place by its id; a hint, since the thread may have ended, or be another one.
  using ThreadState = std::atomic<uint64_t>;
  static_assert(ThreadState::is_always_lock_free, "not signal-safe");
  bool IsOverBudget() const { return memory_->read_count() >= last_read_; }
  // The current frame of thread `tid` and where its address is kept; 0 if there is none.
  uint64_t FindFrame(int tid, uint64_t* place);
  // The thread's state; 0 if it has none.
  uint64_t FindState(int tid);
  bool IsThread(uint64_t state, int tid) { return state != 0 && TidOf(state) == tid; }
  // 0 if it has none.
  int TidOf(uint64_t state);
  enum class Outcome { kDone, kChanged };
  Outcome Walk(uint64_t frame, ScriptFunctions* functions, ScriptFrames* frames);
  // The function and the line of an instruction.
  bool ReadPlace(uint64_t code, uint64_t instruction, ScriptFunctions* functions, ScriptFrame* frame);
  bool ReadFunction(uint64_t code, ScriptFunctions* functions, uint64_t* function);
  uint32_t ReadLine(uint64_t code, uint64_t instruction);
  bool IsOfType(uint64_t object, uint64_t type);
  // Returns the size in UTF-8, cut to fit; 0 if it is no text.
  size_t ReadText(uint64_t object, char* text, size_t size_bytes);

  Memory* memory_ = nullptr;
  Symbols symbols_{};
  uint32_t version_ = 0;
  Layout layout_{};
  // The part of a frame that is read, up to the last member that is needed: what follows may not be mapped.
  static constexpr size_t kMostFrameBytes = 128;
  size_t frame_bytes_ = 0;
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
  std::array<Known, 512> known_{};
  std::array<Place, 512> places_{};
  std::array<ThreadState, 256> states_{};
  std::array<uint8_t, kMostTableBytes> table_;
};

}  // namespace lagwatch::stack::python

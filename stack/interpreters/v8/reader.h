// SPDX-License-Identifier: Apache-2.0
// Reads the JavaScript frames of a thread from its stack and V8's heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/code/script_functions.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"
#include "stack/interpreters/v8/compiled_code.h"
#include "stack/interpreters/v8/heap.h"
#include "stack/interpreters/v8/layout.h"
#include "stack/interpreters/v8/lines.h"
#include "stack/interpreters/v8/stack_words.h"

namespace lagwatch::stack::v8 {

// The code that a process has.
class CodeKinds {
 public:
  enum class CodeKind : uint8_t {
    kOther,
    kBuiltIn,    // in V8's module
    kGenerated,  // made at run time
  };
  virtual ~CodeKinds() = default;
  virtual CodeKind KindOf(uint64_t program_counter) = 0;
};

// The innermost frame of a run: frames of V8's code, from where it called C++ or is now out to where C++
// called it.
struct RunStart {
  uint64_t end_of_call = 0;  // the address after the instruction that it is at
  uint64_t frame_pointer = 0;
  // As the interpreter keeps them in registers; 0 unless the thread is in V8's code.
  uint64_t bytecode_array = 0;
  uint64_t bytecode_offset = 0;
};

// V8 in one process. Reads only; every object and its type is checked, because V8 may go on while it is read.
// Context: watchdog; not thread-safe. Large: not for the stack.
class V8Reader {
 public:
  // Whether these are a V8's whose layout is known. `memory` is borrowed.
  bool Attach(Memory* memory, const ExportedSymbols& exports);
  void AttachForTest(Memory* memory, const V8Layout& layout) {
    layout_ = layout;
    heap_.Attach(memory, &layout_);
    compiled_.AttachForTest(&heap_, &layout_);
  }
  const V8Layout& layout() const { return layout_; }
  // 0 if it is not known.
  int32_t major_version() const { return version_.major; }

  // To be called before the runs of a stack are read.
  void BeginStack();
  // Appends the frames of a run to `frames`, and their functions to `functions`. False, and nothing is
  // appended, unless the run's frames lead to its end: then it is no run, or the thread went on.
  // `end`, which may be null, gets the frame pointer of the run's last frame.
  bool ReadRun(const RunStart& start, const StackWords& stack, CodeKinds* code, ScriptFunctions* functions,
               ScriptFrames* frames, uint64_t* end = nullptr);

 private:
  static constexpr uint64_t kMostReads = 3000;  // for one stack: a few milliseconds
  static constexpr int kMostFrames = 2000;      // of all kinds, in one run
  static constexpr size_t kMostTableBytes = 16 << 10;

  // A frame of a script's function, as its words are.
  struct FrameWords {
    uint64_t end_of_call;
    uint64_t function;
    uint64_t bytecode_array;
    uint64_t bytecode_offset;
  };
  // A function that was read, by the addresses of its shared part and of its texts.
  struct KnownFunction {
    uint64_t shared = 0;
    uint64_t name_or_scope = 0;
    uint64_t script = 0;
    uint64_t function = 0;
  };
  bool IsOverBudget() const { return heap_.memory().read_count() >= last_read_; }
  // Does nothing if it is not a function's.
  void AddFrame(const FrameWords& words, const RunStart& start, CodeKinds* code, ScriptFunctions* functions,
                ScriptFrames* frames);
  void AddBuiltin(uint64_t function, ScriptFunctions* functions, ScriptFrames* frames);
  bool IsFunction(uint64_t word);
  // Whether a function without a script is one that scripts call: neither C++ of the program's nor V8's
  // helper.
  bool IsScriptsBuiltin(uint64_t shared);
  bool ReadFunction(uint64_t shared, ScriptFunctions* functions, KnownFunction* function);
  // Returns the size of the name; 0 if it has none.
  size_t ReadName(uint64_t name_or_scope, char* text, size_t size_bytes);
  // The offset of the bytecode that a frame is at; kNone where there is none.
  int64_t FindBytecode(const FrameWords& words, uint64_t shared, const RunStart& start,
                       CodeKinds::CodeKind kind);
  void AddOptimized(const FrameWords& words, const KnownFunction& function, ScriptFunctions* functions,
                    ScriptFrames* frames);
  uint32_t ReadLine(uint64_t script, const Position& position);
  Position ReadPosition(uint64_t table, int64_t code_offset);

  Heap heap_;
  Version version_;
  V8Layout layout_{};
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
  std::array<KnownFunction, 512> known_{};
  std::array<uint8_t, kMostTableBytes> table_{};
  LineCounter lines_;
  CompiledCode compiled_;
};

}  // namespace lagwatch::stack::v8

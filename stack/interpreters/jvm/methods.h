// SPDX-License-Identifier: Apache-2.0
// Names, files and lines of Java methods.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/code/script_functions.h"
#include "stack/interpreters/jvm/layout.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::jvm {

// Context: watchdog; not thread-safe. Large: not for the stack.
class Methods {
 public:
  // Both are borrowed.
  void Attach(Memory* memory, const JvmLayout* layout) {
    memory_ = memory;
    layout_ = layout;
  }

  struct MethodPlace {
    uint64_t function;  // in ScriptFunctions
    uint32_t line;      // 0: not known
    bool is_hidden;     // the JVM's own glue, which its stack traces leave out
  };
  // Whether the object at `method` is a method, as far as can be seen.
  bool IsMethod(uint64_t method);
  // The bytecode's index; -1 if `bytecode` is not in the method.
  int64_t IndexOf(uint64_t method, uint64_t bytecode);
  // Whether the bytecode at that index enters a monitor.
  bool IsMonitorEnter(uint64_t method, int64_t bci);
  // The first bytecode of a loop for a thread that is between `low` and `high`, in some loop: `high` itself
  // if it is in one, else of the last loop before it, of the first after `low` if `high` is INT64_MAX. -1
  // without one. Goes by the jumps back, of less than 4 KiB.
  int64_t FindLoop(uint64_t method, int64_t low, int64_t high);
  // `bci` is a bytecode's index; below 0: not known. False if the method cannot be read.
  bool Find(uint64_t method, int64_t bci, ScriptFunctions* functions, MethodPlace* place);

 private:
  static constexpr size_t kMostTableBytes = 8 << 10;
  // A method by its address and that of its constant part.
  struct KnownMethod {
    uint64_t method = 0;
    uint64_t constants = 0;
    uint64_t function = 0;
    bool is_hidden = false;
  };
  // The constant part of a method, and its pool. False if it is not one.
  struct Parts {
    uint64_t constants;
    uint64_t pool;
    uint64_t holder;
    uint16_t code_size;
  };
  bool ReadParts(uint64_t method, Parts* parts);
  bool ReadNames(const Parts& parts, ScriptFunctions* functions, KnownMethod* known);
  uint32_t ReadLine(const Parts& parts, int64_t bci);
  size_t ReadSymbol(uint64_t symbol, char* text, size_t size_bytes);
  size_t ReadPoolSymbol(uint64_t pool, uint16_t index, char* text, size_t size_bytes);

  Memory* memory_ = nullptr;
  const JvmLayout* layout_ = nullptr;
  std::array<KnownMethod, 512> known_{};
  std::array<uint8_t, kMostTableBytes> table_;
};

}  // namespace lagwatch::stack::jvm

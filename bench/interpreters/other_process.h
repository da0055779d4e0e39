// SPDX-License-Identifier: Apache-2.0
// A process whose interpreter is read from outside: its memory, its modules and its threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stack/frames/raw_stack.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"
#include "stack/scripts/script_functions.h"

namespace lagwatch::interpreters_bench {

// Reads the stacks of the scripts of one process.
class StackReader {
 public:
  virtual ~StackReader() = default;
  // Takes what a capture has of the main thread, where that is needed. Not counted as reading.
  virtual void Capture() {}
  virtual bool Read() = 0;
  // "NAME (FILE):LINE|…" of what was read, innermost first.
  virtual std::string Text() const = 0;
};

class OtherMemory final : public stack::Memory {
 public:
  explicit OtherMemory(pid_t pid) : pid_(pid) {}

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override;

 private:
  pid_t pid_;
};

// Shows the files that are mapped, until `visit` returns true. Returns whether it did.
using VisitModule = std::function<bool(const std::string& path, const stack::ExportedSymbols& exports)>;
bool FindModule(pid_t pid, stack::Memory* memory, const VisitModule& visit);

// The mappings that are private and writable.
std::vector<stack::MemoryRegion> WritableMemory(pid_t pid);

// Stops the process's main thread for a moment, and copies its registers and its stack. The process must be a
// child, and is traced from then on.
bool CaptureMainThread(pid_t pid, stack::Memory* memory, const std::vector<stack::MemoryRegion>& regions,
                       stack::RawStack* raw);

// One of Text()'s parts.
std::string TextOfFrame(uint64_t function, uint32_t line, const stack::ScriptFunctions& functions);

}  // namespace lagwatch::interpreters_bench

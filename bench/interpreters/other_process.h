// SPDX-License-Identifier: Apache-2.0
// A process whose interpreter is read from outside: its memory, its modules and its threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"

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

// Captures of a thread, the main one without `tid`. The process must be a child. The main thread is traced
// from the first capture on, another one only during each: a JVM's threads handle faults of their own.
class ThreadCapture {
 public:
  explicit ThreadCapture(pid_t pid, pid_t tid = 0) : pid_(pid), tid_(tid == 0 ? pid : tid), memory_(pid) {}

  // Stops the thread for a moment, and copies its registers and its stack.
  void Take();
  pid_t pid() const { return pid_; }
  OtherMemory* memory() { return &memory_; }
  bool is_taken() const { return is_taken_; }
  const stack::RawStack& raw() const { return *raw_; }
  // The mappings that are private and writable.
  stack::StackRegions regions() const {
    return {.regions = regions_.data(), .count = regions_.size(), .main_stack = {}};
  }

 private:
  bool CopyThread();

  pid_t pid_;
  pid_t tid_;
  OtherMemory memory_;
  std::vector<stack::MemoryRegion> regions_;
  std::unique_ptr<stack::RawStack> raw_ = std::make_unique<stack::RawStack>();
  uint64_t count_ = 0;
  bool is_taken_ = false;
};

// One of Text()'s parts.
std::string TextOfFrame(uint64_t function, uint32_t line, const stack::ScriptFunctions& functions);
std::string TextOf(const stack::ScriptFrames& frames, const stack::ScriptFunctions& functions);

}  // namespace lagwatch::interpreters_bench

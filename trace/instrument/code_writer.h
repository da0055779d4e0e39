// SPDX-License-Identifier: Apache-2.0
// Writes to code that other threads run, without ever making it writable: the kernel writes, as it does for a
// debugger. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::trace {

inline constexpr uint64_t kCodePageBytes = 4096;
constexpr uint64_t PageDown(uint64_t address) { return address & ~(kCodePageBytes - 1); }
constexpr uint64_t PageUp(uint64_t address) { return PageDown(address + kCodePageBytes - 1); }

// Changes code; one at a time in a process, others wait. Holds a descriptor on the process's memory: to be
// made and destroyed on a thread with its own descriptor table (base::RunWithOwnFiles), or the program could
// write there by mistake, and its children could.
class CodeWriter {
 public:
  // The object is not usable if the system lacks or forbids the calls that it needs.
  CodeWriter();
  ~CodeWriter();
  CodeWriter(const CodeWriter&) = delete;
  CodeWriter& operator=(const CodeWriter&) = delete;

  bool is_usable() const { return memory_fd_ >= 0; }
  // Byte by byte, each of which other threads see whole.
  bool Write(uint64_t address, const unsigned char* bytes, size_t size_bytes) const;
  bool WriteByte(uint64_t address, unsigned char byte) const { return Write(address, &byte, 1); }
  // Once it has returned, every processor runs the code that was written before: without it, one may go on
  // with instructions that it has fetched earlier.
  static bool SynchronizeProcessors();
  // Memory for code at just that place, all zero; false when something is there.
  static bool Map(uint64_t address, uint64_t size_bytes);
  static void Unmap(uint64_t address, uint64_t size_bytes);

 private:
  int memory_fd_ = -1;
};

}  // namespace lagwatch::trace

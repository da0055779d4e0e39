// SPDX-License-Identifier: Apache-2.0
// The content of a core file, in the form in which a living process is read: Process::Core() makes a process
// of it. Context: background; const methods from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::base {

class CoreImage {
 public:
  // The process's id when it was there.
  virtual int32_t pid() const = 0;
  // A folder with `maps`, `task/TID/stat` and so on, as /proc has them. Valid as long as the image; at most
  // 24 bytes, so that paths built in place have room.
  virtual const char* folder() const = 0;
  // As Process::Read().
  virtual size_t Read(uint64_t address, void* destination, size_t size_bytes) const = 0;
  // Copies the registers of a thread, in the kernel's layout (user_regs_struct); false if there is no such
  // thread, or if the layout has another size.
  virtual bool ReadRegisters(int32_t tid, void* registers, size_t size_bytes) const = 0;

 protected:
  ~CoreImage() = default;
};

}  // namespace lagwatch::base

// SPDX-License-Identifier: Apache-2.0
// Whatever an ELF file holds: it yields frames, or none.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "collector/symbols/elf/module_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  int fd = memfd_create("elf", MFD_CLOEXEC);
  if (write(fd, data, size_bytes) == static_cast<ssize_t>(size_bytes)) {
    auto symbols = lagwatch::collector::ModuleSymbols::Open(std::span(&fd, 1), -1);
    for (uint64_t offset = 0; symbols.ok() && offset < 0x2000; offset += 0x8) (*symbols)->FramesAt(offset);
  }
  close(fd);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Whatever an ELF file holds: it yields names and sections, or none.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "stack/elf/elf_file.h"
#include "stack/elf/frame_section_file.h"
#include "stack/elf/local_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace lagwatch::stack;
  static const int fd = memfd_create("elf", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size_bytes, 0) != static_cast<ssize_t>(size_bytes)) return 0;
  auto file = ElfFile::Open(path);
  if (!file) return 0;
  const std::string build_id = file->BuildId();
  LoadDebugFrame(path, build_id);
  LoadEhFrame(path, build_id);
  FunctionTable table = FunctionTable::Load(path, build_id);
  for (uint64_t offset = 0; offset < 0x8000; offset += 0x10) table.NameAt(offset);
  return 0;
}

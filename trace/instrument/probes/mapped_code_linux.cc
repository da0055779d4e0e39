// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/owned_fd.h"
#include "base/process/regular_file.h"
#include "trace/instrument/probes/mapped_code.h"

namespace lagwatch::trace {
namespace {

// The file that the mapping is of, if its part [offset, offset + size) is there. Its inode says nothing in an
// overlay; a file that was replaced has another name in the map.
int OpenMapped(const MemoryMap::Mapping& mapping, uint64_t offset, uint64_t size_bytes) {
  struct stat status {};
  const int file = base::OpenRegularFile(mapping.path.c_str(), &status);
  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  if (file >= 0 && offset + size_bytes <= (file_bytes + kCodePageBytes - 1) / kCodePageBytes * kCodePageBytes)
    return file;
  const base::OwnedFd other(file);
  return -1;
}

// Makes `copy` equal to the code at `begin`, which others may have patched, too, with the new bytes in it.
bool FillCopy(const CodeWriter& writer, uint64_t copy, uint64_t begin, uint64_t size_bytes, uint64_t at,
              const unsigned char* bytes, size_t count) {
  const auto* now = reinterpret_cast<const unsigned char*>(begin);
  const auto* there = reinterpret_cast<const unsigned char*>(copy);
  for (uint64_t i = 0; i < size_bytes; ++i) {
    const unsigned char wanted = i - at < count ? bytes[i - at] : now[i];
    if (there[i] != wanted && !writer.WriteByte(copy + i, wanted)) return false;
  }
  return true;
}

}  // namespace

bool HasFileBytes(const MemoryMap& memory, uint64_t address, size_t size_bytes) {
  unsigned char bytes[64];
  const MemoryMap::Mapping* mapping = memory.FindFile(address, address + size_bytes);
  if (mapping == nullptr || size_bytes > sizeof bytes) return false;
  const uint64_t offset = mapping->file_offset + (address - mapping->begin);
  const base::OwnedFd file(OpenMapped(*mapping, offset, size_bytes));
  return file &&
         pread(file.get(), bytes, size_bytes, static_cast<off_t>(offset)) ==
             static_cast<ssize_t>(size_bytes) &&
         std::memcmp(bytes, reinterpret_cast<const void*>(address), size_bytes) == 0;
}

bool HasFile(const MemoryMap& memory, uint64_t address) {
  const MemoryMap::Mapping* mapping = memory.FindFile(address, address + 1);
  return mapping != nullptr && base::OwnedFd(OpenMapped(*mapping, mapping->file_offset, 1));
}

bool ExchangeBytes(const CodeWriter& writer, const MemoryMap& memory, uint64_t address,
                   const unsigned char* bytes, size_t size_bytes) {
  const uint64_t begin = address & ~(kCodePageBytes - 1);
  const uint64_t end = (address + size_bytes + kCodePageBytes - 1) & ~(kCodePageBytes - 1);
  const MemoryMap::Mapping* mapping = memory.FindFile(begin, end);
  if (mapping == nullptr || !mapping->is_private_code) return false;
  const uint64_t offset = mapping->file_offset + (begin - mapping->begin);
  const base::OwnedFd file(OpenMapped(*mapping, offset, end - begin));
  const int kind = file ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS;
  void* copy = mmap(nullptr, end - begin, PROT_READ | PROT_EXEC, kind, file.get(),
                    file ? static_cast<off_t>(offset) : 0);
  if (copy == MAP_FAILED) return false;
  // Threads that come by in between wait in their page fault for the same lock of the kernel's, then find the
  // copy.
  const bool is_done = FillCopy(writer, reinterpret_cast<uint64_t>(copy), begin, end - begin, address - begin,
                                bytes, size_bytes) &&
                       mremap(copy, end - begin, end - begin, MREMAP_MAYMOVE | MREMAP_FIXED,
                              reinterpret_cast<void*>(begin)) != MAP_FAILED;
  if (!is_done) munmap(copy, end - begin);
  return is_done;
}

}  // namespace lagwatch::trace

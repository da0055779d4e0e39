// SPDX-License-Identifier: Apache-2.0
// ELF files with a section table, of this machine's word size and byte order. They are read, not mapped,
// and not a byte of them is trusted: a file that shrinks or is damaged lacks sections, it never makes a
// fault. Context: background.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::stack {

struct ElfSection {
  std::string bytes;  // decompressed where the file has them compressed
  uint64_t address;   // in the module's own address space; 0 when it is not loaded
  uint32_t link;      // the index of the section that this one refers to
};

class ElfFile {
 public:
  // None when there is no such file.
  static std::optional<ElfFile> Open(const std::string& path);
  // None, too, when its build id is not `build_id` (raw bytes; empty for a file that has none).
  static std::optional<ElfFile> OpenBuild(const std::string& path, std::string_view build_id);
  // The separate debug file of a module, which distributions keep at `debug_root`/.build-id/ab/cdef….debug.
  static std::optional<ElfFile> OpenDebugFile(std::string_view build_id,
                                              const std::string& debug_root = kDebugRoot);
  // The small ELF file that some distributions put into a stripped module: .gnu_debugdata, compressed by xz.
  std::optional<ElfFile> OpenMiniDebugInfo() const;

  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&&) = delete;
  ~ElfFile();

  // Raw bytes; empty when it has none.
  std::string BuildId() const;

  // None when there is no such section, it has no bytes in this file, or they cannot be read: over 256 MiB,
  // or compressed by something else than zlib. The first of several.
  std::optional<ElfSection> ReadSection(std::string_view name) const;
  std::optional<ElfSection> ReadSection(uint32_t type) const;
  std::optional<ElfSection> ReadSectionAt(size_t index) const;

  // Whether the file has bytes of a section with that name.
  bool HasSection(std::string_view name) const;
  // The NUL-terminated text at an address of the module's own address space, among what is loaded and never
  // written to: constants. None where there is none, or where it is longer than `max_bytes`.
  std::optional<std::string> ReadConstantText(uint64_t address, size_t max_bytes) const;

  static constexpr char kDebugRoot[] = "/usr/lib/debug";

 private:
  ElfFile() = default;

  bool ReadSectionTable();
  // The index of the first section with that name; sections_.size() when there is none.
  size_t IndexOf(std::string_view name) const;
  std::optional<std::string> ReadContent(const Elf64_Shdr& section) const;
  bool ReadAt(uint64_t offset, void* destination, size_t size_bytes) const;

  int fd_ = -1;         // -1: the file is in memory_
  std::string memory_;  // empty: it is read from fd_
  uint64_t size_bytes_ = 0;
  std::vector<Elf64_Shdr> sections_;
  uint16_t names_section_ = 0;
};

// The parts of ELF files that are compressed (decompress.cc). The input may be hostile: damaged or cut input,
// or output beyond kMaxDecompressedBytes, is refused, and memory grows with the output, not with the size
// that the input claims. Context: background. Thread-safe.

inline constexpr size_t kMaxDecompressedBytes = 64 << 20;

// One zlib stream (RFC 1950).
std::optional<std::string> DecompressZlib(std::string_view compressed);

// One .xz stream, as the xz program writes it with any preset.
std::optional<std::string> DecompressXz(std::string_view compressed);

}  // namespace lagwatch::stack

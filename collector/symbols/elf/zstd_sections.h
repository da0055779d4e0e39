// SPDX-License-Identifier: Apache-2.0
// Sections compressed by zstd, which elfutils reads from version 0.189 on only. Context: background.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <list>
#include <memory>

namespace lagwatch::collector {

inline constexpr uint32_t kCompressedByZstd = 2;  // ELFCOMPRESS_ZSTD, which older headers lack

// Memory that an ELF handle's sections are read from.
using UnpackedSections = std::list<std::unique_ptr<char[]>>;

// Decompresses all sections of `elf` that zstd compressed, in its memory alone, so that elfutils finds plain
// ones; at most 1 GiB in total. A section that is damaged or beyond that stays as it is. `elf` was opened
// with ELF_C_READ_MMAP; the returned memory must outlive it. Null if no section was decompressed.
std::shared_ptr<UnpackedSections> UnpackZstdSections(Elf* elf);

}  // namespace lagwatch::collector

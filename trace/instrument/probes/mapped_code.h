// SPDX-License-Identifier: Apache-2.0
// Code that is mapped from a file. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/instrument/code_writer.h"
#include "trace/instrument/probes/memory_map.h"

namespace lagwatch::trace {

// Whether the code there is what the file has. False, too, if that cannot be read.
bool HasFileBytes(const MemoryMap& memory, uint64_t address, size_t size_bytes);

// Whether the file of the code there is still where it was.
bool HasFile(const MemoryMap& memory, uint64_t address);

// Changes several bytes of code at once for all threads, however they are aligned: puts a changed copy of
// their page into its place, as a mapping of the same file, or of none once that is
// gone. False, and nothing is changed, if the code is not mapped from a file, or the system refuses.
bool ExchangeBytes(const CodeWriter& writer, const MemoryMap& memory, uint64_t address,
                   const unsigned char* bytes, size_t size_bytes);

}  // namespace lagwatch::trace

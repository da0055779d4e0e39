// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, polynomial 0x1EDC6F41, as in RFC 3720), for records on disk.
// Context: watchdog. Byte-wise with a table made at compile time: a report is written once in many seconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::base {

// Checksum of `size_bytes` bytes; `seed` continues an earlier call's result.
uint32_t Crc32c(const void* data, size_t size_bytes, uint32_t seed = 0);

}  // namespace lagwatch::base

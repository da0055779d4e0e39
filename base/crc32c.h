// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, polynomial 0x1EDC6F41, as in RFC 3720), for records on disk: with the processor's own
// instruction where it has one, else with tables made at compile time. Context: watchdog.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::base {

// Checksum of `size_bytes` bytes; `seed` continues an earlier call's result.
uint32_t Crc32c(const void* data, size_t size_bytes, uint32_t seed = 0);

}  // namespace lagwatch::base

// SPDX-License-Identifier: Apache-2.0
// Decompresses parts of ELF files. The input may be hostile: damaged or cut input, or output beyond
// kMaxDecompressedBytes, is refused, and memory grows with the output, not with the size that the input
// claims. Context: background. Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lagwatch::stack {

inline constexpr size_t kMaxDecompressedBytes = 64 << 20;

// One zlib stream (RFC 1950).
std::optional<std::string> DecompressZlib(std::string_view compressed);

// One .xz stream, as the xz program writes it with any preset.
std::optional<std::string> DecompressXz(std::string_view compressed);

}  // namespace lagwatch::stack

// SPDX-License-Identifier: Apache-2.0
// Context: background.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::base {

// `bytes` as one gzip member (RFC 1952), with no name and no time, so equal input gives equal
// output. `memory_level`: zlib's, 1 to 9; a small one makes short blocks, each with a code of its
// own. Throws std::bad_alloc.
std::string Gzip(std::string_view bytes, int memory_level = 8);

// The content of one gzip member. Errors: kTooLarge over the limit; kInvalid when `gzip` is none, or is cut
// short. Throws std::bad_alloc.
Result<std::string> Gunzip(std::string_view gzip, size_t limit_bytes);

}  // namespace lagwatch::base

// SPDX-License-Identifier: Apache-2.0
// Gzip from outside, opened with a hard limit. Context: background.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::collector {

// Past the first kFreeBytes, content that is this many times as large as its compressed form is a bomb:
// reports expand by 5 to 20 times.
inline constexpr size_t kMaxRatio = 200;
inline constexpr size_t kFreeBytes = 256 << 10;

// The content of one gzip member (RFC 1952). The result never holds more than `limit_bytes`, whatever the
// body claims. Errors: kTooLarge over the limit or the ratio; kInvalid when the body is not gzip, is cut
// short or goes on after its end.
base::Result<std::string> InflateGzip(std::string_view compressed, size_t limit_bytes);

}  // namespace lagwatch::collector

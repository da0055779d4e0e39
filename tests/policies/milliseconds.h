// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lagwatch::policies {

constexpr int64_t kMs = 1'000'000;  // in nanoseconds

}  // namespace lagwatch::policies

// SPDX-License-Identifier: Apache-2.0
// Parses JSON from outside within limits of memory and of the stack. Context: background; pure.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/status.h"

namespace lagwatch::collector {

struct JsonLimits {
  size_t size_bytes = 1 << 20;
  size_t depth = 64;          // objects and arrays in each other
  size_t values = 250'000;    // in all, keys too
  bool has_comments = false;  // are allowed
};

// Errors: kInvalid when it is no JSON in UTF-8; kTooLarge over a limit.
base::Result<nlohmann::json> ParseBoundedJson(std::string_view text, const JsonLimits& limits = {});

}  // namespace lagwatch::collector

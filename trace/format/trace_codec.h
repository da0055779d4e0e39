// SPDX-License-Identifier: Apache-2.0
// The bytes of a trace: trace.proto. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

// Not compressed.
std::string EncodeTrace(const Trace& trace);

// Limits for decoding untrusted bytes: a text is stored once but may be used many times.
struct DecodeLimits {
  size_t element_count = SIZE_MAX;  // of all lists together
  size_t text_bytes = SIZE_MAX;     // each text as often as it is named
};

// Every index in the result is in range, parents come before their children. Errors: kInvalid when the bytes
// are not such a trace, or when it is over a limit.
base::Result<Trace> DecodeTrace(std::string_view bytes, const DecodeLimits& limits = {});

// The same, gzipped. Errors: kInvalid; kTooLarge when it would take more than `limit_bytes` unpacked.
std::string PackTrace(const Trace& trace);
base::Result<Trace> UnpackTrace(std::string_view gzip, size_t limit_bytes = size_t{1} << 30);

}  // namespace lagwatch::trace

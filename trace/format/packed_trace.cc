// SPDX-License-Identifier: Apache-2.0
#include "base/gzip/gzip.h"
#include "trace/format/trace_codec.h"

namespace lagwatch::trace {

std::string PackTrace(const Trace& trace) { return base::Gzip(EncodeTrace(trace)); }

base::Result<Trace> UnpackTrace(std::string_view gzip, size_t limit_bytes) {
  const auto bytes = base::Gunzip(gzip, limit_bytes);
  if (bytes.ok()) return DecodeTrace(*bytes);
  if (bytes.status().code() == base::StatusCode::kTooLarge) {
    return base::Status(base::StatusCode::kTooLarge,
                        "the trace is larger than " + std::to_string(limit_bytes) + " bytes");
  }
  return base::Status(base::StatusCode::kInvalid,
                      "this is not a trace of lagwatch (*.lwtrace), or it is cut short");
}

}  // namespace lagwatch::trace

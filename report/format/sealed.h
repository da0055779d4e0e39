// SPDX-License-Identifier: Apache-2.0
// A record sealed for the collector, as bytes: the unencrypted label, and the encrypted content. report/seal/
// does the sealing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "base/uuid.h"
#include "policies/upload/report_priority.h"
#include "report/format/fields.h"
#include "report/format/fixed_buffer.h"

namespace lagwatch::report {

inline constexpr size_t kSealNonceBytes = 12;
inline constexpr size_t kSealTagBytes = 16;

// The readable part of a sealed record. The collector notices a change.
struct SealedLabel {
  RecordType type{};  // of the record inside
  // Of a report, its own; of a hang's end, that report's; of a run's end, the report of the hang that the run
  // was in, else its session's; of other records, their own.
  base::Uuid id = {};
  uint64_t cause = 0;
  uint32_t priority = 0;  // a policies::ReportPriority; that of a run's end is kKilledInHang when it was so

  policies::ReportPriority KnownPriority() const {
    if (type == RecordType::kTrace) return policies::ReportPriority::kTrace;
    if (priority == policies::kWrittenSlowDispatch) return policies::ReportPriority::kSlowDispatch;
    const bool is_known = priority < policies::kReportPriorities;
    return is_known ? static_cast<policies::ReportPriority>(priority) : policies::ReportPriority::kSlow;
  }
};

// The label as it is authenticated: type (4 bytes), id (16), cause (8), priority (4), little-endian.
std::array<unsigned char, 32> AuthenticatedBytes(const SealedLabel& label);

struct Sealed {
  SealedLabel label;
  std::string_view ephemeral_key;  // 32 bytes
  std::string_view nonce;          // kSealNonceBytes
  std::string_view sealed;         // kSealTagBytes or more
  uint32_t sample_rate_ppm = 0;    // as in Report
};

// False when it does not fit. Context: watchdog.
bool EncodeSealed(const Sealed& sealed, FixedBuffer* buffer);
// Borrows `bytes`. Errors: kInvalid. Context: background.
base::Result<Sealed> DecodeSealed(std::string_view bytes);

}  // namespace lagwatch::report

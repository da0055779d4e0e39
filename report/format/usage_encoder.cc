// SPDX-License-Identifier: Apache-2.0
#include "report/format/usage_encoder.h"

#include "report/format/field_codec.h"

namespace lagwatch::report {

UsageEncoder::UsageEncoder(const UsageHeader& header, FixedBuffer* buffer)
    : buffer_(buffer), writer_(*buffer) {
  buffer_->Clear();
  WriteFields(kUsageHeaderTable, header, &writer_);
}

void UsageEncoder::AddLoop(std::string_view loop, const policies::LoopUsage& usage) {
  const struct {
    std::string_view loop;
    const policies::LoopUsage& usage;
  } part{loop, usage};
  FixedWriter writer(writer_, Number(UsageField::kLoops));
  WriteFields(kLoopUsageTable, part, &writer);
}

void UsageEncoder::AddSlow(std::string_view loop, std::string_view tag,
                           const policies::SlowDispatches& dispatches) {
  const struct {
    std::string_view loop;
    std::string_view tag;
    const policies::SlowDispatches& dispatches;
  } part{loop, tag, dispatches};
  FixedWriter writer(writer_, Number(UsageField::kSlow));
  WriteFields(kSlowTagTable, part, &writer);
}

void UsageEncoder::AddValue(std::string_view key, std::string_view value, const policies::UsagePart& usage) {
  const struct {
    std::string_view key;
    std::string_view value;
    const policies::UsagePart& usage;
  } part{key, value, usage};
  FixedWriter writer(writer_, Number(UsageField::kValues));
  WriteFields(kValueUsageTable, part, &writer);
}

void UsageEncoder::AddSuppressed(policies::SuppressedReason reason, uint64_t count) {
  if (count == 0) return;
  const struct {
    policies::SuppressedReason reason;
    uint64_t count;
  } part{reason, count};
  FixedWriter writer(writer_, Number(UsageField::kSuppressed));
  WriteFields(kSuppressedTable, part, &writer);
}

}  // namespace lagwatch::report

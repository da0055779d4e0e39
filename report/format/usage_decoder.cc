// SPDX-License-Identifier: Apache-2.0
#include "report/format/field_codec.h"
#include "report/format/report.h"

namespace lagwatch::report {

base::Result<Usage> DecodeUsage(std::string_view bytes) {
  return Guarded("the usage", [&] {
    Usage usage;
    protozero::pbf_message<UsageField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case UsageField::kLoops:
          ReadFields<LoopUsageField>(kLoopUsageTable, message.get_message(), &usage.loops.emplace_back());
          break;
        case UsageField::kSlow:
          ReadFields<SlowTagField>(kSlowTagTable, message.get_message(), &usage.slow.emplace_back());
          break;
        case UsageField::kSuppressed:
          ReadFields<SuppressedField>(kSuppressedTable, message.get_message(),
                                      &usage.suppressed.emplace_back());
          break;
        default:
          if (!TryReadField(kUsageHeaderTable, &message, &usage)) message.skip();
      }
    }
    if (usage.id == base::Uuid{}) throw SchemaError{"it has no id"};
    return usage;
  });
}

}  // namespace lagwatch::report

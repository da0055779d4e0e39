// SPDX-License-Identifier: Apache-2.0
#include "report/format/losses.h"

#include "report/format/field_codec.h"

namespace lagwatch::report {

std::string EncodeLosses(const Losses& losses) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  WriteFields(kLossesTable, losses, &writer);
  for (const Loss& loss : losses.losses) {
    protozero::pbf_writer item(writer, Number(LossesField::kLosses));
    WriteFields(kLossTable, loss, &item);
  }
  return bytes;
}

base::Result<Losses> DecodeLosses(std::string_view bytes) {
  return Guarded("the record of losses", [&] {
    Losses losses;
    protozero::pbf_message<LossesField> message(bytes.data(), bytes.size());
    while (message.next()) {
      if (message.tag() == LossesField::kLosses) {
        ReadFields(kLossTable, message.get_message(), &losses.losses.emplace_back());
      } else if (!TryReadField(kLossesTable, &message, &losses)) {
        message.skip();
      }
    }
    if (losses.id == base::Uuid{}) throw SchemaError{"it has no id"};
    return losses;
  });
}

std::string_view LossReasonName(LossReason reason) {
  switch (reason) {
    case LossReason::kNotSampled:
      return "not-sampled";
    case LossReason::kDayIsFull:
      return "day-is-full";
    case LossReason::kCauseIsFull:
      return "cause-is-full";
    case LossReason::kTooOld:
      return "too-old";
    case LossReason::kTooMuch:
      return "too-much";
    case LossReason::kRefused:
      return "refused";
    case LossReason::kDamaged:
      return "damaged";
    case LossReason::kTurnedOff:
      return "turned-off";
    case LossReason::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
#include "report/format/losses.h"

#include "report/format/fields.h"
#include "report/format/guarded_read.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

Loss ReadLoss(pbf_message<LossField> message) {
  Loss loss;
  while (message.next()) {
    switch (message.tag()) {
      case LossField::kReason: {
        const int32_t reason = message.get_enum();
        const bool is_known = reason >= 0 && reason <= kLastLossReason;
        loss.reason = is_known ? static_cast<LossReason>(reason) : LossReason::kUnknown;
        break;
      }
      case LossField::kCause:
        loss.cause = message.get_fixed64();
        break;
      case LossField::kCount:
        loss.count = message.get_uint64();
        break;
      case LossField::kSampleRatePpm:
        loss.sample_rate_ppm = message.get_uint32();
        break;
      default:
        message.skip();
    }
  }
  return loss;
}

Losses ReadLosses(pbf_message<LossesField> message) {
  Losses losses;
  while (message.next()) {
    switch (message.tag()) {
      case LossesField::kId:
        losses.id = ReadUuid(&message);
        break;
      case LossesField::kApp:
        losses.app = message.get_string();
        break;
      case LossesField::kAppVersion:
        losses.app_version = message.get_string();
        break;
      case LossesField::kUser:
        losses.user = message.get_string();
        break;
      case LossesField::kBeginWallMs:
        losses.begin_wall_ms = message.get_uint64();
        break;
      case LossesField::kEndWallMs:
        losses.end_wall_ms = message.get_uint64();
        break;
      case LossesField::kLosses:
        losses.losses.push_back(ReadLoss(message.get_message()));
        break;
      default:
        message.skip();
    }
  }
  if (losses.id == base::Uuid{}) throw SchemaError{"it has no id"};
  return losses;
}

}  // namespace

std::string EncodeLosses(const Losses& losses) {
  std::string bytes;
  protozero::basic_pbf_writer<std::string> writer(bytes);
  auto put_text = [&](LossesField field, std::string_view text) {
    if (!text.empty()) writer.add_bytes(Number(field), text.data(), text.size());
  };
  put_text(LossesField::kId, losses.id.as_bytes());
  put_text(LossesField::kApp, losses.app);
  put_text(LossesField::kAppVersion, losses.app_version);
  put_text(LossesField::kUser, losses.user);
  if (losses.begin_wall_ms != 0) writer.add_uint64(Number(LossesField::kBeginWallMs), losses.begin_wall_ms);
  if (losses.end_wall_ms != 0) writer.add_uint64(Number(LossesField::kEndWallMs), losses.end_wall_ms);
  for (const Loss& loss : losses.losses) {
    protozero::basic_pbf_writer<std::string> item(writer, Number(LossesField::kLosses));
    item.add_enum(Number(LossField::kReason), static_cast<int32_t>(loss.reason));
    if (loss.cause != 0) item.add_fixed64(Number(LossField::kCause), loss.cause);
    item.add_uint64(Number(LossField::kCount), loss.count);
    if (loss.sample_rate_ppm != 0) item.add_uint32(Number(LossField::kSampleRatePpm), loss.sample_rate_ppm);
  }
  return bytes;
}

base::Result<Losses> DecodeLosses(std::string_view bytes) {
  return Guarded("the record of losses",
                 [&] { return ReadLosses(pbf_message<LossesField>(bytes.data(), bytes.size())); });
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

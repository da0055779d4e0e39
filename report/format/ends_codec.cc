// SPDX-License-Identifier: Apache-2.0
#include "report/format/guarded_read.h"
#include "report/format/report.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

}  // namespace

base::Result<LagEnd> DecodeLagEnd(std::string_view bytes) {
  return Guarded("the lag's end", [&] {
    LagEnd end;
    pbf_message<LagEndField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case LagEndField::kReportId:
          end.report_id = ReadUuid(&message);
          break;
        case LagEndField::kDurationNs:
          end.duration_ns = message.get_uint64();
          break;
        default:
          message.skip();
      }
    }
    if (end.report_id == base::Uuid{}) throw SchemaError{"it names no report"};
    return end;
  });
}

base::Result<RunEnd> DecodeRunEnd(std::string_view bytes) {
  return Guarded("the run's end", [&] {
    RunEnd end;
    pbf_message<RunEndField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case RunEndField::kSessionId:
          end.session_id = ReadUuid(&message);
          break;
        case RunEndField::kReason: {
          int32_t reason = message.get_enum();
          bool is_known = reason >= 0 && reason <= policies::kLastExitReason;
          end.reason = is_known ? static_cast<policies::ExitReason>(reason) : policies::ExitReason::kUnknown;
          break;
        }
        case RunEndField::kSignal:
          end.signal = static_cast<int32_t>(message.get_uint32());
          break;
        case RunEndField::kReportId:
          end.report_id = ReadUuid(&message);
          break;
        case RunEndField::kLagNs:
          end.lag_ns = message.get_uint64();
          break;
        case RunEndField::kLoop:
          end.loop = message.get_string();
          break;
        case RunEndField::kRunStartWallMs:
          end.run_start_wall_ms = message.get_uint64();
          break;
        case RunEndField::kLastSeenWallMs:
          end.last_seen_wall_ms = message.get_uint64();
          break;
        case RunEndField::kScene:
          end.scene = message.get_string();
          break;
        case RunEndField::kApp:
          end.app = message.get_string();
          break;
        case RunEndField::kAppVersion:
          end.app_version = message.get_string();
          break;
        case RunEndField::kUser:
          end.user = message.get_string();
          break;
        case RunEndField::kSampleRatePpm:
          end.sample_rate_ppm = message.get_uint32();
          break;
        default:
          message.skip();
      }
    }
    if (end.session_id == base::Uuid{}) throw SchemaError{"it names no session"};
    return end;
  });
}

std::string EncodeRunEnd(const RunEnd& end) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  auto put_text = [&](RunEndField field, std::string_view text) {
    if (!text.empty()) writer.add_bytes(Number(field), text.data(), text.size());
  };
  auto put_number = [&](RunEndField field, uint64_t number) {
    if (number != 0) writer.add_uint64(Number(field), number);
  };
  put_text(RunEndField::kSessionId, end.session_id.as_bytes());
  put_number(RunEndField::kReason, static_cast<uint64_t>(end.reason));
  put_number(RunEndField::kSignal, static_cast<uint64_t>(end.signal));
  if (end.report_id != base::Uuid{}) put_text(RunEndField::kReportId, end.report_id.as_bytes());
  put_number(RunEndField::kLagNs, end.lag_ns);
  put_text(RunEndField::kLoop, end.loop);
  put_number(RunEndField::kRunStartWallMs, end.run_start_wall_ms);
  put_number(RunEndField::kLastSeenWallMs, end.last_seen_wall_ms);
  put_text(RunEndField::kScene, end.scene);
  put_text(RunEndField::kApp, end.app);
  put_text(RunEndField::kAppVersion, end.app_version);
  put_text(RunEndField::kUser, end.user);
  return bytes;
}

}  // namespace lagwatch::report

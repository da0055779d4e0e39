// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/envelope.h"

#include <optional>

#include "collector/query/json/json_text.h"
#include "collector/sentry/json_fields.h"

namespace lagwatch::collector {
namespace {

using nlohmann::json;

constexpr JsonLimits kHeaderLimits{.size_bytes = kMaxEnvelopeHeaderBytes, .depth = 16, .values = 1000};

// Takes up to the next line feed, and that, too.
std::string_view TakeLine(std::string_view* rest) {
  const std::string_view line = rest->substr(0, rest->find('\n'));
  rest->remove_prefix(std::min(line.size() + 1, rest->size()));
  return line;
}

Result<json> TakeHeaders(std::string_view* rest) {
  auto headers = ParseBoundedJson(TakeLine(rest), kHeaderLimits);
  if (!headers.ok()) return headers;
  if (!headers->is_object()) return Status(StatusCode::kInvalid, "an envelope's headers are not an object");
  return headers;
}

// Nothing when the payload is not as long as it says, or goes on after that.
std::optional<std::string_view> TakePayload(const json& headers, std::string_view* rest) {
  if (!headers.contains("length")) return TakeLine(rest);
  const json& length = headers["length"];
  if (!length.is_number_unsigned()) return std::nullopt;
  const auto size = length.get<uint64_t>();
  if (size > rest->size() || (size < rest->size() && (*rest)[size] != '\n')) return std::nullopt;
  const std::string_view payload = rest->substr(0, size);
  rest->remove_prefix(std::min(payload.size() + 1, rest->size()));
  return payload;
}

void SkipBlankLines(std::string_view* rest) {
  while (!rest->empty() && (rest->front() == '\n' || rest->front() == '\r')) rest->remove_prefix(1);
}

}  // namespace

Result<Envelope> ParseEnvelope(std::string_view body) {
  const auto headers = LAGWATCH_TRY(TakeHeaders(&body));
  Envelope envelope{.event_id = TextOf(headers, "event_id"), .dsn = TextOf(headers, "dsn"), .items = {}};
  for (SkipBlankLines(&body); !body.empty(); SkipBlankLines(&body)) {
    if (envelope.items.size() == kMaxEnvelopeItems) {
      return Status(StatusCode::kTooLarge,
                    "the envelope has more than " + std::to_string(kMaxEnvelopeItems) + " items");
    }
    const auto item = LAGWATCH_TRY(TakeHeaders(&body));
    const auto payload = TakePayload(item, &body);
    if (!payload) return Status(StatusCode::kInvalid, "an item's payload is not as long as its header says");
    envelope.items.push_back({TextOf(item, "type"), *payload});
  }
  return envelope;
}

}  // namespace lagwatch::collector

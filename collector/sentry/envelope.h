// SPDX-License-Identifier: Apache-2.0
// Sentry's envelope: a line of JSON headers, then items, each of them a line of headers and a payload that is
// as long as its header says or, without a length, up to the end of the line
// (https://develop.sentry.dev/sdk/foundations/transport/envelopes/). Context: background; pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::collector {

inline constexpr size_t kMaxEnvelopeItems = 100;
inline constexpr size_t kMaxEnvelopeHeaderBytes = 16 << 10;

struct EnvelopeItem {
  std::string type;  // "event", "session", "attachment" …
  std::string_view payload;
};

struct Envelope {
  std::string event_id;  // empty when it has none
  std::string dsn;       // likewise
  std::vector<EnvelopeItem> items;
};

// Payloads borrow from `body`. Errors: kInvalid when it is no envelope, kTooLarge over a limit.
base::Result<Envelope> ParseEnvelope(std::string_view body);

}  // namespace lagwatch::collector

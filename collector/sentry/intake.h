// SPDX-License-Identifier: Apache-2.0
// Converts envelopes of Sentry's SDKs to a batch of our own records, and counts the rest.
// Context: background; pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "collector/sentry/envelope.h"

namespace lagwatch::collector {

struct SentryIntake {
  std::string event_id;  // as it came; empty when there was none
  std::string batch;     // an encoded lagwatch.Batch; empty when nothing hung
  // The number of items left out, by type; unknown types are "other".
  std::map<std::string, uint64_t> dropped;
  // Of them, the number of events by their kind (KindOfOtherEvent).
  std::map<std::string, uint64_t> dropped_events = {};
  // The number of hangs by the evidence for them (HangRuleName).
  std::map<std::string, uint64_t> hangs = {};
  std::string dropped_event = {};  // the first event that is no hang, in words; empty: none
};

// Errors: kInvalid when an event is none, or one of a hang has no id or no time; kTooLarge over a limit.
base::Result<SentryIntake> TakeEnvelope(const Envelope& envelope, std::string_view project);
// The body of the older /store/, which is one event.
base::Result<SentryIntake> TakeEvent(std::string_view event, std::string_view project);

}  // namespace lagwatch::collector

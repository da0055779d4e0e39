// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/intake.h"

#include <algorithm>
#include <iterator>

#include "collector/query/json/json_text.h"
#include "collector/sentry/event_identity.h"
#include "collector/sentry/hang.h"
#include "collector/sentry/json_fields.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kEvent = "event";
// A fixed set, so that clients cannot add types.
constexpr std::string_view kKnownTypes[] = {
    kEvent,          "transaction",   "session",          "sessions",
    "attachment",    "user_report",   "feedback",         "replay_event",
    "profile",       "profile_chunk", "replay_recording", "replay_video",
    "client_report", "check_in",      "statsd",           "span",
    "log",           "trace_metric"};

std::string KnownType(const std::string& type) {
  return std::ranges::find(kKnownTypes, type) != std::end(kKnownTypes) ? type : "other";
}

// `intake` may have an event id already, the envelope's.
Status Take(std::string_view payload, std::string_view project, SentryIntake* intake) {
  const auto event = LAGWATCH_TRY(ParseBoundedJson(payload));
  if (std::string own = TextOf(event, "event_id"); !own.empty()) intake->event_id = std::move(own);
  const auto hang = FindHang(event);
  if (!hang) {
    const std::string kind(KindOfOtherEvent(event));
    ++intake->dropped[std::string(kEvent)];
    ++intake->dropped_events[kind];
    if (intake->dropped_event.empty()) intake->dropped_event = kind + ", " + DescribeEvent(event);
    return {};
  }
  const auto id = ParseEventId(intake->event_id);
  if (!id) return {StatusCode::kInvalid, "the event has no event_id of 32 hexadecimal digits"};
  ++intake->hangs[std::string(HangRuleName(hang->rule))];
  return AppendHang(event, *hang, *id, project, &intake->batch);
}

}  // namespace

base::Result<SentryIntake> TakeEnvelope(const Envelope& envelope, std::string_view project) {
  SentryIntake intake{.event_id = envelope.event_id, .batch = {}, .dropped = {}};
  for (const EnvelopeItem& item : envelope.items) {
    if (item.type != kEvent) {
      ++intake.dropped[KnownType(item.type)];
    } else if (Status taken = Take(item.payload, project, &intake); !taken.ok()) {
      return taken;
    }
  }
  return intake;
}

base::Result<SentryIntake> TakeEvent(std::string_view event, std::string_view project) {
  SentryIntake intake;
  if (Status taken = Take(event, project, &intake); !taken.ok()) return taken;
  return intake;
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "collector/http/server/endpoint.h"
#include "collector/http/server/refusals.h"
#include "collector/http/upload.h"
#include "collector/query/json/json_text.h"
#include "collector/sentry/auth.h"
#include "collector/sentry/intake.h"

namespace lagwatch::collector {
namespace {

// The whole answer: SDKs need nothing else, and log unknown fields.
Response Answer(const std::string& event_id) {
  Json answer = Json::object();
  if (!event_id.empty()) answer["id"] = event_id;
  return {200, JsonText(answer)};
}

// Admits a client whose key is in the envelope only, as through a tunnel.
std::optional<Response> AdmitByDsn(const std::string& dsn, uint64_t sent_bytes, KeyRing* keys,
                                   Request* request) {
  const KeyCheck check = keys->CheckText(KeyOfDsn(dsn), base::SystemClock().WallMs());
  if (check.outcome != KeyCheck::Outcome::kKnown) return NeedsAKey(check, KeyPlace::kSentry);
  if ((kSenders & MaskOf(check.key.access)) == 0) return MayNot(check.key);
  request->key = check.key;
  const auto refusal =
      keys->CheckQuota(request->key, sent_bytes, base::SystemClock().MonoNs(), NetworkOf(request->peer));
  if (!refusal) return std::nullopt;
  return TooManyRequests(*refusal, KeyPlace::kSentry);
}

std::string SentryLineFor(const IngestResult& result) {
  return "sentry: " + std::to_string(result.accepted) + " accepted, " + std::to_string(result.duplicates) +
         " known already, " + std::to_string(result.rejected) + " rejected";
}

// The first record that was refused when nothing was stored or known; null otherwise.
const RecordResult* FindRefusal(const IngestResult& result) {
  if (result.refused == 0 || result.accepted + result.duplicates > 0) return nullptr;
  return &*std::ranges::find_if(result.records, &RecordResult::is_refused);
}

// That a program's quota for the day is used up; null unless nothing was stored or known because of it.
const RecordResult* FindOverQuota(const IngestResult& result) {
  if (result.over_quota == 0 || result.accepted + result.duplicates > 0) return nullptr;
  return &*std::ranges::find_if(result.records, &RecordResult::is_over_quota);
}

// SDKs keep still until then, at most for an hour: the quota may have become larger.
int64_t SecondsOfQuota() {
  constexpr int64_t kHourS = 3600;
  constexpr int64_t kDayS = 24 * kHourS;
  return std::min(kHourS, kDayS - base::SystemClock().WallMs() / 1000 % kDayS);
}

class SentryUpload {
 public:
  SentryUpload(UploadParts parts, SentryBody body) : parts_(std::move(parts)), body_(body) {}

  void operator()(Request request, const Respond& respond) const;

 private:
  base::Result<SentryIntake> Take(const Request& request, const Envelope& envelope) const;
  void Charge(const Request& request, uint64_t sent_bytes, uint64_t reports) const;
  void Refuse(const base::Status& status, const Respond& respond) const;

  UploadParts parts_;
  SentryBody body_;
};

void SentryUpload::operator()(Request request, const Respond& respond) const {
  const uint64_t sent_bytes = request.body.size();
  if (Status opened = OpenBody(parts_.limits, &request); !opened.ok()) return Refuse(opened, respond);
  auto envelope = body_ == SentryBody::kEnvelope ? ParseEnvelope(request.body) : Result<Envelope>(Envelope());
  if (!envelope.ok()) return Refuse(envelope.status(), respond);
  if (request.key.name.empty()) {
    if (auto refusal = AdmitByDsn(envelope->dsn, sent_bytes, parts_.keys, &request))
      return respond(std::move(*refusal));
  }
  auto intake = Take(request, *envelope);
  if (!intake.ok()) {
    Charge(request, sent_bytes, 1);
    return Refuse(intake.status(), respond);
  }
  if (parts_.metrics != nullptr) parts_.metrics->CountSentryItems(*intake);
  if (!intake->dropped_event.empty())
    parts_.log->Info("sentry: dropped an event that is no hang: " + Quoted(intake->dropped_event),
                     FactsOf(request, 200));
  if (intake->batch.empty()) {
    Charge(request, sent_bytes, 0);
    return respond(Answer(intake->event_id));
  }
  request.body = std::string();  // the batch takes its place
  if (!request.room.TryResize(intake->batch.size()))
    return Refuse({base::StatusCode::kUnavailable, "the collector is overloaded; send it again later"},
                  respond);
  auto held = std::make_shared<std::pair<Request, SentryIntake>>(std::move(request), std::move(*intake));
  auto done = [this, held, sent_bytes, respond](Result<IngestResult> result) {
    Charge(held->first, sent_bytes, result.ok() ? result->records.size() : 1);
    if (!result.ok()) return Refuse(result.status(), respond);
    parts_.log->Info(SentryLineFor(*result), FactsOf(held->first, 200));
    if (parts_.metrics != nullptr) parts_.metrics->CountRecords(*result);
    if (const RecordResult* refusal = FindRefusal(*result))
      return respond(ErrorResponse(400, "refused", refusal->why));
    if (const RecordResult* over = FindOverQuota(*result))
      return respond(TooManyRequests({SecondsOfQuota(), over->why}, KeyPlace::kSentry));
    respond(Answer(held->second.event_id));
  };
  const Sender sender = SenderOf(held->first);
  if (parts_.commits == nullptr) return done(parts_.ingest->Submit(held->second.batch, sender));
  parts_.ingest->Submit(held->second.batch, parts_.commits, std::move(done), sender);
}

Result<SentryIntake> SentryUpload::Take(const Request& request, const Envelope& envelope) const {
  return body_ == SentryBody::kEnvelope ? TakeEnvelope(envelope, request.item)
                                        : TakeEvent(request.body, request.item);
}

void SentryUpload::Charge(const Request& request, uint64_t sent_bytes, uint64_t reports) const {
  parts_.keys->Charge(request.key, sent_bytes, reports, base::SystemClock().MonoNs(),
                      NetworkOf(request.peer));
}

void SentryUpload::Refuse(const Status& status, const Respond& respond) const {
  parts_.log->Warn("sentry: refused: " + status.message());
  respond(ErrorResponse(status));
}

}  // namespace

Handler CreateSentryUpload(UploadParts parts, SentryBody body) {
  return SentryUpload(std::move(parts), body);
}

}  // namespace lagwatch::collector

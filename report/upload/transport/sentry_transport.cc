// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/format/packed_batch.h"
#include "report/sentry/dsn.h"
#include "report/sentry/event.h"
#include "report/upload/transport/gzip.h"
#include "report/upload/transport/http_transport.h"

namespace lagwatch::report {
namespace {

using nlohmann::json;

// By hangs' ids.
using HangOutcomes = std::map<std::string, HangOutcome>;

std::string KeyOf(const base::Uuid& id) { return std::string(id.as_bytes()); }

void Note(const OwnedRecord& record, HangOutcomes* outcomes) {
  if (record.type == RecordType::kHangEnd) {
    if (const auto end = DecodeHangEnd(record.payload); end.ok())
      (*outcomes)[KeyOf(end->report_id)].duration_ns = end->duration_ns;
  } else if (record.type == RecordType::kRunEnd) {
    const auto end = DecodeRunEnd(record.payload);
    if (!end.ok() || end->reason != policies::ExitReason::kKilledInHang) return;
    (*outcomes)[KeyOf(end->report_id)] = {.duration_ns = end->hang_ns, .was_killed = true};
  }
}

HangOutcome OutcomeOf(const Report& report, const HangOutcomes& outcomes) {
  for (const base::Uuid& id : {report.hang_id, report.id})
    if (const auto found = outcomes.find(KeyOf(id)); found != outcomes.end()) return found->second;
  return {};
}

// Only what speaks as a Sentry server does can make a report be removed or set aside.
UploadAnswer Understand(const HttpAnswer& got, const std::string& event_id) {
  UploadAnswer answer{.http_status = got.status, .retry_after_s = got.retry_after_s, .message = got.error};
  if (got.status == 0) return answer;
  const json body = json::parse(got.body, nullptr, /*allow_exceptions=*/false);
  const bool is_sentry = body.is_object();
  answer.message = "the Sentry server answered " + std::to_string(got.status);
  if (got.status == 200 && is_sentry && body.value("id", json()) == event_id) {
    answer.kind = UploadAnswer::Kind::kDelivered;
    answer.message.clear();
  } else if (got.status >= 200 && got.status < 300) {
    answer.message = "what answers at the DSN's host is no Sentry server: check the endpoint";
  } else if (got.status == 401 || got.status == 403) {
    answer.kind = UploadAnswer::Kind::kUnauthorized;
  } else if ((got.status == 400 || got.status == 413) && is_sentry) {
    answer.kind = UploadAnswer::Kind::kRejected;
  }
  return answer;
}

class SentryTransport final : public Transport {
 public:
  SentryTransport(SentryDsn dsn, std::unique_ptr<HttpClient> client)
      : path_("/api/" + dsn.project + "/envelope/"),
        auth_("X-Sentry-Auth: Sentry sentry_version=7, sentry_client=lagwatch/" LAGWATCH_VERSION
              ", sentry_key=" +
              dsn.key),
        client_(std::move(client)) {}

  UploadAnswer Post(std::string_view gzip_body) override {
    constexpr size_t kMostBytes = size_t{1} << 30;  // far more than a batch has
    const auto batch = base::Gunzip(gzip_body, kMostBytes);
    if (!batch.ok()) return {.kind = UploadAnswer::Kind::kRejected, .message = batch.status().message()};
    const auto records = ReadBatch(*batch);
    if (!records.ok()) return {.kind = UploadAnswer::Kind::kRejected, .message = records.status().message()};
    HangOutcomes outcomes;
    for (const OwnedRecord& record : *records) Note(record, &outcomes);
    UploadAnswer all{.kind = UploadAnswer::Kind::kDelivered};
    for (size_t i = 0; i < records->size(); ++i) {
      UploadAnswer one = Send((*records)[i], outcomes);
      if (one.kind == UploadAnswer::Kind::kRejected) {
        all.refusals.push_back({i, std::move(one.message)});
      } else if (one.kind != UploadAnswer::Kind::kDelivered) {
        return one;
      }
    }
    delivered_.clear();
    return all;
  }
  void Abort() override { client_->Abort(); }
  void Disconnect() override { client_->Disconnect(); }

 private:
  UploadAnswer Send(const OwnedRecord& record, const HangOutcomes& outcomes) {
    if (record.type == RecordType::kSealed)
      return {.kind = UploadAnswer::Kind::kRejected,
              .message = "the report is sealed: a lagwatch collector alone can read it"};
    if (record.type != RecordType::kReport) return {.kind = UploadAnswer::Kind::kDelivered};
    const auto report = DecodeReport(record.payload);
    if (!report.ok()) return {.kind = UploadAnswer::Kind::kRejected, .message = report.status().message()};
    if (!policies::IsHang(report->kind)) {
      return {
          .kind = UploadAnswer::Kind::kRejected,
          .message = "a report of kind " + std::string(policies::HangKindName(report->kind)) + " is no hang"};
    }
    const std::string event_id = SentryEventId(*report);
    if (delivered_.contains(event_id)) return {.kind = UploadAnswer::Kind::kDelivered};
    const std::string body = Gzip(SentryEnvelope(*report, OutcomeOf(*report, outcomes)));
    UploadAnswer answer = Understand(
        client_->Ask(
            {.path = path_,
             .headers = {auth_, "Content-Type: application/x-sentry-envelope", "Content-Encoding: gzip"},
             .is_post = true,
             .body = body}),
        event_id);
    if (answer.kind == UploadAnswer::Kind::kDelivered) delivered_.insert(event_id);
    return answer;
  }

  const std::string path_;
  const std::string auth_;
  const std::unique_ptr<HttpClient> client_;
  std::set<std::string> delivered_;  // of a batch whose rest was not
};

}  // namespace

base::Result<std::unique_ptr<Transport>> CreateSentryTransport(const HttpOptions& options) {
  auto dsn = LAGWATCH_TRY(ParseSentryDsn(std::string_view(options.endpoint).substr(kSentryScheme.size())));
  HttpOptions http = options;
  http.endpoint = dsn.endpoint;
  http.key.clear();
  auto client = LAGWATCH_TRY(HttpClient::Create(http));
  return std::unique_ptr<Transport>(std::make_unique<SentryTransport>(std::move(dsn), std::move(client)));
}

}  // namespace lagwatch::report

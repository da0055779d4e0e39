// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/collector_side.h"

#include <utility>
#include <variant>
#include <vector>

#include "base/uuid.h"
#include "collector/ingest/inflate.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "report/format/packed_batch.h"
#include "report/format/report.h"

namespace lagwatch::faults {
namespace {

const collector::Clusterer& DefaultClusterer() {
  static const collector::Clusterer clusterer = collector::Clusterer::Create("").value();
  return clusterer;
}

std::vector<report::OwnedRecord> RecordsOf(const std::string& body) {
  auto batch = collector::InflateGzip(body, 64 << 20);
  if (!batch.ok()) return {};
  auto records = report::ReadBatch(*batch);
  return records.ok() ? std::move(*records) : std::vector<report::OwnedRecord>();
}

void AddReportIds(const std::vector<report::OwnedRecord>& records, std::set<std::string>* ids) {
  for (const report::OwnedRecord& record : records) {
    if (record.type != report::RecordType::kReport) continue;
    if (auto decoded = report::DecodeReport(record.payload); decoded.ok())
      ids->insert(base::ToString(decoded->id));
  }
}

std::string Counts(size_t records) {
  return "{\"accepted\": " + std::to_string(records) + ", \"duplicates\": 0, \"rejected\": 0}";
}

}  // namespace

enum class CollectorSide::Trouble {
  kNone,
  kLostRequest,
  kLostAnswer,
  kCutAnswer,
  kStalledAnswer,
  kSlowAnswer,
  kNoHttp,
  kEndlessAnswer,
  kWrongNumbers,
  kLoginPage,
  kNoContent,
  kNoJson,
  kForeignJson,
  kGarbledAnswer,
  kRedirect,
  kUnauthorized,
  kForbidden,
  kTooMany,
  kOutOfOrder,
  kUnavailable,
  kProxyError,
  kForeignError,
  kTooLarge,
  kLast = kTooLarge,
  // Only of several records: of one alone it is an answer.
  kBadRequest,
};

CollectorSide::CollectorSide(const CasePlan& plan)
    : store_(std::move(collector::SqliteStore::Open(":memory:").value())),
      ingest_(store_.get(), DefaultClusterer()),
      query_api_(store_.get(), DefaultClusterer().rules()),
      router_(collector::CollectorEndpoints({.ingest = &ingest_, .query_api = &query_api_, .keys = &keys_},
                                            {.body_bytes = plan.body_limit_bytes, .inflated_bytes = 8 << 20}),
              &keys_),
      random_(plan.seed ^ 0x5eed) {}

void CollectorSide::BeginRun(const RunPlan& run) {
  trouble_percent_ = run.trouble_percent;
  outage_percent_ = run.outage_percent;
  is_out_ = false;
  is_run_certain_ = run.IsCertain();
}

void CollectorSide::BeginRepaired() {
  trouble_percent_ = outage_percent_ = 0;
  is_out_ = false;
  is_run_certain_ = true;
}

CollectorSide::Trouble CollectorSide::DrawTrouble(size_t records) {
  if (is_out_) return Trouble::kLostRequest;
  if (!random_.Chance(trouble_percent_)) return Trouble::kNone;
  if (random_.Chance(outage_percent_)) is_out_ = true;
  if (records > 1 && random_.Chance(25)) return Trouble::kBadRequest;
  return static_cast<Trouble>(1 + random_.Below(static_cast<uint64_t>(Trouble::kLast)));
}

Reply CollectorSide::Answer(const collector::RequestHead& head, std::string body) {
  ++requests_;
  const std::vector<report::OwnedRecord> sent = RecordsOf(body);
  const size_t records = sent.size();
  const Trouble trouble = DrawTrouble(records);
  const bool is_taken = trouble <= Trouble::kForeignJson && trouble != Trouble::kLostRequest &&
                        (trouble <= Trouble::kWrongNumbers ? true : random_.Chance(30));
  Reply taken;
  if (is_taken) taken = Take(head, std::move(body));
  if (is_taken && !is_run_certain_) AddReportIds(sent, &uncertain_);
  switch (trouble) {
    case Trouble::kNone:
      return taken;
    case Trouble::kLostRequest:
    case Trouble::kLostAnswer:
      return {.manner = Manner::kNone};
    case Trouble::kCutAnswer:
      taken.manner = Manner::kCut;
      return taken;
    case Trouble::kStalledAnswer:
      taken.manner = Manner::kStalled;
      return taken;
    case Trouble::kSlowAnswer:
      taken.manner = Manner::kSlow;
      return taken;
    case Trouble::kNoHttp:
      return {.manner = Manner::kNoHttp, .body = random_.Bytes(1 + random_.Below(500))};
    case Trouble::kEndlessAnswer:
      taken.manner = Manner::kEndless;
      return taken;
    default:
      return Forge(trouble, records);
  }
}

Reply CollectorSide::Take(const collector::RequestHead& head, std::string body) const {
  auto admission = router_.Admit(head);
  if (const auto* refusal = std::get_if<collector::Response>(&admission))
    return {.status = refusal->status, .body = refusal->body};
  auto& admitted = std::get<collector::Admitted>(admission);
  admitted.request.body = std::move(body);
  Reply reply;
  collector::Router::Handle(*admitted.endpoint, std::move(admitted.request),
                            [&](collector::Response response) {
                              reply = {.status = response.status, .body = std::move(response.body)};
                            });
  return reply;
}

Reply CollectorSide::Forge(Trouble trouble, size_t records) {
  constexpr char kPage[] = "text/html";
  switch (trouble) {
    case Trouble::kWrongNumbers:
      return {.body = Counts(records + 1 + random_.Below(9))};
    case Trouble::kLoginPage:
      return {.content_type = kPage, .body = "<html>Please log in" + random_.Letters(random_.Below(500))};
    case Trouble::kNoContent:
      return {.status = random_.Pick({200, 202, 204}), .content_type = "", .body = ""};
    case Trouble::kNoJson:
      return {.body = random_.Bytes(random_.Below(300))};
    case Trouble::kForeignJson:
      return {.body = random_.Pick({"{}", "[]", "null", "{\"accepted\": -1}", "{\"accepted\": 1e30}",
                                    "{\"accepted\": 1, \"duplicates\": 0}", "{\"status\": \"ok\"}"})};
    case Trouble::kGarbledAnswer:
      return {.encoding = "gzip", .body = "\x1f\x8b\x08" + random_.Bytes(random_.Below(200))};
    case Trouble::kRedirect:
      return {.status = random_.Pick({301, 302, 307, 308}), .location = "http://127.0.0.1:1/elsewhere"};
    case Trouble::kUnauthorized:
      return {.status = 401, .body = "{}"};
    case Trouble::kForbidden:
      return {.status = 403, .content_type = kPage, .body = "<html>no"};
    case Trouble::kTooMany:
      return {.status = 429,
              .retry_after =
                  random_.Pick({"-5", "1000000000000000000", "99999999999999999999999999", "0", "30", "soon",
                                "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", ""}),
              .body = "{}"};
    case Trouble::kOutOfOrder:
      return {.status = 500, .body = "{\"error\": {\"code\": \"internal\"}}"};
    case Trouble::kUnavailable:
      return {.status = 503, .retry_after = "120", .body = "{}"};
    case Trouble::kProxyError:
      return {
          .status = random_.Pick({400, 407, 415, 502, 504}), .content_type = kPage, .body = "<html>proxy"};
    case Trouble::kForeignError:
      return {.status = random_.Pick({400, 413, 415}),
              .body = random_.Pick({"{}", "<html>", "{\"error\": \"no\"}", "{\"message\": \"no\"}"})};
    case Trouble::kTooLarge:
      return {.status = 413, .content_type = kPage, .body = "<html>too large"};
    case Trouble::kBadRequest:
      return {.status = 400, .body = "{\"error\": {\"code\": \"invalid\"}}"};
    default:
      return {.manner = Manner::kNone};
  }
}

}  // namespace lagwatch::faults

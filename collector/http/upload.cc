// SPDX-License-Identifier: Apache-2.0
#include "collector/http/upload.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.h"
#include "collector/ingest/inflate.h"
#include "collector/query/json/json_text.h"
#include "report/format/packed_batch.h"

namespace lagwatch::collector {
namespace {

// Stored records are left out.
Json ResultsJson(const std::vector<RecordResult>& records) {
  Json results = Json::array();
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].kind == RecordResult::Kind::kStored) continue;
    Json result = {{"record", i}};
    if (records[i].kind == RecordResult::Kind::kDuplicate) {
      result["result"] = "duplicate";
    } else {
      result.update({{"result", "rejected"}, {"why", records[i].why}});
      if (records[i].is_refused) result["refused"] = true;
      if (records[i].is_over_quota) result["over_quota"] = true;
    }
    results.push_back(std::move(result));
  }
  return results;
}

Json AnswerTo(const IngestResult& result) {
  return {{"accepted", result.accepted},           {"duplicates", result.duplicates},
          {"rejected", result.rejected},           {"refused", result.refused},
          {"over_quota", result.over_quota},       {"packed_version", report::kPackedVersion},
          {"results", ResultsJson(result.records)}};
}

std::string LineFor(const IngestResult& result) {
  std::string line = "upload: " + std::to_string(result.accepted) + " accepted, " +
                     std::to_string(result.duplicates) + " known already, " +
                     std::to_string(result.rejected) + " rejected";
  if (result.refused > 0) line += " (" + std::to_string(result.refused) + " refused for their times)";
  if (result.over_quota > 0) line += " (" + std::to_string(result.over_quota) + " over a program's quota)";
  if (result.bounded > 0) line += " (" + std::to_string(result.bounded) + " count for less than they say)";
  const auto first = std::ranges::find(result.records, RecordResult::Kind::kRejected, &RecordResult::kind);
  if (first != result.records.end()) line += ", the first: " + Quoted(first->why);
  return line;
}

class Upload {
 public:
  Upload(UploadParts parts, ConfigService* config) : parts_(std::move(parts)), config_(config) {}

  void operator()(Request request, const Respond& respond) const;

 private:
  UploadParts parts_;
  ConfigService* config_;
};

void Upload::operator()(Request request, const Respond& respond) const {
  const uint64_t sent_bytes = request.body.size();
  if (Status opened = OpenBody(parts_.limits, &request); !opened.ok()) return respond(ErrorResponse(opened));
  auto held = std::make_shared<Request>(std::move(request));  // with its room, until the answer is there
  auto done = [this, held, sent_bytes, respond](Result<IngestResult> result) {
    const size_t reports = result.ok() ? result->records.size() : 1;
    if (parts_.keys != nullptr)
      parts_.keys->Charge(held->key, sent_bytes, reports, base::SystemClock().MonoNs(),
                          NetworkOf(held->peer));
    if (!result.ok()) {
      parts_.log->Warn("upload refused: " + result.status().message(),
                       FactsOf(*held, ErrorResponse(result.status()).status));
      return respond(ErrorResponse(result.status()));
    }
    parts_.log->Info(LineFor(*result), FactsOf(*held, 200));
    if (parts_.metrics != nullptr) parts_.metrics->CountRecords(*result);
    Json answer = AnswerTo(*result);
    if (config_ != nullptr) answer["config_version"] = config_->CurrentVersion();
    respond({200, JsonText(answer)});
  };
  if (parts_.commits == nullptr) return done(parts_.ingest->Submit(held->body, SenderOf(*held)));
  parts_.ingest->Submit(held->body, parts_.commits, std::move(done), SenderOf(*held));
}

}  // namespace

Handler CreateUpload(UploadParts parts, ConfigService* config) { return Upload(std::move(parts), config); }

LogFacts FactsOf(const Request& request, int status) {
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - request.begin;
  return {.key = request.key.name, .peer = request.address, .status = status, .duration_ms = taken.count()};
}

Status OpenBody(const BodyLimits& limits, Request* request) {
  if (request->is_gzip) {
    request->body = LAGWATCH_TRY(InflateGzip(request->body, limits.inflated_bytes));
  } else if (request->body.size() > limits.inflated_bytes) {
    return {StatusCode::kTooLarge, "the body has more than " + std::to_string(limits.inflated_bytes) +
                                       " bytes; send fewer reports in one request"};
  }
  if (request->room.TryResize(request->body.size())) return {};
  return {StatusCode::kUnavailable, "the collector is overloaded; send the batch again later"};
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "collector/http/upload.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.h"
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
  const auto first = std::ranges::find(result.records, RecordResult::Kind::kRejected, &RecordResult::kind);
  if (first != result.records.end()) line += ", the first: " + Quoted(first->why);
  return line;
}

}  // namespace

void Upload::operator()(Request request, const Respond& respond) const {
  const uint64_t sent_bytes = request.body.size();
  if (Status opened = OpenBody(limits_, &request); !opened.ok()) return respond(ErrorResponse(opened));
  auto held = std::make_shared<Request>(std::move(request));  // with its room, until the answer is there
  auto done = [this, held, sent_bytes, respond](Result<IngestResult> result) {
    const size_t reports = result.ok() ? result->records.size() : 1;
    if (keys_ != nullptr) keys_->Charge(held->key, sent_bytes, reports, base::SystemClock().MonoNs());
    if (!result.ok()) {
      log_->Warn("upload refused: " + result.status().message());
      return respond(ErrorResponse(result.status()));
    }
    log_->Info(LineFor(*result));
    if (metrics_ != nullptr) metrics_->CountRecords(*result);
    Json answer = AnswerTo(*result);
    if (config_ != nullptr) answer["config_version"] = config_->CurrentVersion();
    respond({200, JsonText(answer)});
  };
  if (commits_ == nullptr) return done(ingest_->Submit(held->body, held->key.name));
  ingest_->Submit(held->body, commits_, std::move(done), held->key.name);
}

}  // namespace lagwatch::collector

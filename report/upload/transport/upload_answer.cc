// SPDX-License-Identifier: Apache-2.0
#include "report/upload/transport/upload_answer.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace lagwatch::report {
namespace {

using nlohmann::json;

constexpr size_t kMaxMessageBytes = 300;
constexpr uint64_t kMaxCount = 1'000'000;

// The server's message may end in a log: one line, no control characters.
std::string OneLine(std::string text) {
  text.resize(std::min(text.size(), kMaxMessageBytes));
  for (char& byte : text) {
    if (std::iscntrl(static_cast<unsigned char>(byte))) byte = ' ';
  }
  return text;
}

bool IsJson(std::string_view content_type) {
  constexpr std::string_view kJson = "application/json";
  auto is_same = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
  return content_type.size() >= kJson.size() &&
         std::equal(kJson.begin(), kJson.end(), content_type.begin(), [&](char ours, char theirs) {
           return is_same(static_cast<unsigned char>(theirs), static_cast<unsigned char>(ours));
         });
}

UploadAnswer NoCollector(int http_status) {
  return {.http_status = http_status,
          .message = "what answers at the endpoint is not a lagwatch collector: check the endpoint"};
}

// A collector's error has this form: {"error": {"code": "invalid", "message": "…"}}.
bool IsCollectorsRefusal(std::string_view content_type, std::string_view body) {
  if (!IsJson(content_type)) return false;
  const json answer = json::parse(body, nullptr, /*allow_exceptions=*/false);
  const auto error = answer.find("error");
  if (error == answer.end() || !error->is_object()) return false;
  const auto code = error->find("code");
  return code != error->end() && code->is_string();
}

// None unless it is a number of records.
std::optional<uint64_t> CountOf(const json& answer, const char* name) {
  const auto found = answer.find(name);
  if (found == answer.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto count = found->get<uint64_t>();
  return count <= kMaxCount ? std::optional(count) : std::nullopt;
}

// False when that is no list of results.
bool ReadResults(const json& results, std::vector<RecordRefusal>* refusals) {
  if (!results.is_array()) return false;
  std::set<uint64_t> seen;
  for (const json& item : results) {
    if (!item.is_object()) return false;
    const std::optional<uint64_t> record = CountOf(item, "record");
    const auto result = item.find("result");
    if (!record || !seen.insert(*record).second || result == item.end() || !result->is_string()) return false;
    if (result->get_ref<const std::string&>() != "rejected") continue;
    const auto why = item.find("why");
    const bool has_reason = why != item.end() && why->is_string();
    refusals->push_back(
        {static_cast<size_t>(*record), has_reason ? OneLine(why->get<std::string>()) : "no reason given"});
  }
  return true;
}

UploadAnswer ParseStored(int http_status, std::string_view body) {
  const json answer = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) return NoCollector(http_status);
  const auto accepted = CountOf(answer, "accepted");
  const auto duplicates = CountOf(answer, "duplicates");
  const auto rejected = CountOf(answer, "rejected");
  if (!accepted || !duplicates || !rejected) return NoCollector(http_status);

  UploadAnswer stored{.kind = UploadAnswer::Kind::kDelivered,
                      .http_status = http_status,
                      .answered_records = *accepted + *duplicates + *rejected};
  const auto results = answer.find("results");
  if (results != answer.end() && !ReadResults(*results, &stored.refusals)) return NoCollector(http_status);
  if (const auto version = answer.find("config_version");
      version != answer.end() && version->is_number_unsigned())
    stored.config_version = version->get<uint64_t>();
  stored.packed_version = CountOf(answer, "packed_version").value_or(1);
  if (stored.refusals.size() == *rejected) return stored;
  if (results != answer.end()) return NoCollector(http_status);
  // A collector that does not say which: then each has to be asked about.
  stored.kind = UploadAnswer::Kind::kRejected;
  stored.message = "the collector refused some records";
  return stored;
}

}  // namespace

UploadAnswer ParseUploadAnswer(int http_status, std::string_view content_type, std::string_view body) {
  UploadAnswer answer{.http_status = http_status};
  if (http_status >= 200 && http_status < 300)
    return IsJson(content_type) ? ParseStored(http_status, body) : NoCollector(http_status);
  // Something on the way that takes no reports at all would make every single one be set aside.
  switch (http_status) {
    case 400:
    case 415:
      if (!IsCollectorsRefusal(content_type, body)) return NoCollector(http_status);
      answer.kind = UploadAnswer::Kind::kRejected;
      break;
    case 413:
      answer.kind = IsCollectorsRefusal(content_type, body) ? UploadAnswer::Kind::kRejected
                                                            : UploadAnswer::Kind::kTooLarge;
      break;
    case 401:
    case 403:
      answer.kind = UploadAnswer::Kind::kUnauthorized;
      break;
    default:
      break;
  }
  answer.message = OneLine("the collector answered " + std::to_string(http_status) + " " +
                           std::string(body.substr(0, kMaxMessageBytes)));
  return answer;
}

bool FitsBatch(const UploadAnswer& answer, size_t records, size_t known_records) {
  if (!answer.answered_records) return true;  // from an intermediate that only passes batches on
  auto is_inside = [&](const RecordRefusal& refusal) { return refusal.record < records; };
  return *answer.answered_records >= known_records && *answer.answered_records <= records &&
         std::ranges::all_of(answer.refusals, is_inside);
}

}  // namespace lagwatch::report

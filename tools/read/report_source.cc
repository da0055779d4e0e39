// SPDX-License-Identifier: Apache-2.0
#include "tools/read/report_source.h"

#include <utility>

namespace lagwatch::tools {
namespace {

using base::Status;
using base::StatusCode;

StatusCode CodeOf(int http_status) {
  switch (http_status) {
    case 400:
      return StatusCode::kInvalid;
    case 401:
      return StatusCode::kUnauthorized;
    case 404:
      return StatusCode::kNotFound;
    case 413:
      return StatusCode::kTooLarge;
    case 503:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

base::Result<Json> ReportSource::Get(const std::string& path, const collector::QueryString& query) {
  const auto answer = Ask(path, query);
  if (!answer.ok()) return answer.status();
  return ReadAnswer(answer->http_status, answer->body);
}

base::Result<std::string> ReportSource::GetFile(const std::string& path,
                                                const collector::QueryString& query) {
  auto answer = Ask(path, query);
  if (!answer.ok()) return answer.status();
  if (answer->http_status == 200) return std::move(answer->body);
  return ReadAnswer(answer->http_status, answer->body).status();
}

base::Result<Json> ReadAnswer(int http_status, const std::string& text) {
  Json answer = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (http_status / 100 == 2 && !answer.is_discarded()) return answer;
  static const Json::json_pointer kMessage("/error/message");
  if (answer.is_object() && answer.contains(kMessage) && answer[kMessage].is_string()) {
    return Status(CodeOf(http_status), answer[kMessage].get<std::string>());
  }
  return Status(StatusCode::kInternal, "the answer (HTTP status " + std::to_string(http_status) +
                                           ") is not a lagwatch collector's; check the endpoint");
}

}  // namespace lagwatch::tools

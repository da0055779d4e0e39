// SPDX-License-Identifier: Apache-2.0
#include "tools/read/report_source.h"

#include <utility>

namespace lagwatch::tools {
namespace {

class EndpointSource final : public ReportSource {
 public:
  explicit EndpointSource(Endpoint endpoint) : client_(std::move(endpoint)) {}

  base::Result<Answer> Ask(const std::string& path, const collector::QueryString& query) override {
    auto reply = LAGWATCH_TRY(client_.Ask({.target = path + "?" + query.ToText()}));
    return Answer{reply.http_status, std::move(reply.body)};
  }

 private:
  EndpointClient client_;
};

// Older collectors have members only under their old names.
void AddNewNames(Json* json) {
  constexpr std::pair<const char*, const char*> kNames[] = {{"lags", "hangs"},
                                                            {"lag_id", "hang_id"},
                                                            {"lagged_ms", "hang_ms"},
                                                            {"lagged_ms_per_hour", "hang_ms_per_hour"}};
  for (auto& member : *json)
    if (member.is_structured()) AddNewNames(&member);
  if (!json->is_object()) return;
  for (const auto& [old, name] : kNames)
    if (json->contains(old) && !json->contains(name)) (*json)[name] = Json((*json)[old]);
}

}  // namespace

base::Result<Json> ReportSource::Get(const std::string& path, const collector::QueryString& query) {
  const auto answer = LAGWATCH_TRY(Ask(path, query));
  auto json = ReadAnswer(answer.http_status, answer.body);
  if (json.ok()) AddNewNames(&*json);
  return json;
}

base::Result<std::string> ReportSource::GetFile(const std::string& path,
                                                const collector::QueryString& query) {
  auto answer = LAGWATCH_TRY(Ask(path, query));
  if (answer.http_status == 200) return std::move(answer.body);
  return ReadAnswer(answer.http_status, answer.body).status();
}

std::unique_ptr<ReportSource> OpenEndpoint(Endpoint endpoint) {
  return std::make_unique<EndpointSource>(std::move(endpoint));
}

}  // namespace lagwatch::tools

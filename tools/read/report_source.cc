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

}  // namespace

base::Result<Json> ReportSource::Get(const std::string& path, const collector::QueryString& query) {
  const auto answer = LAGWATCH_TRY(Ask(path, query));
  return ReadAnswer(answer.http_status, answer.body);
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

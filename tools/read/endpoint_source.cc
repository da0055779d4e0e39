// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>

#include "tools/read/report_source.h"

namespace lagwatch::tools {
namespace {

using base::Status;
using base::StatusCode;

constexpr long kConnectTimeoutS = 10;
constexpr long kTimeoutS = 60;
constexpr size_t kMaxAnswerBytes = 256 << 20;

size_t AppendAnswer(char* data, size_t size, size_t count, void* context) {
  auto* answer = static_cast<std::string*>(context);
  if (answer->size() + size * count > kMaxAnswerBytes) return 0;
  answer->append(data, size * count);
  return size * count;
}

class EndpointSource final : public ReportSource {
 public:
  explicit EndpointSource(Endpoint endpoint) : endpoint_(std::move(endpoint)) {
    while (endpoint_.url.ends_with('/')) endpoint_.url.pop_back();
    headers_.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + endpoint_.token).c_str()));
  }

  base::Result<Answer> Ask(const std::string& path, const collector::QueryString& query) override {
    std::string url = endpoint_.url + path + "?" + query.ToText();
    Answer answer;
    CURL* curl = curl_.get();
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectTimeoutS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, kTimeoutS);
    if (!endpoint_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, endpoint_.ca_file.c_str());
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &AppendAnswer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
    if (CURLcode code = curl_easy_perform(curl); code != CURLE_OK) {
      return Status(StatusCode::kUnavailable, "cannot reach the collector at " + endpoint_.url + ": " +
                                                  curl_easy_strerror(code) + "; check --endpoint");
    }
    long http_status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http_status);
    answer.http_status = static_cast<int>(http_status);
    return answer;
  }

 private:
  Endpoint endpoint_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_{curl_easy_init(), &curl_easy_cleanup};
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_{nullptr, &curl_slist_free_all};
};

}  // namespace

std::unique_ptr<ReportSource> OpenEndpoint(Endpoint endpoint) {
  return std::make_unique<EndpointSource>(std::move(endpoint));
}

}  // namespace lagwatch::tools

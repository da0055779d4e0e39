// SPDX-License-Identifier: Apache-2.0
#include "report/upload/transport/http_transport.h"

#include <atomic>
#include <utility>

#include "base/text.h"

namespace lagwatch::report {
namespace {

class HttpTransport final : public Transport {
 public:
  explicit HttpTransport(std::shared_ptr<HttpClient> client) : client_(std::move(client)) {}

  UploadAnswer Post(std::string_view gzip_body) override {
    const HttpAnswer got =
        client_->Ask({.path = "/v1/reports",
                      .headers = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip"},
                      .is_post = true,
                      .body = gzip_body});
    UploadAnswer answer = got.status == 0 ? UploadAnswer{.message = got.error}
                                          : ParseUploadAnswer(got.status, got.content_type, got.body);
    answer.retry_after_s = got.retry_after_s;
    return answer;
  }
  void Abort() override { client_->Abort(); }
  void Disconnect() override { client_->Disconnect(); }

 private:
  std::shared_ptr<HttpClient> client_;
};

class HttpConfigSource final : public ConfigSource {
 public:
  HttpConfigSource(std::shared_ptr<HttpClient> client, const ConfigAudience& audience,
                   const std::string& app_version)
      : client_(std::move(client)),
        path_("/v1/config?app=" + base::EscapedForUrl(audience.app) + "&version=" +
              base::EscapedForUrl(app_version) + "&user=" + base::EscapedForUrl(audience.user)) {
    if (!audience.user_proof.empty()) path_ += "&user_proof=" + base::EscapedForUrl(audience.user_proof);
  }

  ConfigAnswer Fetch(const std::string& etag) override;
  void Abort() override { is_aborted_ = true; }

 private:
  std::shared_ptr<HttpClient> client_;
  std::string path_;
  std::atomic<bool> is_aborted_{false};
};

ConfigAnswer HttpConfigSource::Fetch(const std::string& etag) {
  HttpRequest request{.path = path_, .is_cancelled = &is_aborted_};
  if (!etag.empty()) request.headers.push_back("If-None-Match: " + etag);
  HttpAnswer got = client_->Ask(request);
  ConfigAnswer answer{
      .envelope = std::move(got.body), .etag = std::move(got.etag), .retry_after_s = got.retry_after_s};
  if (got.status == 200) answer.kind = ConfigAnswer::AnswerKind::kDocument;
  if (got.status == 304) answer.kind = ConfigAnswer::AnswerKind::kNotModified;
  if (got.status == 404) answer.kind = ConfigAnswer::AnswerKind::kNone;
  return answer;
}

}  // namespace

std::unique_ptr<Transport> CreateHttpTransport(std::shared_ptr<HttpClient> client) {
  return std::make_unique<HttpTransport>(std::move(client));
}

std::unique_ptr<ConfigSource> CreateHttpConfigSource(std::shared_ptr<HttpClient> client,
                                                     const ConfigAudience& audience,
                                                     const std::string& app_version) {
  return std::make_unique<HttpConfigSource>(std::move(client), audience, app_version);
}

}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
#include "report/upload/transport/http_transport.h"

#include <utility>

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

}  // namespace

std::unique_ptr<Transport> CreateHttpTransport(std::shared_ptr<HttpClient> client) {
  return std::make_unique<HttpTransport>(std::move(client));
}

}  // namespace lagwatch::report

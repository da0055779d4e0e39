// SPDX-License-Identifier: Apache-2.0
#include "report/upload/http_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>

namespace lagwatch::report {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr long kConnectTimeoutS = 10;
constexpr long kTotalTimeoutS = 60;
constexpr int kPollMs = 1'000;
constexpr size_t kMaxAnswerBytes = 256 << 10;

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
using EasyHandle = std::unique_ptr<CURL, FreeWith<curl_easy_cleanup>>;
using MultiHandle = std::unique_ptr<CURLM, FreeWith<curl_multi_cleanup>>;
using HeaderList = std::unique_ptr<curl_slist, FreeWith<curl_slist_free_all>>;

size_t TakeAnswer(char* bytes, size_t /*one*/, size_t count, void* context) {
  auto* answer = static_cast<std::string*>(context);
  if (answer->size() + count > kMaxAnswerBytes) return CURL_WRITEFUNC_ERROR;
  answer->append(bytes, count);
  return count;
}

bool CanStandInHeader(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char byte) { return byte > ' ' && byte < 0x7f; });
}

// curl_multi rather than curl_easy_perform, because only the former can be woken by another thread.
class HttpTransport final : public Transport {
 public:
  static Result<std::unique_ptr<Transport>> Create(const HttpTransportOptions& options);
  ~HttpTransport() override = default;

  UploadAnswer Post(std::string_view gzip_body) override;
  void Abort() override {
    is_aborted_ = true;
    curl_multi_wakeup(multi_.get());
  }

 private:
  HttpTransport() = default;

  bool Prepare(const std::string& url, const std::string& key);
  CURLcode Perform();
  UploadAnswer AnswerOf(CURLcode code, const std::string& body) const;

  std::atomic<bool> is_aborted_{false};
  MultiHandle multi_{curl_multi_init()};
  HeaderList headers_;
  EasyHandle easy_{curl_easy_init()};
  char error_text_[CURL_ERROR_SIZE] = "";
};

Result<std::unique_ptr<Transport>> HttpTransport::Create(const HttpTransportOptions& options) {
  std::string url = options.endpoint;
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return Status(StatusCode::kInvalid, "the endpoint '" + url + "' must begin with http:// or https://");
  }
  if (!CanStandInHeader(url)) {
    return Status(StatusCode::kInvalid, "the endpoint must hold no blanks and no special characters");
  }
  if (!CanStandInHeader(options.key)) {
    return Status(StatusCode::kInvalid, "the key must hold no blanks and no special characters");
  }
  while (url.ends_with('/')) url.pop_back();
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  std::unique_ptr<HttpTransport> transport(new HttpTransport);
  if (global != CURLE_OK || !transport->Prepare(url + "/v1/reports", options.key)) {
    return Status(StatusCode::kInternal, "libcurl could not be set up");
  }
  return std::unique_ptr<Transport>(std::move(transport));
}

bool HttpTransport::Prepare(const std::string& url, const std::string& key) {
  if (!multi_ || !easy_) return false;
  bool is_complete = true;
  auto add_header = [&](const std::string& header) {
    curl_slist* longer = curl_slist_append(headers_.get(), header.c_str());
    is_complete = is_complete && longer != nullptr;
    if (headers_ == nullptr) headers_.reset(longer);
  };
  add_header("Content-Type: application/x-protobuf");
  add_header("Content-Encoding: gzip");
  add_header("Expect:");  // a body is worth sending without asking first
  if (!key.empty()) add_header("Authorization: Bearer " + key);

  auto set = [&](CURLoption option, auto value) {
    is_complete = is_complete && curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_POST, 1L);
  set(CURLOPT_USERAGENT, "lagwatch");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, kConnectTimeoutS);
  set(CURLOPT_TIMEOUT, kTotalTimeoutS);
  set(CURLOPT_WRITEFUNCTION, &TakeAnswer);
  set(CURLOPT_ERRORBUFFER, error_text_);
#if LIBCURL_VERSION_NUM >= 0x075700
  set(CURLOPT_QUICK_EXIT, 1L);  // a name server that does not answer must not hold up Abort()
#endif
  return is_complete;
}

UploadAnswer HttpTransport::Post(std::string_view gzip_body) {
  std::string body;
  error_text_[0] = '\0';
  curl_easy_setopt(easy_.get(), CURLOPT_POSTFIELDS, gzip_body.data());
  curl_easy_setopt(easy_.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(gzip_body.size()));
  curl_easy_setopt(easy_.get(), CURLOPT_WRITEDATA, &body);
  return AnswerOf(Perform(), body);
}

CURLcode HttpTransport::Perform() {
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) return CURLE_FAILED_INIT;
  CURLMcode state = CURLM_OK;
  int running = 1;
  while (state == CURLM_OK && running != 0 && !is_aborted_) {
    state = curl_multi_perform(multi_.get(), &running);
    bool has_to_wait = state == CURLM_OK && running != 0;
    if (has_to_wait) state = curl_multi_poll(multi_.get(), nullptr, 0, kPollMs, nullptr);
  }
  int messages_left;
  CURLMsg* message = curl_multi_info_read(multi_.get(), &messages_left);
  CURLcode code = message != nullptr ? message->data.result : CURLE_ABORTED_BY_CALLBACK;
  curl_multi_remove_handle(multi_.get(), easy_.get());
  return code;
}

UploadAnswer HttpTransport::AnswerOf(CURLcode code, const std::string& body) const {
  UploadAnswer answer;
  if (code != CURLE_OK) {
    answer.message = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(code);
    return answer;
  }
  long http_status = 0;
  curl_off_t retry_after_s = 0;
  const char* content_type = nullptr;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &http_status);
  curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &retry_after_s);
  curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_TYPE, &content_type);
  answer =
      ParseUploadAnswer(static_cast<int>(http_status), content_type == nullptr ? "" : content_type, body);
  answer.retry_after_s = retry_after_s;
  return answer;
}

}  // namespace

Result<std::unique_ptr<Transport>> CreateHttpTransport(const HttpTransportOptions& options) {
  return HttpTransport::Create(options);
}

}  // namespace lagwatch::report

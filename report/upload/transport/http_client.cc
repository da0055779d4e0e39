// SPDX-License-Identifier: Apache-2.0
#include "report/upload/transport/http_client.h"

#include <strings.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/curl_handle.h"
#include "base/text.h"
#include "policies/upload/circuit_breaker.h"

namespace lagwatch::report {
namespace {

// Other threads do not wake a request: the descriptor that libcurl would be woken by is in the table of the
// thread that asks, and its number may be the program's in theirs.
constexpr int kPollMs = 50;
constexpr size_t kMaxAnswerBytes = 256 << 10;
constexpr size_t kMaxHeaderBytes = 1024;  // of one that we keep
constexpr long kLowestBytesPerSecond = 10;
constexpr int64_t kLongestRetryAfterS = 24 * 3600;

bool CanStandInHeader(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char byte) { return byte > ' ' && byte < 0x7f; });
}

Status Check(const HttpOptions& options) {
  auto invalid = [](std::string what) { return Status(StatusCode::kInvalid, std::move(what)); };
  if (!options.endpoint.starts_with("http://") && !options.endpoint.starts_with("https://"))
    return invalid("the endpoint '" + options.endpoint + "' must begin with http:// or https://");
  if (!CanStandInHeader(options.endpoint))
    return invalid("the endpoint must hold no blanks and no special characters");
  if (!CanStandInHeader(options.key)) return invalid("the key must hold no blanks and no special characters");
  return {};
}

// curl_multi rather than curl_easy_perform, because only the former returns now and then.
class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(const HttpOptions& options);

  HttpAnswer Ask(const HttpRequest& request) override;
  void Abort() override { is_aborted_ = true; }
  void Disconnect() override { multi_.reset(); }

 private:
  bool Prepare();
  bool PrepareConnection(base::CurlHandle* curl);
  bool PrepareTls(base::CurlHandle* curl) const;
  bool PrepareRequest(const HttpRequest& request);
  HttpAnswer AskNow(const HttpRequest& request);
  bool IsGivenUp(const HttpRequest& request) const {
    return is_aborted_ || (request.is_cancelled != nullptr && *request.is_cancelled);
  }
  CURLcode Perform(const HttpRequest& request);
  bool TakeBody(std::string_view bytes);
  void TakeHeader(std::string_view line);
  void NoteOutcome(const HttpAnswer& answer);

  std::atomic<bool> is_aborted_{false};
  HttpOptions options_;  // the endpoint without slashes at its end
  policies::CircuitBreaker breaker_;
  // The thread that asks makes both: the one opens descriptors, and the other may have to load libcurl
  // (sdk/late/late_library.h), with some 40 libraries that it needs.
  base::CurlMulti multi_;
  std::unique_ptr<base::CurlHandle> curl_;
  HttpAnswer answer_;  // to the request under way
};

CurlClient::CurlClient(const HttpOptions& options) : options_(options) {
  while (options_.endpoint.ends_with('/')) options_.endpoint.pop_back();
}

bool CurlClient::Prepare() {
  if (curl_ != nullptr) return true;
  auto curl = std::make_unique<base::CurlHandle>();
  if (!*curl || !PrepareConnection(curl.get()) || !PrepareTls(curl.get())) return false;
  curl_ = std::move(curl);
  return true;
}

bool CurlClient::PrepareConnection(base::CurlHandle* curl) {
  const HttpTimeouts& timeouts = options_.timeouts;
  bool is_complete = curl->Set(CURLOPT_USERAGENT, "lagwatch") && curl->Set(CURLOPT_FOLLOWLOCATION, 0L) &&
                     curl->Set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_2TLS}) &&
                     curl->Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(timeouts.connect_ms)) &&
                     curl->Set(CURLOPT_LOW_SPEED_LIMIT, kLowestBytesPerSecond) &&
                     curl->Set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(timeouts.stall_s)) &&
                     curl->Set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeouts.total_ms)) &&
                     curl->OnBody([this](std::string_view bytes) { return TakeBody(bytes); }) &&
                     curl->OnHeader([this](std::string_view line) { return TakeHeader(line), true; });
  const std::string& proxy = options_.proxy;
  if (!proxy.empty()) is_complete = is_complete && curl->Set(CURLOPT_PROXY, proxy.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  is_complete = is_complete && curl->Set(CURLOPT_PROTOCOLS_STR, "http,https");
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  // A name server that does not answer must not hold up Abort().
  is_complete = is_complete && curl->Set(CURLOPT_QUICK_EXIT, 1L);
#endif
  return is_complete;
}

bool CurlClient::PrepareTls(base::CurlHandle* curl) const {
  bool is_complete = curl->Set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2}) &&
                     curl->Set(CURLOPT_SSL_VERIFYPEER, 1L) && curl->Set(CURLOPT_SSL_VERIFYHOST, 2L);
  const std::string& ca_file = options_.ca_file;
  if (ca_file.empty()) return is_complete;
  // No directory besides: the system's certificates are not trusted then.
  return is_complete && curl->Set(CURLOPT_CAINFO, ca_file.c_str()) &&
         curl->Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
}

bool CurlClient::PrepareRequest(const HttpRequest& request) {
  // A body is worth sending without asking first.
  bool is_complete =
      curl_->SetUrl(options_.endpoint + request.path) && curl_->ClearHeaders() && curl_->AddHeader("Expect:");
  const std::string& key = options_.key;
  if (!key.empty()) is_complete = is_complete && curl_->AddHeader("Authorization: Bearer " + key);
  for (const std::string& header : request.headers) is_complete = is_complete && curl_->AddHeader(header);
  return is_complete && (request.is_post ? curl_->SetBody(request.body) : curl_->Set(CURLOPT_HTTPGET, 1L));
}

bool CurlClient::TakeBody(std::string_view bytes) {
  if (answer_.body.size() + bytes.size() > kMaxAnswerBytes) return false;
  answer_.body.append(bytes);
  return true;
}

void CurlClient::TakeHeader(std::string_view line) {
  // A proxy's answer, or one that said "continue", came before.
  if (line.starts_with("HTTP/")) answer_ = {};
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.size() > kMaxHeaderBytes) return;
  const std::string_view value = base::Trimmed(line.substr(colon + 1));
  auto is_named = [&](const char* name) {
    return std::strlen(name) == colon && strncasecmp(line.data(), name, colon) == 0;
  };
  if (is_named("Content-Type")) answer_.content_type = value;
  if (is_named("ETag")) answer_.etag = value;
  if (is_named("Retry-After"))
    answer_.retry_after_s = ParseRetryAfter(value, base::SystemClock().WallMs() / 1'000);
}

HttpAnswer CurlClient::Ask(const HttpRequest& request) {
  const int64_t wait_ms = breaker_.WaitMs(base::SystemClock().MonoNs() / base::kNsPerMs);
  if (wait_ms > 0) {
    const int64_t wait_s = (wait_ms + 999) / 1'000;
    return {
        .retry_after_s = wait_s,
        .error = "the collector is left alone for " + std::to_string(wait_s) + " s, for it did not answer"};
  }
  HttpAnswer answer = AskNow(request);
  if (!IsGivenUp(request)) NoteOutcome(answer);
  return answer;
}

HttpAnswer CurlClient::AskNow(const HttpRequest& request) {
  answer_ = {};
  if (!Prepare())
    return {.error = std::string("libcurl could not be set up: ") + curl_easy_strerror(CURLE_FAILED_INIT)};
  const CURLcode code = PrepareRequest(request) ? Perform(request) : CURLE_OUT_OF_MEMORY;
  if (code != CURLE_OK) return {.error = curl_->ErrorText(code)};
  answer_.status = static_cast<int>(curl_->HttpStatus());
  return std::move(answer_);
}

CURLcode CurlClient::Perform(const HttpRequest& request) {
  if (multi_ == nullptr) multi_.reset(curl_multi_init());
  if (multi_ == nullptr) return CURLE_OUT_OF_MEMORY;
  if (curl_multi_add_handle(multi_.get(), curl_->get()) != CURLM_OK) return CURLE_FAILED_INIT;
  CURLMcode state = CURLM_OK;
  int running = 1;
  while (state == CURLM_OK && running != 0 && !IsGivenUp(request)) {
    state = curl_multi_perform(multi_.get(), &running);
    bool has_to_wait = state == CURLM_OK && running != 0;
    if (has_to_wait) state = curl_multi_poll(multi_.get(), nullptr, 0, kPollMs, nullptr);
  }
  int messages_left;
  CURLMsg* message = curl_multi_info_read(multi_.get(), &messages_left);
  CURLcode code = message != nullptr ? message->data.result : CURLE_ABORTED_BY_CALLBACK;
  curl_multi_remove_handle(multi_.get(), curl_->get());
  return code;
}

void CurlClient::NoteOutcome(const HttpAnswer& answer) {
  const bool cannot_now = answer.status == 0 || answer.status == 429 || answer.status >= 500;
  if (!cannot_now) return breaker_.NoteAnswer();
  breaker_.NoteFailure(base::SystemClock().MonoNs() / base::kNsPerMs, answer.retry_after_s * 1'000);
}

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::Create(const HttpOptions& options) {
  if (Status status = Check(options); !status.ok()) return status;
  return std::unique_ptr<HttpClient>(std::make_unique<CurlClient>(options));
}

int64_t ParseRetryAfter(std::string_view value, int64_t now_wall_s) {
  value = base::Trimmed(value);
  const bool is_number = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  if (is_number) {
    int64_t seconds = 0;
    for (char digit : value) seconds = std::min(kLongestRetryAfterS, seconds * 10 + (digit - '0'));
    return seconds;
  }
  // A date begins with its weekday; curl would take much else for one.
  const bool may_be_date = value.size() >= 3 && value.find(',') != std::string_view::npos;
  const time_t date = may_be_date ? curl_getdate(std::string(value).c_str(), nullptr) : -1;
  return date < 0 ? 0 : std::clamp<int64_t>(int64_t{date} - now_wall_s, 0, kLongestRetryAfterS);
}

}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
#include "report/upload/transport/http_client.h"

#include <curl/curl.h>
#include <strings.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "policies/upload/circuit_breaker.h"

namespace lagwatch::report {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

// Other threads do not wake a request: the descriptor that libcurl would be woken by is in the table of the
// thread that asks, and its number may be the program's in theirs.
constexpr int kPollMs = 50;
constexpr size_t kMaxAnswerBytes = 256 << 10;
constexpr size_t kMaxHeaderBytes = 1024;  // of one that we keep
constexpr long kLowestBytesPerSecond = 10;
constexpr int64_t kLongestRetryAfterS = 24 * 3600;

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

size_t TakeBody(char* bytes, size_t /*one*/, size_t count, void* context) {
  std::string& body = static_cast<HttpAnswer*>(context)->body;
  if (body.size() + count > kMaxAnswerBytes) return CURL_WRITEFUNC_ERROR;
  body.append(bytes, count);
  return count;
}

size_t TakeHeader(char* bytes, size_t /*one*/, size_t count, void* context) {
  auto* answer = static_cast<HttpAnswer*>(context);
  const std::string_view line(bytes, count);
  // A proxy's answer, or one that said "continue", came before.
  if (line.starts_with("HTTP/")) *answer = {};
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || count > kMaxHeaderBytes) return count;
  const std::string_view value = base::Trimmed(line.substr(colon + 1));
  auto is_named = [&](const char* name) {
    return std::strlen(name) == colon && strncasecmp(bytes, name, colon) == 0;
  };
  if (is_named("Content-Type")) answer->content_type = value;
  if (is_named("ETag")) answer->etag = value;
  if (is_named("Retry-After"))
    answer->retry_after_s = ParseRetryAfter(value, base::SystemClock().WallMs() / 1'000);
  return count;
}

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
  bool Prepare(const HttpOptions& options);

  HttpAnswer Ask(const HttpRequest& request) override;
  void Abort() override { is_aborted_ = true; }
  void Disconnect() override { multi_.reset(); }

 private:
  template <typename Value>
  bool Set(CURLoption option, Value value) {
    return curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }
  bool PrepareConnection(const HttpOptions& options);
  bool PrepareTls(const std::string& ca_file);
  bool PrepareRequest(const HttpRequest& request, HttpAnswer* answer);
  HttpAnswer AskNow(const HttpRequest& request);
  bool IsGivenUp(const HttpRequest& request) const {
    return is_aborted_ || (request.is_cancelled != nullptr && *request.is_cancelled);
  }
  CURLcode Perform(const HttpRequest& request);
  void NoteOutcome(const HttpAnswer& answer);

  std::atomic<bool> is_aborted_{false};
  std::string endpoint_;
  std::string key_;
  policies::CircuitBreaker breaker_;
  MultiHandle multi_;  // opens descriptors when it is made, so the thread that asks makes it
  HeaderList headers_;
  EasyHandle easy_{curl_easy_init()};
  char error_text_[CURL_ERROR_SIZE] = "";
};

bool CurlClient::Prepare(const HttpOptions& options) {
  endpoint_ = options.endpoint;
  while (endpoint_.ends_with('/')) endpoint_.pop_back();
  key_ = options.key;
  return easy_ && PrepareConnection(options) && PrepareTls(options.ca_file);
}

bool CurlClient::PrepareConnection(const HttpOptions& options) {
  bool is_complete = Set(CURLOPT_USERAGENT, "lagwatch") && Set(CURLOPT_NOSIGNAL, 1L) &&
                     Set(CURLOPT_FOLLOWLOCATION, 0L) &&
                     Set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_2TLS}) &&
                     Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.timeouts.connect_ms)) &&
                     Set(CURLOPT_LOW_SPEED_LIMIT, kLowestBytesPerSecond) &&
                     Set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.timeouts.stall_s)) &&
                     Set(CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeouts.total_ms)) &&
                     Set(CURLOPT_WRITEFUNCTION, &TakeBody) && Set(CURLOPT_HEADERFUNCTION, &TakeHeader) &&
                     Set(CURLOPT_ERRORBUFFER, error_text_);
  if (!options.proxy.empty()) is_complete = is_complete && Set(CURLOPT_PROXY, options.proxy.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  is_complete = is_complete && Set(CURLOPT_PROTOCOLS_STR, "http,https");
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  // A name server that does not answer must not hold up Abort().
  is_complete = is_complete && Set(CURLOPT_QUICK_EXIT, 1L);
#endif
  return is_complete;
}

bool CurlClient::PrepareTls(const std::string& ca_file) {
  bool is_complete = Set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2}) &&
                     Set(CURLOPT_SSL_VERIFYPEER, 1L) && Set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (ca_file.empty()) return is_complete;
  // No directory besides: the system's certificates are not trusted then.
  return is_complete && Set(CURLOPT_CAINFO, ca_file.c_str()) &&
         Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
}

bool CurlClient::PrepareRequest(const HttpRequest& request, HttpAnswer* answer) {
  headers_.reset();
  bool is_complete = true;
  auto add_header = [&](const std::string& header) {
    curl_slist* longer = curl_slist_append(headers_.get(), header.c_str());
    is_complete = is_complete && longer != nullptr;
    if (headers_ == nullptr) headers_.reset(longer);
  };
  add_header("Expect:");  // a body is worth sending without asking first
  if (!key_.empty()) add_header("Authorization: Bearer " + key_);
  for (const std::string& header : request.headers) add_header(header);
  if (request.is_post) {
    is_complete = is_complete && Set(CURLOPT_POST, 1L) && Set(CURLOPT_POSTFIELDS, request.body.data()) &&
                  Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  } else {
    is_complete = is_complete && Set(CURLOPT_HTTPGET, 1L);
  }
  error_text_[0] = '\0';
  return is_complete && Set(CURLOPT_URL, (endpoint_ + request.path).c_str()) &&
         Set(CURLOPT_HTTPHEADER, headers_.get()) && Set(CURLOPT_WRITEDATA, answer) &&
         Set(CURLOPT_HEADERDATA, answer);
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
  HttpAnswer answer;
  const CURLcode code = PrepareRequest(request, &answer) ? Perform(request) : CURLE_OUT_OF_MEMORY;
  if (code != CURLE_OK) return {.error = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(code)};
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

CURLcode CurlClient::Perform(const HttpRequest& request) {
  if (multi_ == nullptr) multi_.reset(curl_multi_init());
  if (multi_ == nullptr) return CURLE_OUT_OF_MEMORY;
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) return CURLE_FAILED_INIT;
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
  curl_multi_remove_handle(multi_.get(), easy_.get());
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
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto client = std::make_unique<CurlClient>();
  if (global != CURLE_OK || !client->Prepare(options))
    return Status(StatusCode::kInternal, "libcurl could not be set up");
  return std::unique_ptr<HttpClient>(std::move(client));
}

std::string EscapedForUrl(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string escaped;
  for (char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (kUnreserved.find(byte) != std::string_view::npos) {
      escaped.push_back(byte);
    } else {
      escaped.append({'%', kDigits[code >> 4], kDigits[code & 15]});
    }
  }
  return escaped;
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

// SPDX-License-Identifier: Apache-2.0
#include "report/upload/http_config_source.h"

#include <curl/curl.h>

#include <atomic>
#include <string_view>

namespace lagwatch::report {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr long kConnectTimeoutS = 10;
constexpr long kTotalTimeoutS = 30;
constexpr size_t kMaxAnswerBytes = 256 << 10;

using EasyHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

size_t TakeBody(char* bytes, size_t /*one*/, size_t count, void* context) {
  auto* body = static_cast<std::string*>(context);
  if (body->size() + count > kMaxAnswerBytes) return CURL_WRITEFUNC_ERROR;
  body->append(bytes, count);
  return count;
}

// Of the last answer's headers, should there be more than one "ETag".
size_t TakeEtag(char* bytes, size_t /*one*/, size_t count, void* context) {
  constexpr std::string_view kName = "etag:";
  const std::string_view line(bytes, count);
  if (line.size() < kName.size() || curl_strnequal(line.data(), kName.data(), kName.size()) == 0)
    return count;
  const size_t begin = line.find_first_not_of(" \t", kName.size());
  const size_t end = line.find_last_not_of(" \t\r\n");
  if (begin <= end && end != std::string_view::npos)
    *static_cast<std::string*>(context) = line.substr(begin, end - begin + 1);
  return count;
}

class HttpConfigSource final : public ConfigSource {
 public:
  HttpConfigSource(const HttpTransportOptions& options, const ConfigAudience& audience,
                   const std::string& app_version)
      : key_(options.key), easy_(curl_easy_init(), &curl_easy_cleanup) {
    url_ = options.endpoint;
    while (url_.ends_with('/')) url_.pop_back();
    url_ += "/v1/config?app=" + Escaped(audience.app) + "&version=" + Escaped(app_version) +
            "&user=" + Escaped(audience.user);
  }

  bool is_ready() const { return easy_ != nullptr; }
  ConfigAnswer Fetch(const std::string& etag) override;
  void Abort() override { is_aborted_ = true; }

 private:
  std::string Escaped(const std::string& text) const {
    const std::unique_ptr<char, decltype(&curl_free)> escaped(
        curl_easy_escape(easy_.get(), text.c_str(), static_cast<int>(text.size())), &curl_free);
    return escaped == nullptr ? "" : escaped.get();
  }
  static int SayIfAborted(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<HttpConfigSource*>(self)->is_aborted_ ? 1 : 0;
  }

  std::string key_;
  std::string url_;
  std::atomic<bool> is_aborted_{false};
  EasyHandle easy_;
};

ConfigAnswer HttpConfigSource::Fetch(const std::string& etag) {
  if (is_aborted_) return {};
  ConfigAnswer answer;
  HeaderList headers(nullptr, &curl_slist_free_all);
  auto add_header = [&](const std::string& header) {
    if (curl_slist* longer = curl_slist_append(headers.get(), header.c_str())) {
      static_cast<void>(headers.release());
      headers.reset(longer);
    }
  };
  if (!key_.empty()) add_header("Authorization: Bearer " + key_);
  if (!etag.empty()) add_header("If-None-Match: " + etag);
  auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy_.get(), option, value); };
  set(CURLOPT_URL, url_.c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_USERAGENT, "lagwatch");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, kConnectTimeoutS);
  set(CURLOPT_TIMEOUT, kTotalTimeoutS);
  set(CURLOPT_WRITEFUNCTION, &TakeBody);
  set(CURLOPT_WRITEDATA, &answer.envelope);
  set(CURLOPT_HEADERFUNCTION, &TakeEtag);
  set(CURLOPT_HEADERDATA, &answer.etag);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &SayIfAborted);
  set(CURLOPT_XFERINFODATA, this);
#if LIBCURL_VERSION_NUM >= 0x075700
  set(CURLOPT_QUICK_EXIT, 1L);  // a name server that does not answer must not hold up Abort()
#endif
  const CURLcode code = curl_easy_perform(easy_.get());
  set(CURLOPT_HTTPHEADER, nullptr);
  if (code != CURLE_OK) return {};
  long http_status = 0;
  curl_off_t retry_after_s = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &http_status);
  curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &retry_after_s);
  if (http_status == 200) answer.kind = ConfigAnswer::Kind::kDocument;
  if (http_status == 304) answer.kind = ConfigAnswer::Kind::kNotModified;
  if (http_status == 404) answer.kind = ConfigAnswer::Kind::kNone;
  answer.retry_after_s = retry_after_s;
  return answer;
}

}  // namespace

Result<std::unique_ptr<ConfigSource>> CreateHttpConfigSource(const HttpTransportOptions& options,
                                                             const ConfigAudience& audience,
                                                             const std::string& app_version) {
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto source = std::make_unique<HttpConfigSource>(options, audience, app_version);
  if (global != CURLE_OK || !source->is_ready())
    return Status(StatusCode::kInternal, "libcurl could not be set up");
  return std::unique_ptr<ConfigSource>(std::move(source));
}

}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
// libcurl's handles with their owners. A program that includes this links libcurl itself. Context:
// background.
#pragma once

#include <curl/curl.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace lagwatch::base {

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};

using CurlMulti = std::unique_ptr<CURLM, FreeWith<curl_multi_cleanup>>;
using CurlMime = std::unique_ptr<curl_mime, FreeWith<curl_mime_free>>;
using CurlText = std::unique_ptr<char, FreeWith<curl_free>>;

// One transfer at a time. Connections are kept from one transfer to the next. Not thread-safe.
class CurlHandle {
 public:
  CurlHandle() { Reset(); }
  CurlHandle(const CurlHandle&) = delete;
  CurlHandle& operator=(const CurlHandle&) = delete;

  // False when libcurl could not be set up; then only this may be called.
  explicit operator bool() const { return easy_ != nullptr; }
  CURL* get() const { return easy_.get(); }

  // Returns all options to their defaults, without signals.
  void Reset() {
    if (easy_ == nullptr) return;
    curl_easy_reset(get());
    headers_.reset();
    error_text_[0] = '\0';
    Set(CURLOPT_ERRORBUFFER, error_text_);
    Set(CURLOPT_NOSIGNAL, 1L);
  }

  template <typename Value>
  bool Set(CURLoption option, Value value) {
    return curl_easy_setopt(get(), option, value) == CURLE_OK;
  }
  // The address of the next transfer; forgets the error of the last one.
  bool SetUrl(const std::string& url) {
    error_text_[0] = '\0';
    return Set(CURLOPT_URL, url.c_str());
  }
  // Begins a new list of headers.
  bool ClearHeaders() {
    headers_.reset();
    return Set(CURLOPT_HTTPHEADER, headers_.get());
  }
  bool AddHeader(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) return false;
    static_cast<void>(headers_.release());
    headers_.reset(longer);
    return Set(CURLOPT_HTTPHEADER, longer);
  }
  // Sends `body` by POST, or by the method of CURLOPT_CUSTOMREQUEST. Borrowed until the transfer's end.
  bool SetBody(std::string_view body) {
    return Set(CURLOPT_POST, 1L) && Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size())) &&
           Set(CURLOPT_POSTFIELDS, body.data());
  }
  // Takes bytes of the answer; returns false to end the transfer. Throws nothing.
  using Taker = std::function<bool(std::string_view)>;
  bool OnBody(Taker take) {
    take_body_ = std::move(take);
    return Set(CURLOPT_WRITEFUNCTION, &CallTaker) && Set(CURLOPT_WRITEDATA, &take_body_);
  }
  // Line by line; also of interim answers, and of a proxy's.
  bool OnHeader(Taker take) {
    take_header_ = std::move(take);
    return Set(CURLOPT_HEADERFUNCTION, &CallTaker) && Set(CURLOPT_HEADERDATA, &take_header_);
  }

  CURLcode Perform() { return curl_easy_perform(get()); }

  // 0 before the answer's first line.
  long HttpStatus() const {
    long status = 0;
    curl_easy_getinfo(get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }
  // The error of the last transfer, which ended with `code`.
  std::string ErrorText(CURLcode code) const {
    return error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(code);
  }

 private:
  static size_t CallTaker(char* bytes, size_t /*one*/, size_t count, void* taker) {
    return (*static_cast<Taker*>(taker))({bytes, count}) ? count : CURL_WRITEFUNC_ERROR;
  }
  static CURL* Create() {
    static std::mutex mutex;
    static bool is_set_up = false;
    const std::lock_guard lock(mutex);
    is_set_up = is_set_up || curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return is_set_up ? curl_easy_init() : nullptr;
  }

  std::unique_ptr<curl_slist, FreeWith<curl_slist_free_all>> headers_;
  std::unique_ptr<CURL, FreeWith<curl_easy_cleanup>> easy_{Create()};
  Taker take_body_;
  Taker take_header_;
  char error_text_[CURL_ERROR_SIZE] = "";
};

}  // namespace lagwatch::base

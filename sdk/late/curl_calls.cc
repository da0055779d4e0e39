// SPDX-License-Identifier: Apache-2.0
// The functions of libcurl that lagwatch calls.
#include <curl/curl.h>

#include <cstdarg>

#include "sdk/late/late_library.h"

// An enumeration before "..." is what libcurl declares; it is passed as the int that it is.
#pragma GCC diagnostic ignored "-Wvarargs"

#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace {

using lagwatch::sdk::LateCall;
using lagwatch::sdk::LateLibrary;

// Without the library there is no handle, so the functions that need one are never called.
#define LAGWATCH_CURL_CALLS(F)                                                                          \
  F(CURLcode, curl_global_init, (long flags), (flags), CURLE_FAILED_INIT)                               \
  F(CURL*, curl_easy_init, (), (), nullptr)                                                             \
  F(void, curl_easy_reset, (CURL * handle), (handle), void())                                           \
  F(void, curl_easy_cleanup, (CURL * handle), (handle), void())                                         \
  F(curl_slist*, curl_slist_append, (curl_slist * list, const char* text), (list, text), nullptr)       \
  F(void, curl_slist_free_all, (curl_slist * list), (list), void())                                     \
  F(CURLM*, curl_multi_init, (), (), nullptr)                                                           \
  F(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi), CURLM_BAD_HANDLE)                          \
  F(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL * easy), (multi, easy), CURLM_BAD_HANDLE)    \
  F(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL * easy), (multi, easy), CURLM_BAD_HANDLE) \
  F(CURLMcode, curl_multi_perform, (CURLM * multi, int* running), (multi, running), CURLM_BAD_HANDLE)   \
  F(CURLMsg*, curl_multi_info_read, (CURLM * multi, int* left), (multi, left), nullptr)                 \
  F(time_t, curl_getdate, (const char* text, const time_t* unused), (text, unused), -1)

// With those that are defined by hand.
#define LAGWATCH_CURL_NAMES(F)                                \
  LAGWATCH_CURL_CALLS(F)                                      \
  F(CURLcode, curl_easy_setopt, (CURL*, CURLoption, ...), , ) \
  F(CURLcode, curl_easy_getinfo, (CURL*, CURLINFO, ...), , )  \
  F(const char*, curl_easy_strerror, (CURLcode), , )          \
  F(CURLMcode, curl_multi_poll, (CURLM*, curl_waitfd*, unsigned, int, int*), , )

LAGWATCH_LATE_LIBRARY("libcurl.so.4", LAGWATCH_CURL_NAMES);

static_assert(sizeof(curl_off_t) == sizeof(void*) && sizeof(long) == sizeof(void*),
              "each argument of curl_easy_setopt is passed as a pointer is");

}  // namespace

extern "C" {

LAGWATCH_CURL_CALLS(LAGWATCH_LATE_CALL)

CURLcode curl_easy_setopt(CURL* handle, CURLoption option, ...) {
  va_list arguments;
  va_start(arguments, option);
  void* value = va_arg(arguments, void*);
  va_end(arguments);
  const LateCall call;
  if (!call) return CURLE_FAILED_INIT;
  auto* function = library.Get<CURLcode(CURL*, CURLoption, ...)>(k_curl_easy_setopt);
  return function != nullptr ? function(handle, option, value) : CURLE_FAILED_INIT;
}

CURLcode curl_easy_getinfo(CURL* handle, CURLINFO info, ...) {
  va_list arguments;
  va_start(arguments, info);
  void* value = va_arg(arguments, void*);
  va_end(arguments);
  const LateCall call;
  if (!call) return CURLE_FAILED_INIT;
  auto* function = library.Get<CURLcode(CURL*, CURLINFO, ...)>(k_curl_easy_getinfo);
  return function != nullptr ? function(handle, info, value) : CURLE_FAILED_INIT;
}

CURLMcode curl_multi_poll(CURLM* multi, curl_waitfd* more, unsigned count, int timeout_ms, int* ready) {
  const LateCall call(LateCall::CallLength::kWaitsOnly);
  if (!call) return CURLM_BAD_HANDLE;
  auto* function = library.Get<CURLMcode(CURLM*, curl_waitfd*, unsigned, int, int*)>(k_curl_multi_poll);
  return function != nullptr ? function(multi, more, count, timeout_ms, ready) : CURLM_BAD_HANDLE;
}

const char* curl_easy_strerror(CURLcode code) {
  const LateCall call;
  if (!call) return "the process is ending";
  auto* function = library.Get<const char*(CURLcode)>(k_curl_easy_strerror);
  if (function != nullptr) return function(code);
  const char* error = library.error();
  return error != nullptr ? error : "it cannot be loaded";
}

}  // extern "C"

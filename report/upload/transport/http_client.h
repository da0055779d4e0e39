// SPDX-License-Identifier: Apache-2.0
// HTTP(S) with one host, by libcurl, for all that asks a collector for something. Connections are kept,
// HTTP/2 is spoken over TLS, certificates are always verified, redirects are not followed, nothing is printed
// and no signal is used. A host that does not answer is left alone for a while
// (policies/upload/circuit_breaker.h). Context: background. The thread that asks should have SIGPIPE blocked
// or ignored: OpenSSL may raise it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::report {

struct HttpTimeouts {
  int64_t connect_ms = 15'000;  // to find the host's address, reach it and agree on TLS
  int64_t stall_s = 30;         // with less than 10 bytes a second in either direction, answer awaited or not
  int64_t total_ms = 120'000;
};

struct HttpOptions {
  std::string endpoint = {};  // "https://lag.example.com", with or without a slash at the end
  std::string key = {};       // sent as a bearer token; none when empty
  // A PEM file with the certificates that the server's must be signed by. Empty: the system's.
  std::string ca_file = {};
  std::string proxy = {};  // as curl understands it; empty: as the environment says
  HttpTimeouts timeouts = {};
};

struct HttpRequest {
  std::string path;  // "/v1/reports", with the query after a '?'
  std::vector<std::string> headers = {};
  bool is_post = false;
  std::string_view body = {};  // of a POST
  // Within 50 ms after it becomes true, the request is given up. Borrowed; null: it never is.
  const std::atomic<bool>* is_cancelled = nullptr;
};

struct HttpAnswer {
  int status = 0;  // 0 when there was no whole answer
  std::string content_type{};
  std::string etag{};
  int64_t retry_after_s = 0;  // 0 to a day
  std::string body{};
  std::string error{};  // for a person, when there was no answer
};

// One thread at a time asks; its descriptor table holds the connections until it calls Disconnect(). The
// first Ask sets up libcurl.
class HttpClient {
 public:
  // Errors: kInvalid when an option cannot be one.
  static base::Result<std::unique_ptr<HttpClient>> Create(const HttpOptions& options);
  virtual ~HttpClient() = default;

  virtual HttpAnswer Ask(const HttpRequest& request) = 0;
  // Makes an Ask under way, and all later ones, return soon and without an answer. From any thread.
  virtual void Abort() = 0;
  // Closes all connections; the next Ask opens them again. From the thread that asks.
  virtual void Disconnect() = 0;
};

// A header's value, a number of seconds or a date; 0 if it is neither, a day if it is longer.
int64_t ParseRetryAfter(std::string_view value, int64_t now_wall_s);

}  // namespace lagwatch::report

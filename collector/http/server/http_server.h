// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 over TCP, or TLS, for a Router. Context: background.
//
// All that a peer can make grow has an end (HttpLimits): connections, in all and of one peer; heads, of 8 KiB
// and 10 s; bodies, by the endpoint's limit and a pace that they must keep; bytes of all bodies together. A
// refused request's body is not looked at: the answer goes out first, and what still arrives is thrown away
// for a moment so that the answer is not lost with a reset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "collector/http/proxies/trusted_proxies.h"
#include "collector/http/server/http_limits.h"
#include "collector/http/server/metrics.h"
#include "collector/http/server/router.h"
#include "collector/http/server/tls.h"

namespace lagwatch::collector {

// An address to listen at: "127.0.0.1:8790" or "[::1]:8790". Pure.
struct ListenAddress {
  std::string ip;     // without brackets
  uint16_t port = 0;  // 0: any free one

  // Errors: kInvalid. Names of hosts are not looked up.
  static base::Result<ListenAddress> Parse(std::string_view text);
  std::string ToText() const;
  bool IsLoopback() const { return ip.starts_with("127.") || ip == "::1"; }
};

struct HttpOptions {
  ListenAddress listen;
  int threads = 1;
  HttpLimits limits = {};
  TlsFiles tls = {};
  TrustedProxies proxies = {};    // they say the addresses of their clients
  bool has_proxy_header = false;  // their connections begin with a header of the PROXY protocol
  Metrics* metrics = nullptr;     // borrowed; null: nothing is counted
};

class HttpServer {
 public:
  // Listens and answers on threads of its own from now on. Borrows `router`. Raises the process's
  // limit of open files as far as permitted. Errors: kIo if the address is not available, kInvalid
  // for an invalid certificate.
  static base::Result<std::unique_ptr<HttpServer>> Start(const HttpOptions& options, const Router* router);
  ~HttpServer();

  uint16_t port() const;
  // Reads the certificate again. Errors: kInvalid; then connections go on with the one before.
  base::Status ReloadCertificate();
  // Takes no more connections, lets requests that have begun be answered within `stop_time`, and returns when
  // all are closed.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace lagwatch::collector

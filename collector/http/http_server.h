// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 over TCP for a Router. Context: background.
//
// A connection has `timeout` for a request's head, for its body and for its answer, each; heads are limited
// to 8 KiB, bodies to the router's limit. A refused request's body is not looked at: the answer goes out
// first, and what still arrives is thrown away for a moment so that the answer is not lost with a reset.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "collector/http/listen_address.h"
#include "collector/http/router.h"

namespace lagwatch::collector {

struct HttpOptions {
  ListenAddress listen;
  int threads = 1;
  std::chrono::milliseconds timeout{30'000};
};

class HttpServer {
 public:
  // Listens and answers on threads of its own from now on. Borrows `router`.
  // Errors: kIo when the address cannot be had.
  static base::Result<std::unique_ptr<HttpServer>> Start(const HttpOptions& options, const Router* router);
  ~HttpServer();

  uint16_t port() const;
  // Takes no more connections, lets requests that have begun be answered, and returns when all are closed.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace lagwatch::collector

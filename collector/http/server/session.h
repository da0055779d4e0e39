// SPDX-License-Identifier: Apache-2.0
// One connection: reads requests and sends the answers, within the limits. Context: background.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <functional>
#include <memory>
#include <string>

#include "collector/http/proxies/trusted_proxies.h"
#include "collector/http/server/await_response.h"
#include "collector/http/server/budget.h"
#include "collector/http/server/http_limits.h"
#include "collector/http/server/limited_log.h"
#include "collector/http/server/metrics.h"
#include "collector/http/server/query_threads.h"
#include "collector/http/server/router.h"

namespace lagwatch::collector {

using TcpStream = boost::beast::basic_stream<boost::asio::ip::tcp,
                                             boost::asio::strand<boost::asio::io_context::executor_type>>;

// The parts that a server's sessions share; all borrowed.
struct SessionContext {
  const Router* router = nullptr;
  const HttpLimits* limits = nullptr;
  Budget* bytes = nullptr;          // of bodies in flight
  Budget* keyless_bytes = nullptr;  // of those whose key is not in the head
  QueryThreads* queries = nullptr;
  QueryThreads* parsers = nullptr;
  LimitedLog* refusals = nullptr;
  AnswersUnderWay* answers = nullptr;
  Metrics* metrics = nullptr;  // may be null
  const TrustedProxies* proxies = nullptr;
  bool has_proxy_header = false;  // of a trusted proxy's connections
};

// The peer of a connection, with its share of the connection budget.
struct Caller {
  std::string peer;  // the peer that it counts for
  boost::asio::ip::address address;
  bool is_proxy = false;  // a trusted one: the client's address is in each request's head
  Budget::Share connection;
};

class Session {
 public:
  virtual ~Session() = default;

  // Begins on the stream's executor and calls `ended` there when the connection is closed.
  virtual void Start(std::function<void()> ended) = 0;
  // Ends the connection at once when it waits for a request, else after the answer. From any thread.
  virtual void Stop() = 0;
  // Ends it at once, or as soon as a handler has answered. From any thread.
  virtual void Abort() = 0;
};

// With `tls` null, plain HTTP.
std::shared_ptr<Session> CreateSession(TcpStream stream, std::shared_ptr<boost::asio::ssl::context> tls,
                                       Caller caller, const SessionContext& context);

}  // namespace lagwatch::collector

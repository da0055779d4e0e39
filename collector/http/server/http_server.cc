// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/http_server.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "collector/http/server/budget.h"
#include "collector/http/server/limited_log.h"
#include "collector/http/server/query_threads.h"
#include "collector/http/server/session.h"

namespace lagwatch::collector {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Strand = asio::strand<asio::io_context::executor_type>;

// The limit of open files, less those of the store and others.
uint64_t MostConnections() {
  constexpr uint64_t kOtherFiles = 128;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return UINT64_MAX;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur > 2 * kOtherFiles ? files.rlim_cur - kOtherFiles : files.rlim_cur / 2;
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, const Router* router)
      : options_(options),
        router_(router),
        context_(options.threads),
        acceptor_(asio::make_strand(context_)) {}

  ~Impl() { Stop(); }

  base::Status Start() {
    if (base::Status loaded = ReloadCertificate(); !loaded.ok()) return loaded;
    try {
      tcp::endpoint endpoint(asio::ip::make_address(options_.listen.ip), options_.listen.port);
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(tcp::acceptor::reuse_address(true));
      acceptor_.bind(endpoint);
      acceptor_.listen();
    } catch (const boost::system::system_error& error) {
      std::string hint = error.code() == asio::error::address_in_use ? "; another program has this port" : "";
      return {base::StatusCode::kIo, "cannot listen on " + options_.listen.ToText() + ": " +
                                         error.code().message() + hint + "; give another with --listen"};
    }
    port_ = acceptor_.local_endpoint().port();
    asio::co_spawn(acceptor_.get_executor(), Accept(), asio::detached);
    for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { context_.run(); });
    return {};
  }

  uint16_t port() const { return port_; }

  base::Status ReloadCertificate() { return options_.tls.certificate.empty() ? base::Status() : tls_.Load(); }

  void Stop() {
    asio::post(acceptor_.get_executor(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
      for (const auto& session : sessions_) session->Stop();
      if (sessions_.empty()) return;
      deadline_.expires_after(options_.limits.stop_time);
      deadline_.async_wait([this](const error_code& error) {
        if (!error) AbortAll();
      });
    });
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    answers_.WaitForNone();
  }

 private:
  asio::awaitable<void> Accept() {
    while (acceptor_.is_open()) {
      error_code error;
      TcpStream stream(asio::make_strand(context_));
      co_await acceptor_.async_accept(stream.socket(), asio::redirect_error(asio::use_awaitable, error));
      if (!acceptor_.is_open()) break;
      if (error) {
        // Most often all file descriptors are in use: some will come back.
        spdlog::error("cannot accept a connection: {}", error.message());
        pause_.expires_after(std::chrono::milliseconds(100));
        co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      Serve(std::move(stream));
    }
  }

  void RefuseConnection(const std::string& address) {
    refusals_.Info("closed a connection from " + address + ": there are too many");
    if (options_.metrics != nullptr) options_.metrics->CountRefusedConnection();
  }

  // Reports the used part of a budget to the metrics.
  std::function<void(uint64_t)> Watch(void (Metrics::*set)(uint64_t)) {
    if (options_.metrics == nullptr) return {};
    return [metrics = options_.metrics, set](uint64_t taken) { (metrics->*set)(taken); };
  }

  // A connection beyond the limit is closed without an answer: answers cost the resources that are short.
  void Serve(TcpStream stream) {
    error_code error;
    const tcp::endpoint remote = stream.socket().remote_endpoint(error);
    if (error) return;
    const bool is_proxy = options_.proxies.Contains(remote.address());
    const std::string peer = PeerOf(remote.address());
    // A proxy's connections are those of many clients: each counts for a peer of its own.
    auto connection = connections_.TryTake(is_proxy ? "proxied " + std::to_string(++proxied_) : peer, 1);
    if (!connection) return RefuseConnection(remote.address().to_string());
    stream.socket().set_option(tcp::no_delay(true), error);
    auto session = CreateSession(std::move(stream), tls_.Current(),
                                 {.peer = peer,
                                  .address = remote.address(),
                                  .is_proxy = is_proxy,
                                  .connection = std::move(*connection)},
                                 {.router = router_,
                                  .limits = &options_.limits,
                                  .bytes = &bytes_,
                                  .keyless_bytes = &keyless_bytes_,
                                  .queries = &queries_,
                                  .parsers = &parsers_,
                                  .refusals = &refusals_,
                                  .answers = &answers_,
                                  .metrics = options_.metrics,
                                  .proxies = &options_.proxies,
                                  .has_proxy_header = options_.has_proxy_header});
    std::lock_guard lock(mutex_);
    auto place = sessions_.insert(sessions_.end(), session);
    session->Start([this, place] { Forget(place); });
  }

  void Forget(std::list<std::shared_ptr<Session>>::iterator place) {
    std::lock_guard lock(mutex_);
    sessions_.erase(place);
    if (is_stopping_ && sessions_.empty())
      asio::post(acceptor_.get_executor(), [this] { deadline_.cancel(); });
  }

  void AbortAll() {
    std::lock_guard lock(mutex_);
    if (!sessions_.empty())
      spdlog::warn("{} connections are cut: they took too long to end", sessions_.size());
    for (const auto& session : sessions_) session->Abort();
  }

  const HttpOptions options_;
  const Router* router_;
  Budget connections_{std::min(options_.limits.connections, MostConnections()),
                      options_.limits.connections_per_peer, Watch(&Metrics::SetConnections)};
  Budget bytes_{options_.limits.bytes_in_flight, options_.limits.BytesOfAPeer(),
                Watch(&Metrics::SetBytesInFlight)};
  Budget keyless_bytes_{options_.limits.KeylessBytes(), options_.limits.KeylessBytesOfAPeer(),
                        Watch(&Metrics::SetKeylessBytesInFlight)};
  LimitedLog refusals_;
  TlsIdentity tls_{options_.tls};
  AnswersUnderWay answers_;
  asio::io_context context_;
  asio::basic_socket_acceptor<tcp, Strand> acceptor_;
  asio::steady_timer pause_{context_};
  asio::steady_timer deadline_{context_};
  QueryThreads queries_{options_.limits.query_threads, options_.limits.queued_queries};
  QueryThreads parsers_{options_.limits.parser_threads, options_.limits.queued_bodies,
                        options_.limits.QueuedBodiesOfAPeer()};
  uint64_t proxied_ = 0;  // connections of proxies so far; the acceptor's own
  uint16_t port_ = 0;
  std::mutex mutex_;
  std::list<std::shared_ptr<Session>> sessions_;  // guarded by mutex_
  bool is_stopping_ = false;                      // likewise
  std::vector<std::thread> threads_;
};

base::Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpOptions& options,
                                                            const Router* router) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::make_unique<Impl>(options, router)));
  if (base::Status started = server->impl_->Start(); !started.ok()) return started;
  return server;
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return impl_->port(); }
base::Status HttpServer::ReloadCertificate() { return impl_->ReloadCertificate(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace lagwatch::collector

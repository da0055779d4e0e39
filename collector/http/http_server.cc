// SPDX-License-Identifier: Apache-2.0
#include "collector/http/http_server.h"

#include <spdlog/spdlog.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace lagwatch::collector {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Strand = asio::strand<asio::io_context::executor_type>;
using TcpStream = boost::beast::basic_stream<tcp, Strand>;
using Parser = http::request_parser<http::string_body>;

constexpr uint32_t kMaxHeadBytes = 8192;
constexpr std::chrono::seconds kLingerTime{2};

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

RequestHead HeadOf(const Parser& parser) {
  const auto& request = parser.get();
  RequestHead head{.method = View(request.method_string()),
                   .target = View(request.target()),
                   .authorization = View(request[http::field::authorization]),
                   .content_type = View(request[http::field::content_type]),
                   .content_encoding = View(request[http::field::content_encoding]),
                   .content_length = std::nullopt,
                   .if_none_match = View(request[http::field::if_none_match])};
  if (auto length = parser.content_length()) head.content_length = *length;
  return head;
}

http::response<http::string_body> MessageOf(Response response, unsigned version, bool keep_alive) {
  http::response<http::string_body> message(static_cast<http::status>(response.status), version);
  message.set(http::field::server, "lagwatch-collector");
  message.set(http::field::content_type, "application/json");
  message.set(http::field::cache_control, "no-store");
  if (response.status == 401) message.set(http::field::www_authenticate, "Bearer");
  if (!response.allow.empty()) {
    message.set(http::field::allow, boost::beast::string_view(response.allow.data(), response.allow.size()));
  }
  if (!response.etag.empty())
    message.set(http::field::etag, boost::beast::string_view(response.etag.data(), response.etag.size()));
  message.body() = std::move(response.json);
  message.keep_alive(keep_alive);
  message.prepare_payload();
  return message;
}

// One connection; all of it runs on the stream's strand.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(TcpStream stream, const Router* router, std::chrono::milliseconds timeout)
      : stream_(std::move(stream)), router_(router), timeout_(timeout) {}

  // Ends with the connection.
  asio::awaitable<void> Run() {
    while (!is_stopping_ && co_await Exchange()) {
    }
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }

  // May be called from any thread: ends the connection at once when it waits for a request, else after the
  // answer.
  void Stop() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      self->is_stopping_ = true;
      if (self->is_idle_) self->stream_.cancel();
    });
  }

 private:
  // One request and its answer; false when the connection is not to be used any more.
  asio::awaitable<bool> Exchange() {
    Parser parser;
    parser.header_limit(kMaxHeadBytes);
    parser.body_limit(UINT64_MAX);  // the router looks at the length first
    error_code error = co_await ReadHead(&parser);
    if (error) {
      if (IsMalformed(error)) co_await Refuse(BadHead(error), 11);
      co_return false;
    }
    unsigned version = parser.get().version();
    if (auto refusal = router_->Refuse(HeadOf(parser))) {
      co_await Refuse(std::move(*refusal), version);
      co_return false;
    }
    error = co_await ReadBody(&parser);
    if (error == http::error::body_limit) co_await Refuse(router_->BodyTooLarge(), version);
    if (error) co_return false;
    bool keep_alive = parser.keep_alive() && !is_stopping_;
    std::string body = std::move(parser.get().body());
    Response response = router_->Handle(HeadOf(parser), std::move(body));
    error = co_await Write(MessageOf(std::move(response), version, keep_alive));
    co_return !error && keep_alive;
  }

  asio::awaitable<error_code> ReadHead(Parser* parser) {
    error_code error;
    stream_.expires_after(timeout_);
    is_idle_ = buffer_.size() == 0;
    co_await http::async_read_header(stream_, buffer_, *parser,
                                     asio::redirect_error(asio::use_awaitable, error));
    is_idle_ = false;
    co_return error;
  }

  asio::awaitable<error_code> ReadBody(Parser* parser) {
    error_code error;
    parser->body_limit(router_->limits().body_bytes);
    if (parser->get()[http::field::expect] == "100-continue") {
      http::response<http::empty_body> go_on(http::status::continue_, parser->get().version());
      stream_.expires_after(timeout_);
      co_await http::async_write(stream_, go_on, asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return error;
    }
    stream_.expires_after(timeout_);
    co_await http::async_read(stream_, buffer_, *parser, asio::redirect_error(asio::use_awaitable, error));
    co_return error;
  }

  asio::awaitable<error_code> Write(http::response<http::string_body> message) {
    error_code error;
    stream_.expires_after(timeout_);
    co_await http::async_write(stream_, message, asio::redirect_error(asio::use_awaitable, error));
    co_return error;
  }

  // Whether bytes came that are no HTTP, rather than none or not all.
  static bool IsMalformed(const error_code& error) {
    return error.category() == error_code(http::error::bad_method).category() &&
           error != http::error::end_of_stream && error != http::error::partial_message;
  }

  static Response BadHead(const error_code& error) {
    if (error == http::error::header_limit) {
      return ErrorResponse(431, "head_too_large",
                           "the request's head has more than 8 KiB; send fewer headers");
    }
    return ErrorResponse(400, "bad_request", "this is no HTTP/1.1 request: " + error.message());
  }

  // Answers a request whose body is not read, and lingers so that the client gets to read the answer.
  asio::awaitable<void> Refuse(Response response, unsigned version) {
    error_code error = co_await Write(MessageOf(std::move(response), version, false));
    if (error) co_return;
    stream_.socket().shutdown(tcp::socket::shutdown_send, error);
    stream_.expires_after(kLingerTime);
    while (!error) {
      buffer_.clear();
      co_await stream_.async_read_some(buffer_.prepare(65536),
                                       asio::redirect_error(asio::use_awaitable, error));
    }
  }

  TcpStream stream_;
  boost::beast::flat_buffer buffer_;
  const Router* router_;
  std::chrono::milliseconds timeout_;
  bool is_idle_ = false;
  bool is_stopping_ = false;
};

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

  void Stop() {
    asio::post(acceptor_.get_executor(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      std::lock_guard lock(mutex_);
      for (const auto& session : sessions_) session->Stop();
    });
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
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

  void Serve(TcpStream stream) {
    auto executor = stream.get_executor();
    auto session = std::make_shared<Session>(std::move(stream), router_, options_.timeout);
    std::lock_guard lock(mutex_);
    auto place = sessions_.insert(sessions_.end(), session);
    asio::co_spawn(executor, session->Run(), [this, place](std::exception_ptr) {
      std::lock_guard end_lock(mutex_);
      sessions_.erase(place);
    });
  }

  HttpOptions options_;
  const Router* router_;
  asio::io_context context_;
  asio::basic_socket_acceptor<tcp, Strand> acceptor_;
  asio::steady_timer pause_{context_};
  uint16_t port_ = 0;
  std::mutex mutex_;
  std::list<std::shared_ptr<Session>> sessions_;  // guarded by mutex_
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
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace lagwatch::collector

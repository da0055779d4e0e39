// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/session.h"

#include <poll.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "collector/http/proxies/proxy_header.h"
#include "collector/http/server/message.h"
#include "collector/store/query_limit.h"

namespace lagwatch::collector {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using TlsStream = boost::beast::ssl_stream<TcpStream>;

constexpr size_t kMaxBufferBytes = 32 << 10;  // also of one chunk's head
constexpr size_t kPieceBytes = 16 << 10;
constexpr std::chrono::seconds kLingerTime{2};
constexpr uint64_t kLingerBytes = 8 << 20;
constexpr std::chrono::milliseconds kStreamPause{200};
constexpr std::chrono::seconds kStreamSignPause{15};
constexpr std::chrono::milliseconds kClientPause{100};
// Browsers that were here once speak TLS alone for a year (RFC 6797).
constexpr char kStrictTransport[] = "max-age=31536000";

Response TooMuchToDo() {
  Response response =
      ErrorResponse(503, "unavailable", "the collector is overloaded; retry after the time in Retry-After");
  response.retry_after_s = 2;
  return response;
}

// All of it runs on the stream's strand.
template <typename Stream>
class SessionOver final : public Session, public std::enable_shared_from_this<SessionOver<Stream>> {
 public:
  SessionOver(Stream stream, std::shared_ptr<asio::ssl::context> tls, Caller caller,
              const SessionContext& context)
      : tls_(std::move(tls)),
        stream_(std::move(stream)),
        query_timer_(stream_.get_executor()),
        caller_(std::move(caller)),
        proxy_(caller_.address),
        context_(context),
        limits_(*context.limits) {}

  void Start(std::function<void()> ended) override {
    asio::co_spawn(stream_.get_executor(), Run(),
                   [self = this->shared_from_this(), ended = std::move(ended)](std::exception_ptr) {
                     self->Close();
                     ended();
                   });
  }
  void Stop() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] {
      self->is_stopping_ = true;
      if (self->is_idle_) self->Lowest().cancel();
    });
  }
  void Abort() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] {
      self->is_stopping_ = true;
      self->Lowest().close();
    });
  }

 private:
  static constexpr bool kIsTls = std::is_same_v<Stream, TlsStream>;

  TcpStream& Lowest() { return boost::beast::get_lowest_layer(stream_); }

  asio::awaitable<void> Run() {
    bool goes_on = co_await TakeProxyHeader() && co_await ShakeHands();
    while (goes_on && !is_stopping_) {
      goes_on = co_await Exchange();
      if (buffer_.size() == 0) buffer_.shrink_to_fit();
    }
    co_await TakeLeave();
  }

  // Before TLS. False when a proxy that should send the header of its protocol did not.
  asio::awaitable<bool> TakeProxyHeader() {
    if (!caller_.is_proxy || !context_.has_proxy_header) co_return true;
    Lowest().expires_after(limits_.head_time);
    std::string header;
    for (size_t missing = kProxyHeaderStart; missing > 0;) {
      const size_t size = header.size();
      header.resize(size + missing);
      error_code error;
      co_await asio::async_read(Lowest(), asio::buffer(header.data() + size, missing),
                                asio::redirect_error(asio::use_awaitable, error));
      const auto next = error ? std::nullopt : ProxyHeaderMissing(header);
      if (!next) {
        context_.refusals->Info("closed a connection from " + caller_.address.to_string() +
                                ": it does not begin with a header of the PROXY protocol");
        co_return false;
      }
      missing = *next;
    }
    if (const auto client = ProxyHeaderClient(header)) {
      caller_.is_proxy = context_.proxies->Contains(*client);
      proxy_ = *client;
      TakeClient(*client);
    }
    co_return true;
  }

  void TakeClient(const asio::ip::address& client) {
    caller_.address = client;
    caller_.peer = PeerOf(client);
  }

  // False when no TLS came about.
  asio::awaitable<bool> ShakeHands() {
    error_code error;
    if constexpr (kIsTls) {
      Lowest().expires_after(limits_.head_time);
      co_await stream_.async_handshake(asio::ssl::stream_base::server,
                                       asio::redirect_error(asio::use_awaitable, error));
    }
    co_return !error;
  }

  // TLS distinguishes an end from a cut.
  asio::awaitable<void> TakeLeave() {
    if constexpr (kIsTls) {
      error_code ignored;
      Lowest().expires_after(kLingerTime);
      co_await stream_.async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
    }
    co_return;
  }

  void Close() {
    error_code ignored;
    Lowest().socket().shutdown(tcp::socket::shutdown_both, ignored);
    Lowest().close();
  }

  // One request and its answer; false when the connection is not to be used any more.
  asio::awaitable<bool> Exchange() {
    RequestParser parser;
    parser.header_limit(kMaxHeadBytes);
    parser.body_limit(UINT64_MAX);  // the router looks at the length first
    error_code error = co_await ReadHead(&parser);
    is_first_ = false;
    if (caller_.is_proxy) TakeClient(ClientOf(parser, *context_.proxies, proxy_));
    if (error) {
      auto refusal = RefuseMalformed(error);
      if (refusal) co_await Refuse(std::move(*refusal), parser);
      co_return false;
    }
    std::variant<Admitted, Response> admission = Admit(parser);
    if (auto* refusal = std::get_if<Response>(&admission)) {
      co_await Refuse(std::move(*refusal), parser);
      co_return false;
    }
    Admitted& admitted = std::get<Admitted>(admission);
    WatchRoom(&admitted.request.room);
    admitted.request.address = caller_.address.to_string();
    error = co_await ReadBody(&parser, admitted.endpoint->body_limit, &admitted.request.room);
    if (error) admitted.request.room = {};
    if (error == http::error::body_limit) {
      co_await Refuse(Router::BodyTooLarge(admitted.endpoint->body_limit), parser);
    }
    if (error == asio::error::no_memory) co_await Refuse(TooMuchToDo(), parser);
    if (error) co_return false;
    const bool keep_alive = parser.keep_alive();
    admitted.request.body = std::move(parser.get().body());
    const std::string_view path = admitted.endpoint->path;
    const Clock::time_point begin = Clock::now();
    Response response = co_await Answer(std::move(admitted));
    Count(path, response.status, Clock::now() - begin);
    const bool is_head = IsHead(parser);
    if (response.next_events && !is_head) {
      co_await SendEvents(std::move(response), parser.get().version());
      co_return false;
    }
    const bool goes_on = keep_alive && !is_stopping_;
    error = co_await WriteAnswer(std::move(response), parser.get().version(), goes_on, is_head);
    co_return !error && goes_on;
  }

  // Between two requests there is more time than within a head.
  asio::awaitable<error_code> ReadHead(RequestParser* parser) {
    error_code error;
    if (buffer_.size() == 0 && !is_first_) {
      is_idle_ = true;
      Lowest().expires_after(limits_.idle_time);
      const size_t size = co_await stream_.async_read_some(buffer_.prepare(512),
                                                           asio::redirect_error(asio::use_awaitable, error));
      is_idle_ = false;
      if (error) co_return error;
      buffer_.commit(size);
    }
    is_idle_ = buffer_.size() == 0;
    Lowest().expires_after(limits_.head_time);
    co_await http::async_read_header(stream_, buffer_, *parser,
                                     asio::redirect_error(asio::use_awaitable, error));
    is_idle_ = false;
    co_return error;
  }

  // Before the body is read. There must be room for as much as the head says, beside what is stored; it is
  // charged as the body comes.
  std::variant<Admitted, Response> Admit(const RequestParser& parser) {
    if (auto refusal = RefuseAmbiguous(parser)) return std::move(*refusal);
    RequestHead head = HeadOf(parser);
    if (limits_.connections_per_peer != 0) head.peer = caller_.peer;
    auto admission = context_.router->Admit(head);
    auto* admitted = std::get_if<Admitted>(&admission);
    if (admitted == nullptr || admitted->endpoint->body_limit == 0) return admission;
    const uint64_t body_bytes = head.content_length.value_or(admitted->endpoint->body_limit);
    // A body whose key is not known before it is read shares the room of its kind alone.
    const bool is_keyless = admitted->endpoint->access != kEverybody && admitted->request.key.name.empty();
    if (is_keyless && body_bytes > limits_.KeylessBytesOfAPeer())
      return Router::BodyTooLarge(limits_.KeylessBytesOfAPeer());
    Budget* bytes = is_keyless ? context_.keyless_bytes : context_.bytes;
    auto room = bytes->TryAdmit({.peer = caller_.peer, .key = admitted->request.key.name},
                                std::max(body_bytes, limits_.least_request_bytes));
    if (!room) return TooMuchToDo();
    admitted->request.room = std::move(*room);
    return admission;
  }

  // While the body is not whole, others may take its room.
  void WatchRoom(Budget::Share* room) {
    room->MakeRevocable([weak = this->weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      asio::post(self->stream_.get_executor(), [self] {
        self->is_room_lost_ = true;
        if (self->is_reading_body_) self->Lowest().cancel();
      });
    });
  }

  // Charges `room` with the bytes read of the body, and once it is whole with the least cost of its answer;
  // from then on it is kept. Errors: no_memory if there is too little room.
  asio::awaitable<error_code> ReadBody(RequestParser* parser, uint64_t limit, Budget::Share* room) {
    error_code error;
    parser->body_limit(limit);
    if (!parser->is_done() && parser->get()[http::field::expect] == "100-continue") {
      error =
          co_await Write(http::response<http::empty_body>(http::status::continue_, parser->get().version()));
    }
    const Clock::time_point begin = Clock::now();
    uint64_t received = 0;
    parser->eager(true);
    while (!error && !parser->is_done()) {
      is_reading_body_ = true;
      Lowest().expires_at(begin + std::min(TimeFor(limits_, std::min(received, limit)), limits_.body_time));
      received += co_await http::async_read_some(stream_, buffer_, *parser,
                                                 asio::redirect_error(asio::use_awaitable, error));
      is_reading_body_ = false;
      if (is_room_lost_ && error == asio::error::operation_aborted) error = asio::error::no_memory;
      if (!error && !room->TryResize(parser->get().body().size())) error = asio::error::no_memory;
      buffer_.reserve(kPieceBytes);  // not for a head alone
    }
    const uint64_t whole_bytes = std::max<uint64_t>(parser->get().body().size(), limits_.least_request_bytes);
    if (!error && limit > 0 && !room->TryKeep(whole_bytes)) error = asio::error::no_memory;
    co_return error;
  }

  asio::awaitable<Response> Answer(Admitted admitted) {
    auto request = std::make_shared<Request>(std::move(admitted.request));
    const Endpoint* endpoint = admitted.endpoint;
    if (endpoint->runs_on == RunsOn::kIo) co_return co_await Handle(request, endpoint);
    if (endpoint->runs_on == RunsOn::kParsers) co_return co_await Parse(request, endpoint);
    // Requests that change something are not cancelled.
    if (endpoint->method == "GET") {
      query_ = std::make_shared<QueryLimit>(limits_.query_time);
      WatchClient(query_);
    }
    Response response = co_await Query(request, endpoint, query_);
    query_ = nullptr;
    query_timer_.cancel();
    co_return response;
  }

  asio::awaitable<Response> Handle(std::shared_ptr<Request> request, const Endpoint* endpoint) {
    return AwaitResponse(context_.answers, [request, endpoint](Respond respond) {
      Router::Handle(*endpoint, std::move(*request), respond);
    });
  }

  asio::awaitable<Response> Parse(std::shared_ptr<Request> request, const Endpoint* endpoint) {
    return AwaitResponse(context_.answers, [this, request, endpoint](Respond respond) {
      auto handle = [request, endpoint, respond] { Router::Handle(*endpoint, std::move(*request), respond); };
      if (!context_.parsers->TryPost(caller_.peer, std::move(handle))) respond(TooMuchToDo());
    });
  }

  asio::awaitable<Response> Query(std::shared_ptr<Request> request, const Endpoint* endpoint,
                                  std::shared_ptr<QueryLimit> limit) {
    return AwaitResponse(context_.answers, [this, request, endpoint, limit](Respond respond) {
      auto handle = [request, endpoint, limit, respond] {
        if (limit != nullptr && limit->IsOver()) return respond(ErrorResponse(limit->ToStatus()));
        const QueryLimit::Scope scope(limit.get());
        Router::Handle(*endpoint, std::move(*request), respond);
      };
      if (!context_.queries->TryPost(caller_.peer, std::move(handle))) respond(TooMuchToDo());
    });
  }

  // Cancels the query when its client closes the connection before the answer has come, or this is aborted.
  void WatchClient(std::shared_ptr<QueryLimit> limit) {
    query_timer_.expires_after(kClientPause);
    query_timer_.async_wait([self = this->shared_from_this(), limit](const error_code& error) {
      if (error || self->query_ != limit) return;
      if (self->HasClientGone()) return limit->Cancel();
      self->WatchClient(limit);
    });
  }

  // A client that has ended its side counts as gone: none asks and then listens to the answer alone.
  bool HasClientGone() {
    pollfd socket{.fd = Lowest().socket().native_handle(), .events = POLLRDHUP, .revents = 0};
    if (socket.fd < 0) return true;
    return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
  }

  // Until the client goes or the server stops. A sign of life now and then finds out about clients.
  asio::awaitable<void> SendEvents(Response response, unsigned version) {
    const auto next_events = std::move(response.next_events);
    auto head = StreamHeadOf(response, version);
    if constexpr (kIsTls) head.set("Strict-Transport-Security", kStrictTransport);
    error_code error = co_await Write(std::move(head));
    asio::steady_timer timer(stream_.get_executor());
    Clock::time_point last_sign = Clock::now();
    while (!error && !is_stopping_ && !HasLeft()) {
      std::string events = next_events();
      if (events.empty() && Clock::now() - last_sign > kStreamSignPause) events = ": no news\n\n";
      if (!events.empty()) {
        last_sign = Clock::now();
        Lowest().expires_after(TimeFor(limits_, events.size()));
        co_await asio::async_write(stream_, asio::buffer(events),
                                   asio::redirect_error(asio::use_awaitable, error));
      }
      error_code ignored;
      timer.expires_after(kStreamPause);
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }

  // Whether the client has closed its end: its place among the listeners is free at once.
  bool HasLeft() {
    pollfd end{.fd = Lowest().socket().native_handle(), .events = POLLRDHUP, .revents = 0};
    return poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  static bool IsHead(const RequestParser& parser) {
    return parser.is_header_done() && parser.get().method() == http::verb::head;
  }

  // With `is_head`, all but the body.
  asio::awaitable<error_code> WriteAnswer(Response response, unsigned version, bool keep_alive,
                                          bool is_head) {
    ResponseMessage message = MessageOf(std::move(response), version, keep_alive);
    if constexpr (kIsTls) message.set("Strict-Transport-Security", kStrictTransport);
    if (!is_head) co_return co_await Write(std::move(message));
    co_return co_await Write(http::response<http::empty_body>(std::move(message.base())));
  }

  template <typename Message>
  asio::awaitable<error_code> Write(Message message) {
    error_code error;
    Lowest().expires_after(TimeFor(limits_, message.payload_size().value_or(0)));
    co_await http::async_write(stream_, message, asio::redirect_error(asio::use_awaitable, error));
    co_return error;
  }

  void Count(std::string_view path, int status, Clock::duration taken) {
    if (context_.metrics != nullptr) context_.metrics->CountAnswer(path, status, taken);
  }

  // One line in the log, as far as there is room for it.
  void Note(const Response& refusal, const RequestParser& parser) {
    const auto method = parser.get().method_string();
    const auto target = parser.get().target();
    context_.refusals->Info("refused with " + std::to_string(refusal.status) + ": " +
                                Quoted({method.data(), method.size()}) + " " +
                                Quoted(TargetForLog({target.data(), target.size()})) + " from " +
                                caller_.address.to_string(),
                            {.peer = caller_.address.to_string(), .status = refusal.status});
  }

  // Answers a request whose body is not read, and lingers so that the client gets to read the answer; under
  // TLS, too: discarded bytes need no decryption.
  asio::awaitable<void> Refuse(Response response, const RequestParser& parser) {
    Count({}, response.status, {});
    Note(response, parser);
    const unsigned version = parser.is_header_done() ? parser.get().version() : 11;
    error_code error = co_await WriteAnswer(std::move(response), version, false, IsHead(parser));
    if (error) co_return;
    Lowest().socket().shutdown(tcp::socket::shutdown_send, error);
    Lowest().expires_after(kLingerTime);
    uint64_t thrown_away = 0;
    while (!error && thrown_away < kLingerBytes) {
      buffer_.clear();
      thrown_away += co_await Lowest().async_read_some(buffer_.prepare(4096),
                                                       asio::redirect_error(asio::use_awaitable, error));
    }
  }

  const std::shared_ptr<asio::ssl::context> tls_;  // outlives the stream
  Stream stream_;
  std::shared_ptr<QueryLimit> query_;  // that is under way
  asio::steady_timer query_timer_;     // while it is
  boost::beast::flat_buffer buffer_{kMaxBufferBytes};
  Caller caller_;            // behind a proxy: that of the present request
  asio::ip::address proxy_;  // the connection's other end, or as its PROXY header says
  const SessionContext context_;
  const HttpLimits& limits_;
  bool is_first_ = true;
  bool is_idle_ = false;
  bool is_stopping_ = false;
  bool is_reading_body_ = false;
  bool is_room_lost_ = false;  // of the last body
};

}  // namespace

std::shared_ptr<Session> CreateSession(TcpStream stream, std::shared_ptr<asio::ssl::context> tls,
                                       Caller caller, const SessionContext& context) {
  if (tls == nullptr)
    return std::make_shared<SessionOver<TcpStream>>(std::move(stream), nullptr, std::move(caller), context);
  TlsStream secured(std::move(stream), *tls);
  return std::make_shared<SessionOver<TlsStream>>(std::move(secured), std::move(tls), std::move(caller),
                                                  context);
}

}  // namespace lagwatch::collector

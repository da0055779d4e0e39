// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/http_way.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace lagwatch::faults {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr size_t kMaxRequestBytes = 16 << 20;
constexpr size_t kSlowBytes = 3;
constexpr size_t kEndlessPieceBytes = 1 << 16;

// Empty when there is no such header.
std::string_view HeaderOf(std::string_view head, std::string_view name) {
  const size_t at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string_view::npos) return {};
  const size_t begin = at + 2 + name.size() + 2;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::string TextOf(const Reply& reply) {
  std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " As Drawn\r\n";
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += std::string(name) + ": " + value + "\r\n";
  };
  add("Content-Type", reply.content_type);
  add("Retry-After", reply.retry_after);
  add("Location", reply.location);
  add("Content-Encoding", reply.encoding);
  if (reply.status != 204 && reply.manner != Manner::kEndless)
    add("Content-Length", std::to_string(reply.body.size()));
  return text + "\r\n" + reply.body;
}

}  // namespace

HttpWay::HttpWay(CollectorSide* collector) : collector_(collector) {
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool is_up = bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     listen(listener_, 16) == 0 &&
                     getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (!is_up) throw std::runtime_error("cannot listen on the loopback interface");
  port_ = ntohs(address.sin_port);
}

HttpWay::~HttpWay() {
  CloseConnections();
  close(listener_);
}

void HttpWay::AddTo(std::vector<pollfd>* polled) const {
  polled->push_back({listener_, POLLIN, 0});
  for (const Connection& connection : connections_) polled->push_back({connection.fd, POLLIN, 0});
}

void HttpWay::Serve() {
  Accept();
  for (Connection& connection : connections_) Serve(&connection);
  std::erase_if(connections_, [](const Connection& connection) { return connection.fd < 0; });
}

void HttpWay::CloseConnections() {
  for (Connection& connection : connections_) Close(&connection, /*resets=*/false);
  connections_.clear();
}

void HttpWay::Accept() {
  for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;)
    connections_.push_back({.fd = fd});
}

void HttpWay::Close(Connection* connection, bool resets) {
  if (connection->fd < 0) return;
  const linger now{1, 0};
  if (resets) setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(std::exchange(connection->fd, -1));
}

void HttpWay::Serve(Connection* connection) {
  if (!Receive(connection)) return Close(connection, /*resets=*/false);
  if (!connection->is_answered) AnswerIfWhole(connection);
  if (connection->fd >= 0) Send(connection);
}

bool HttpWay::Receive(Connection* connection) {
  char piece[1 << 14];
  ssize_t got;
  while ((got = recv(connection->fd, piece, sizeof piece, 0)) > 0) {
    connection->received.append(piece, static_cast<size_t>(got));
    if (connection->received.size() > kMaxRequestBytes) return false;
  }
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

void HttpWay::AnswerIfWhole(Connection* connection) {
  const std::string_view received = connection->received;
  const size_t head_bytes = received.find(kHeadEnd);
  if (head_bytes == std::string_view::npos) {
    // It speaks something else.
    if (!received.empty() && received.front() != 'P') Close(connection, /*resets=*/false);
    return;
  }
  const std::string_view head = received.substr(0, head_bytes + kHeadEnd.size());
  const size_t body_bytes = std::strtoull(std::string(HeaderOf(head, "Content-Length")).c_str(), nullptr, 10);
  if (received.size() < head.size() + body_bytes) return;
  std::string body(received.substr(head.size(), body_bytes));
  Reply reply = collector_->Answer({.method = "POST",
                                    .target = "/v1/reports",
                                    .authorization = HeaderOf(head, "Authorization"),
                                    .content_type = HeaderOf(head, "Content-Type"),
                                    .content_encoding = HeaderOf(head, "Content-Encoding"),
                                    .content_length = body_bytes},
                                   std::move(body));
  connection->received.erase(0, head.size() + body_bytes);
  connection->manner = reply.manner;
  connection->is_answered = true;
  if (reply.manner == Manner::kNone) return Close(connection, /*resets=*/true);
  const std::string text = reply.manner == Manner::kNoHttp ? reply.body : TextOf(reply);
  const size_t left_out = reply.manner == Manner::kCut       ? reply.body.size() / 2 + 1
                          : reply.manner == Manner::kStalled ? reply.body.size() + 5
                                                             : 0;
  connection->to_send = text.substr(0, text.size() - std::min(text.size(), left_out));
}

void HttpWay::Send(Connection* connection) {
  if (!connection->is_answered) return;
  std::string& rest = connection->to_send;
  if (connection->manner == Manner::kEndless && rest.empty()) rest.assign(kEndlessPieceBytes, ' ');
  const size_t most = connection->manner == Manner::kSlow ? kSlowBytes : rest.size();
  const ssize_t sent = send(connection->fd, rest.data(), std::min(rest.size(), most), MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN) Close(connection, /*resets=*/false);
    return;
  }
  rest.erase(0, static_cast<size_t>(sent));
  if (!rest.empty() || connection->manner == Manner::kStalled || connection->manner == Manner::kEndless)
    return;
  if (connection->manner == Manner::kCut || connection->manner == Manner::kNoHttp)
    return Close(connection, /*resets=*/false);
  connection->is_answered = false;  // the next request may come
}

}  // namespace lagwatch::faults

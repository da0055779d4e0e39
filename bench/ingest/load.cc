// SPDX-License-Identifier: Apache-2.0
#include "bench/ingest/load.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>

namespace lagwatch::bench {
namespace {

using Clock = std::chrono::steady_clock;

class Connection {
 public:
  Connection(uint16_t port, SSL_CTX* tls) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    is_open_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (tls == nullptr || !is_open_) return;
    ssl_.reset(SSL_new(tls));
    SSL_set_fd(ssl_.get(), socket_);
    is_open_ = SSL_connect(ssl_.get()) == 1;
  }
  ~Connection() {
    ssl_.reset();
    close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Whether it was answered with a 2xx.
  bool Exchange(std::string_view request) {
    if (!is_open_ || !Send(request)) return is_open_ = false;
    size_t head_end = 0;
    while ((head_end = answer_.find("\r\n\r\n")) == std::string::npos) {
      if (!Receive()) return is_open_ = false;
    }
    const size_t size = head_end + 4 + BodySize(std::string_view(answer_).substr(0, head_end));
    while (answer_.size() < size) {
      if (!Receive()) return is_open_ = false;
    }
    const bool is_good = answer_.starts_with("HTTP/1.1 2");
    answer_.erase(0, size);
    return is_good;
  }

 private:
  static size_t BodySize(std::string_view head) {
    constexpr std::string_view kName = "Content-Length: ";
    const size_t at = head.find(kName);
    size_t size = 0;
    if (at != std::string_view::npos) std::from_chars(head.data() + at + kName.size(), head.end(), size);
    return size;
  }

  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                             : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  bool Receive() {
    char piece[4096];
    const auto received =
        ssl_ ? SSL_read(ssl_.get(), piece, sizeof piece) : recv(socket_, piece, sizeof piece, 0);
    if (received <= 0) return false;
    answer_.append(piece, static_cast<size_t>(received));
    return true;
  }

  int socket_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
  bool is_open_ = false;
  std::string answer_;
};

double MsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

LoadResult Load(uint16_t port, bool is_tls, int connections, const std::vector<std::string>& requests) {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> tls(is_tls ? SSL_CTX_new(TLS_client_method()) : nullptr,
                                                        &SSL_CTX_free);
  std::vector<double> times_ms(requests.size());
  std::atomic<size_t> next{0}, failed{0};
  const auto begin = Clock::now();
  std::vector<std::thread> clients;
  for (int i = 0; i < connections; ++i) {
    clients.emplace_back([&] {
      Connection connection(port, tls.get());
      for (size_t at = next++; at < requests.size(); at = next++) {
        const auto sent = Clock::now();
        failed += !connection.Exchange(requests[at]);
        times_ms[at] = MsSince(sent);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  LoadResult result{.seconds = MsSince(begin) / 1000, .failed = failed};
  std::ranges::sort(times_ms);
  result.p50_ms = times_ms[times_ms.size() / 2];
  result.p99_ms = times_ms[times_ms.size() * 99 / 100];
  result.requests_per_s = static_cast<double>(requests.size()) / result.seconds;
  return result;
}

}  // namespace lagwatch::bench

// SPDX-License-Identifier: Apache-2.0
#include "tests/collector_faults/kill_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

namespace lagwatch::faults {
namespace {

// A collector that answers nothing for so long hangs.
constexpr int kAnswerTimeoutS = 60;
constexpr int kLongestOutageS = 120;

struct Answer {
  int status = 0;
  std::string body;
};

class Socket {
 public:
  explicit Socket(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval timeout{.tv_sec = kAnswerTimeoutS, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool Send(std::string_view bytes) {
    while (is_open_ && !bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return is_open_;
  }
  std::string ReceiveAll() {
    std::string received;
    char piece[4096];
    for (ssize_t count; (count = recv(fd_, piece, sizeof piece, 0)) > 0;)
      received.append(piece, static_cast<size_t>(count));
    return received;
  }

 private:
  int fd_;
  bool is_open_ = false;
};

// A whole answer, or nothing.
std::optional<Answer> Post(uint16_t port, const std::string& body) {
  Socket socket(port);
  if (!socket.Send("POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + std::string(kKey) +
                   "\r\nContent-Type: application/x-protobuf\r\nConnection: close\r\nContent-Length: " +
                   std::to_string(body.size()) + "\r\n\r\n" + body)) {
    return std::nullopt;
  }
  const std::string all = socket.ReceiveAll();
  const size_t head_end = all.find("\r\n\r\n");
  if (!all.starts_with("HTTP/1.1 ") || head_end == std::string::npos) return std::nullopt;
  constexpr std::string_view kLength = "Content-Length: ";
  const size_t at = all.find(kLength);
  if (at == std::string::npos || at > head_end) return std::nullopt;
  Answer answer{std::atoi(all.c_str() + 9), all.substr(head_end + 4)};
  if (answer.body.size() != std::strtoull(all.c_str() + at + kLength.size(), nullptr, 10))
    return std::nullopt;
  return answer;
}

void Nap() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

}  // namespace

KillClient::KillClient(uint64_t seed, int64_t begin_ms, const std::atomic<uint16_t>* port)
    : port_(port), traffic_(seed, begin_ms), thread_([this] { Run(); }) {}

KillClient::~KillClient() {
  if (thread_.joinable()) Finish();
}

std::set<Id> KillClient::Acknowledged() const {
  std::lock_guard lock(mutex_);
  return acknowledged_;
}

std::string KillClient::Finish() {
  is_stopping_ = true;
  thread_.join();
  return problem_;
}

void KillClient::Run() {
  while (!is_stopping_ && problem_.empty()) Send(traffic_.Next());
  if (problem_.empty()) Send(traffic_.Rest());
}

void KillClient::Send(const Batch& batch) {
  const auto begin = std::chrono::steady_clock::now();
  for (bool is_first_try = true;;) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(kLongestOutageS)) {
      problem_ = "the collector answered nothing for " + std::to_string(kLongestOutageS) + " s";
      return;
    }
    const uint16_t port = *port_;
    const std::optional<Answer> answer = port == 0 ? std::nullopt : Post(port, batch.body);
    if (answer && answer->status == 200) {
      problem_ = CheckAnswer(batch, answer->body, is_first_try);
      std::lock_guard lock(mutex_);
      acknowledged_.insert(batch.reports.begin(), batch.reports.end());
      return;
    }
    if (answer && answer->status / 100 == 4 && answer->status != 429) {
      problem_ = "the collector refused a batch: " + answer->body;
      return;
    }
    if (port != 0) {
      ++unanswered_;
      is_first_try = false;
    }
    Nap();
  }
}

// No record is sent twice before an answer is lost.
std::string KillClient::CheckAnswer(const Batch& batch, const std::string& body, bool is_first_try) const {
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return "an answer is no JSON: " + body;
  const int64_t accepted = json.value("accepted", int64_t{-1});
  const int64_t duplicates = json.value("duplicates", int64_t{-1});
  const bool is_right =
      is_first_try ? accepted == batch.records && duplicates == 0 : accepted + duplicates == batch.records;
  return is_right ? "" : "of " + std::to_string(batch.records) + " records the collector said: " + body;
}

}  // namespace lagwatch::faults

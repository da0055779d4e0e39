// SPDX-License-Identifier: Apache-2.0
// Clients of a collector over real sockets.
#pragma once

#include <arpa/inet.h>
#include <curl/curl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/collector/http/gzip_text.h"

namespace lagwatch::testing {

inline constexpr char kKey[] = "k_test";

struct Answer {
  long status = 0;
  std::string text;
  long new_connections = 0;
  std::string head;  // of all answers, also of 100
  nlohmann::ordered_json json() const { return nlohmann::ordered_json::parse(text); }
};

// A client with one keep-alive connection, as libcurl makes it.
class Client {
 public:
  explicit Client(uint16_t port, const std::string& scheme = "http")
      : base_url_(scheme + "://127.0.0.1:" + std::to_string(port)) {}

  std::vector<std::string> headers = {std::string("Authorization: Bearer ") + kKey,
                                      "Content-Type: application/x-protobuf"};
  std::string ca_file;

  Answer Get(const std::string& target) { return Perform("GET", target, nullptr); }
  Answer Post(const std::string& body) { return Perform("POST", "/v1/reports", &body); }
  Answer PostGzip(const std::string& content) {
    headers.push_back("Content-Encoding: gzip");
    return Post(GzipText(content));
  }
  Answer Perform(const char* method, const std::string& target, const std::string* body) {
    curl_easy_reset(curl_.get());
    curl_slist* list = nullptr;
    for (const std::string& header : headers) list = curl_slist_append(list, header.c_str());
    Answer answer;
    std::string url = base_url_ + target;
    curl_easy_setopt(curl_.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl_.get(), CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl_.get(), CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEFUNCTION, &Append);
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEDATA, &answer.text);
    if (body) {
      curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDS, body->data());
      curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    }
    curl_easy_setopt(curl_.get(), CURLOPT_HEADERFUNCTION, &Append);
    curl_easy_setopt(curl_.get(), CURLOPT_HEADERDATA, &answer.head);
    if (!ca_file.empty()) curl_easy_setopt(curl_.get(), CURLOPT_CAINFO, ca_file.c_str());
    EXPECT_EQ(curl_easy_perform(curl_.get()), CURLE_OK);
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    curl_easy_getinfo(curl_.get(), CURLINFO_NUM_CONNECTS, &answer.new_connections);
    curl_slist_free_all(list);
    return answer;
  }

 private:
  static size_t Append(char* data, size_t size, size_t count, void* text) {
    static_cast<std::string*>(text)->append(data, size * count);
    return size * count;
  }

  std::string base_url_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_{curl_easy_init(), &curl_easy_cleanup};
};

// A connection without a library, for what no library would send.
class RawConnection {
 public:
  // From the address 127.0.0.`from`.
  explicit RawConnection(uint16_t port, uint8_t from = 1)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(0x7f000000u + from);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  RawConnection(RawConnection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~RawConnection() {
    if (fd_ >= 0) close(fd_);
  }

  void Send(const std::string& text) { EXPECT_TRUE(TrySend(text)); }
  // False when the other end takes nothing any more.
  bool TrySend(const std::string& text) {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<size_t>(count);
    }
    return true;
  }
  // The bytes received by now.
  std::string ReceiveReady() {
    char piece[4096];
    const ssize_t count = recv(fd_, piece, sizeof piece, MSG_DONTWAIT);
    return count > 0 ? std::string(piece, static_cast<size_t>(count)) : "";
  }
  int fd() const { return fd_; }
  void ShutDownSending() { shutdown(fd_, SHUT_WR); }
  // Up to and with the first `end` after what was read before; less when the connection ends.
  std::string ReadUntil(std::string_view end) {
    while (received_.find(end) == std::string::npos) {
      char piece[4096];
      const ssize_t count = recv(fd_, piece, sizeof piece, 0);
      if (count <= 0) return std::exchange(received_, "");
      received_.append(piece, static_cast<size_t>(count));
    }
    const size_t size = received_.find(end) + end.size();
    std::string read = received_.substr(0, size);
    received_.erase(0, size);
    return read;
  }
  // Up to the end of the connection.
  std::string ReceiveAll() {
    std::string received;
    char piece[4096];
    ssize_t count;
    while ((count = recv(fd_, piece, sizeof piece, 0)) > 0)
      received.append(piece, static_cast<size_t>(count));
    return received;
  }

 private:
  int fd_;
  std::string received_;  // and not read yet
};

inline size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Tries again and again for 20 s.
template <typename Condition>
bool WaitFor(Condition condition) {
  for (int i = 0; i < 400; ++i) {
    if (condition()) return true;
    usleep(50'000);
  }
  return false;
}

// The head of an upload with `more` headers, each of them ended by a line feed.
inline std::string UploadHead(const std::string& more) {
  return std::string("POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ") + kKey +
         "\r\nContent-Type: application/x-protobuf\r\n" + more + "\r\n";
}

}  // namespace lagwatch::testing

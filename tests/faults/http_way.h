// SPDX-License-Identifier: Apache-2.0
// The collector's end of a way by HTTP/1.1, on a real socket: answers as whole, cut, slow or senseless as the
// collector's side says. Never waits; to be served again and again. Not thread-safe.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/faults/collector_side.h"

namespace lagwatch::faults {

class HttpWay {
 public:
  // `collector` is borrowed.
  explicit HttpWay(CollectorSide* collector);
  ~HttpWay();
  HttpWay(const HttpWay&) = delete;
  HttpWay& operator=(const HttpWay&) = delete;

  uint16_t port() const { return port_; }
  void AddTo(std::vector<pollfd>* polled) const;
  // Does what can be done now.
  void Serve();
  void CloseConnections();

 private:
  struct Connection {
    int fd = -1;
    std::string received = {};
    std::string to_send = {};
    Manner manner = Manner::kWhole;
    bool is_answered = false;
  };

  void Accept();
  void Serve(Connection* connection);
  // False when no more can come.
  bool Receive(Connection* connection);
  void AnswerIfWhole(Connection* connection);
  void Send(Connection* connection);
  static void Close(Connection* connection, bool resets);

  CollectorSide* collector_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::vector<Connection> connections_;
};

}  // namespace lagwatch::faults

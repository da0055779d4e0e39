// SPDX-License-Identifier: Apache-2.0
// A collector's server in a process of its own, whose memory can be looked at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace lagwatch::bench {

inline constexpr char kUploadPath[] = "/v1/reports";
inline constexpr char kNothingPath[] = "/v1/nothing";  // is answered with 204, without work
inline constexpr char kKey[] = "k_of_the_bench";

class ServerProcess {
 public:
  // Forks: to be made while there are no other threads. Keeps its database in `directory`; with TLS, the
  // certificate in it.
  ServerProcess(const std::string& directory, bool is_tls);
  // Stops it and waits.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  uint16_t port() const { return port_; }
  double RssMib() const;
  // Stops it and returns the number of transactions that all uploads were committed in.
  uint64_t StopAndCountCommits();

 private:
  pid_t pid_ = 0;
  int to_child_ = -1;
  int from_child_ = -1;
  uint16_t port_ = 0;
};

}  // namespace lagwatch::bench

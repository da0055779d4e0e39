// SPDX-License-Identifier: Apache-2.0
// The server's limits for its clients. Context: background; pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace lagwatch::collector {

struct HttpLimits {
  std::chrono::milliseconds head_time{10'000};  // for a whole head, and for a TLS handshake
  std::chrono::milliseconds idle_time{30'000};  // between an answer and the next request
  std::chrono::milliseconds stop_time{10'000};  // for requests under way when the server stops
  // The slowest pace of a body, and of a client that takes an answer; may fall `grace` behind.
  uint64_t pace_bytes_per_s = 4096;
  std::chrono::milliseconds grace{10'000};
  std::chrono::milliseconds body_time{120'000};  // for a whole body, at any pace

  uint64_t connections = 20'000;            // in all; fewer when the process may not have as many files
  uint64_t connections_per_peer = 128;      // 0: as many as in all
  uint64_t bytes_in_flight = 64 << 20;  // of bodies that are read or stored (Budget); a peer has a quarter
  uint64_t least_request_bytes = 16 << 10;  // what a body counts as at least: it costs more than its bytes

  int query_threads = 3;  // one of them for short questions
  int queued_queries = 64;
  int parser_threads = 1;
  int queued_bodies = 256;  // that wait for one of these; `bytes_in_flight` bounds them, too
  std::chrono::milliseconds query_time{30'000};  // from a question's arrival to its answer

  int QueuedBodiesOfAPeer() const {
    return connections_per_peer == 0 ? queued_bodies : std::max(queued_bodies / 8, 1);
  }
  // Bodies whose key is not in the head have room of their own, beside `bytes_in_flight`.
  uint64_t KeylessBytes() const { return bytes_in_flight / 4; }
  uint64_t KeylessBytesOfAPeer() const {
    return connections_per_peer == 0 ? KeylessBytes() : KeylessBytes() / 2;
  }
  uint64_t BytesOfAPeer() const { return connections_per_peer == 0 ? bytes_in_flight : bytes_in_flight / 4; }
};

// The time allowed for `size_bytes`.
inline std::chrono::milliseconds TimeFor(const HttpLimits& limits, uint64_t size_bytes) {
  return limits.grace + std::chrono::milliseconds(size_bytes * 1000 / limits.pace_bytes_per_s);
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
// A client that sends batches as fast as they are answered, and each one again until it is answered, as the
// uploader does. Its thread lives as long as it does.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "tests/collector_faults/kill_traffic.h"

namespace lagwatch::faults {

inline constexpr char kKey[] = "k_kills";

class KillClient {
 public:
  // Sends to `port` of the loopback address, while it is not 0.
  KillClient(uint64_t seed, int64_t begin_ms, const std::atomic<uint16_t>* port);
  ~KillClient();
  KillClient(const KillClient&) = delete;
  KillClient& operator=(const KillClient&) = delete;

  // Reports that the collector has acknowledged so far.
  std::set<Id> Acknowledged() const;
  // Sends what is left of hangs that began; then returns. The problem that it saw, or nothing.
  std::string Finish();

  // After Finish:
  const Expected& expected() const { return traffic_.expected(); }
  uint64_t unanswered() const { return unanswered_; }

 private:
  void Run();
  void Send(const Batch& batch);
  // Whether the answer, of a whole batch, is right.
  std::string CheckAnswer(const Batch& batch, const std::string& body, bool is_first_try) const;

  const std::atomic<uint16_t>* port_;
  KillTraffic traffic_;
  mutable std::mutex mutex_;
  std::set<Id> acknowledged_;  // guarded by mutex_
  std::string problem_;        // of the thread, until it has ended
  uint64_t unanswered_ = 0;    // likewise: tries
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;
};

}  // namespace lagwatch::faults

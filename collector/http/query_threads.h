// SPDX-License-Identifier: Apache-2.0
// Threads for what takes long, with a queue that has an end. Peers take turns: one that asks for much waits
// for itself. Context: background. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace lagwatch::collector {

class QueryThreads {
 public:
  // At most `max_queued` tasks wait for one of `threads`.
  QueryThreads(int threads, int max_queued);
  // Waits for all tasks.
  ~QueryThreads();

  // Tasks of one peer are done in their order. False when the queue is full.
  [[nodiscard]] bool TryPost(const std::string& peer, std::function<void()> task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lagwatch::collector

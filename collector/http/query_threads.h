// SPDX-License-Identifier: Apache-2.0
// Threads for what takes long, with a queue that has an end. Context: background. Thread-safe.
#pragma once

#include <functional>
#include <memory>

namespace lagwatch::collector {

class QueryThreads {
 public:
  // At most `max_queued` tasks wait for one of `threads`.
  QueryThreads(int threads, int max_queued);
  // Waits for all tasks.
  ~QueryThreads();

  // False when the queue is full.
  [[nodiscard]] bool TryPost(std::function<void()> task);
  bool IsFull() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lagwatch::collector

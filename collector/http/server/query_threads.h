// SPDX-License-Identifier: Apache-2.0
// Threads for tasks that take long, with a bounded queue. Peers share the threads' time fairly, however many
// tasks each has: one whose tasks are short waits for the tasks that run, not for those that others have in
// the queue. Of several threads, one is left to peers whose tasks are short. Self-clocked fair queueing
// (Golestani, 1994), with the time that a peer's tasks took as the expected cost of its next. Context:
// background. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace lagwatch::collector {

class QueryThreads {
 public:
  // At most `max_queued` tasks wait for one of `threads`, `max_queued_of_peer` of one peer among them.
  QueryThreads(int threads, int max_queued, int max_queued_of_peer);
  QueryThreads(int threads, int max_queued) : QueryThreads(threads, max_queued, threads + max_queued) {}
  // Waits for all tasks.
  ~QueryThreads();

  // Tasks of one peer are done in their order. Returns false when the queue, or
  // the peer's part of it, is full.
  [[nodiscard]] bool TryPost(const std::string& peer, std::function<void()> task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lagwatch::collector

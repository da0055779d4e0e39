// SPDX-License-Identifier: Apache-2.0
// Ends a query early: at its deadline, or when its client has disconnected. Stores check the limit of the
// calling thread. Context: background.
#pragma once

#include <atomic>
#include <chrono>

#include "base/status.h"

namespace lagwatch::collector {

// Thread-safe.
class QueryLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit QueryLimit(std::chrono::milliseconds time) : time_(time), deadline_(Clock::now() + time) {}

  // The answer is no longer needed.
  void Cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }  // a flag alone: it orders nothing
  bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }
  bool IsOver() const { return is_cancelled() || Clock::now() >= deadline_; }
  // 0 when it is over.
  std::chrono::milliseconds Remaining() const;
  // The answer to a query that was ended.
  base::Status ToStatus() const;

  // The limit of what this thread does now; null: there is none.
  static const QueryLimit* OfThisThread();

  // Sets the limit of this thread for its lifetime. Borrows `limit`, which may be null.
  class Scope {
   public:
    explicit Scope(const QueryLimit* limit);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const QueryLimit* before_;
  };

 private:
  const std::chrono::milliseconds time_;
  const Clock::time_point deadline_;
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace lagwatch::collector

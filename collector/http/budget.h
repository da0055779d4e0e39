// SPDX-License-Identifier: Apache-2.0
// A limit that many share and that no single peer may use up: of connections, of bytes in memory. Context:
// background. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace lagwatch::collector {

class Budget {
 public:
  // A part that was taken; given back with this object. The budget must outlive it.
  class Share {
   public:
    Share() = default;  // none, of no budget: resizing always succeeds
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept;
    ~Share() { Release(); }

    // False when there is too little left; then nothing has changed.
    [[nodiscard]] bool TryResize(uint64_t amount);
    uint64_t amount() const { return amount_; }

   private:
    friend class Budget;
    Share(Budget* budget, std::string peer, uint64_t amount)
        : budget_(budget), peer_(std::move(peer)), amount_(amount) {}
    void Release();

    Budget* budget_ = nullptr;
    std::string peer_;
    uint64_t amount_ = 0;
  };

  // A `peer_limit` of 0 lets one peer have all. `watch` is told of every change, one at a time.
  Budget(uint64_t limit, uint64_t peer_limit, std::function<void(uint64_t taken)> watch = {})
      : limit_(limit), peer_limit_(peer_limit), watch_(std::move(watch)) {}

  std::optional<Share> TryTake(const std::string& peer, uint64_t amount);
  uint64_t taken() const;

 private:
  // From `before` to `after` of what `peer` has.
  bool TryMove(const std::string& peer, uint64_t before, uint64_t after);

  const uint64_t limit_;
  const uint64_t peer_limit_;
  const std::function<void(uint64_t)> watch_;
  mutable std::mutex mutex_;
  uint64_t taken_ = 0;                     // guarded by mutex_
  std::map<std::string, uint64_t> peers_;  // who has some; guarded by mutex_
};

}  // namespace lagwatch::collector

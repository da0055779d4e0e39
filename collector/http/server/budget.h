// SPDX-License-Identifier: Apache-2.0
// A limit that many share and that no single peer may use up: of connections, of bytes in memory. Context:
// background. Thread-safe.
//
// Shares of a key and a peer that are revocable (bodies that are still read) never keep others out: when room
// is short, the largest key's largest peer loses its oldest one. Shares that were kept (bodies that are
// stored) are bounded so that there always is room for another key, and for another peer of the same key.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lagwatch::collector {

class Budget {
  struct SharedAmounts;

 public:
  // A revocable share as old as this gives way to any other one; to one of the same key and peer that is less
  // than half as large, sooner.
  static constexpr std::chrono::milliseconds kSafeTime{3000};
  static constexpr std::chrono::milliseconds kSafeTimeOfLarge{500};

  // The holder of a share. Without a key, its kept shares are bounded by the limits of peers alone.
  struct Holder {
    std::string peer;
    std::string key = {};
  };

  // A part that was taken; given back with this object, which may outlive the budget.
  class Share {
   public:
    Share() = default;  // none, of no budget: resizing always succeeds
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept;
    ~Share() { Release(); }

    // False when there is too little left, or this was revoked; then nothing has changed.
    [[nodiscard]] bool TryResize(uint64_t amount);
    // Lets others take this away until it is kept: `revoke` is called once, from any thread and without a
    // lock; what this held is free then.
    void MakeRevocable(std::function<void()> revoke);
    // Resizes it and keeps it from then on. False as for TryResize().
    [[nodiscard]] bool TryKeep(uint64_t amount);
    uint64_t amount() const { return holding_ == nullptr ? amount_ : AmountOfHolding(); }

   private:
    friend class Budget;
    struct Holding;
    Share(std::shared_ptr<SharedAmounts> state, std::shared_ptr<Holding> holding)
        : state_(std::move(state)), holding_(std::move(holding)) {}
    void Release();
    uint64_t AmountOfHolding() const;

    std::shared_ptr<SharedAmounts> state_;
    std::shared_ptr<Holding> holding_;
    uint64_t amount_ = 0;  // of no budget
  };

  // A `peer_limit` of 0 lets one peer have all. `watch` is called at every change, one at a time,
  // while this exists.
  Budget(uint64_t limit, uint64_t peer_limit, std::function<void(uint64_t taken)> watch = {});
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  std::optional<Share> TryTake(const Holder& holder, uint64_t amount);
  std::optional<Share> TryTake(const std::string& peer, uint64_t amount) {
    return TryTake(Holder{peer}, amount);
  }
  // An empty share, if `amount` could be kept now; others' revocable shares do not count.
  std::optional<Share> TryAdmit(const Holder& holder, uint64_t amount);
  uint64_t taken() const;

 private:
  const std::shared_ptr<SharedAmounts> state_;
};

}  // namespace lagwatch::collector

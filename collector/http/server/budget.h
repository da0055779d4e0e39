// SPDX-License-Identifier: Apache-2.0
// A limit that many share and that no single peer may use up: of connections, of bytes in memory. Context:
// background. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace lagwatch::collector {

class Budget {
  struct SharedAmounts;

 public:
  // A part that was taken; given back with this object, which may outlive the budget.
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
    Share(std::shared_ptr<SharedAmounts> state, std::string peer, uint64_t amount)
        : state_(std::move(state)), peer_(std::move(peer)), amount_(amount) {}
    void Release();

    std::shared_ptr<SharedAmounts> state_;
    std::string peer_;
    uint64_t amount_ = 0;
  };

  // A `peer_limit` of 0 lets one peer have all. `watch` is called at every change, one at a time,
  // while this exists.
  Budget(uint64_t limit, uint64_t peer_limit, std::function<void(uint64_t taken)> watch = {});
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  std::optional<Share> TryTake(const std::string& peer, uint64_t amount);
  uint64_t taken() const;

 private:
  struct SharedAmounts {
    SharedAmounts(uint64_t limit_of_all, uint64_t limit_of_one)
        : limit(limit_of_all), peer_limit(limit_of_one) {}

    // From `before` to `after` of what `peer` has.
    bool TryMove(const std::string& peer, uint64_t before, uint64_t after);

    const uint64_t limit;
    const uint64_t peer_limit;
    std::mutex mutex;
    std::function<void(uint64_t)> watch = {};  // guarded by mutex, like the following ones
    uint64_t taken = 0;
    std::map<std::string, uint64_t> peers = {};  // those that have some
  };

  const std::shared_ptr<SharedAmounts> state_;
};

}  // namespace lagwatch::collector

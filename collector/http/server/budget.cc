// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/budget.h"

namespace lagwatch::collector {

Budget::Share& Budget::Share::operator=(Share&& other) noexcept {
  if (this == &other) return *this;
  Release();
  state_ = std::move(other.state_);
  peer_ = std::move(other.peer_);
  amount_ = std::exchange(other.amount_, 0);
  return *this;
}

bool Budget::Share::TryResize(uint64_t amount) {
  if (state_ != nullptr && !state_->TryMove(peer_, amount_, amount)) return false;
  amount_ = amount;
  return true;
}

void Budget::Share::Release() {
  if (state_ != nullptr) state_->TryMove(peer_, amount_, 0);
  state_.reset();
}

Budget::Budget(uint64_t limit, uint64_t peer_limit, std::function<void(uint64_t taken)> watch)
    : state_(std::make_shared<SharedAmounts>(limit, peer_limit)) {
  state_->watch = std::move(watch);
}

Budget::~Budget() {
  std::lock_guard lock(state_->mutex);
  state_->watch = {};
}

std::optional<Budget::Share> Budget::TryTake(const std::string& peer, uint64_t amount) {
  if (!state_->TryMove(peer, 0, amount)) return std::nullopt;
  return Share(state_, peer, amount);
}

uint64_t Budget::taken() const {
  std::lock_guard lock(state_->mutex);
  return state_->taken;
}

bool Budget::SharedAmounts::TryMove(const std::string& peer, uint64_t before, uint64_t after) {
  std::lock_guard lock(mutex);
  const auto place = peers.find(peer);
  const uint64_t others = (place == peers.end() ? 0 : place->second) - before;
  const bool has_room = after <= limit && taken - before <= limit - after &&
                        (peer_limit == 0 || (after <= peer_limit && others <= peer_limit - after));
  if (after > before && !has_room) return false;
  taken += after - before;
  if (watch) watch(taken);
  if (others + after == 0) {
    if (place != peers.end()) peers.erase(place);
  } else {
    peers[peer] = others + after;
  }
  return true;
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "collector/http/budget.h"

namespace lagwatch::collector {

Budget::Share& Budget::Share::operator=(Share&& other) noexcept {
  if (this == &other) return *this;
  Release();
  budget_ = std::exchange(other.budget_, nullptr);
  peer_ = std::move(other.peer_);
  amount_ = std::exchange(other.amount_, 0);
  return *this;
}

bool Budget::Share::TryResize(uint64_t amount) {
  if (budget_ != nullptr && !budget_->TryMove(peer_, amount_, amount)) return false;
  amount_ = amount;
  return true;
}

void Budget::Share::Release() {
  if (budget_ != nullptr) budget_->TryMove(peer_, amount_, 0);
  budget_ = nullptr;
}

std::optional<Budget::Share> Budget::TryTake(const std::string& peer, uint64_t amount) {
  if (!TryMove(peer, 0, amount)) return std::nullopt;
  return Share(this, peer, amount);
}

uint64_t Budget::taken() const {
  std::lock_guard lock(mutex_);
  return taken_;
}

bool Budget::TryMove(const std::string& peer, uint64_t before, uint64_t after) {
  std::lock_guard lock(mutex_);
  const auto place = peers_.find(peer);
  const uint64_t others = (place == peers_.end() ? 0 : place->second) - before;
  const bool has_room = after <= limit_ && taken_ - before <= limit_ - after &&
                        (peer_limit_ == 0 || (after <= peer_limit_ && others <= peer_limit_ - after));
  if (after > before && !has_room) return false;
  taken_ += after - before;
  if (watch_) watch_(taken_);
  if (others + after == 0) {
    if (place != peers_.end()) peers_.erase(place);
  } else {
    peers_[peer] = others + after;
  }
  return true;
}

}  // namespace lagwatch::collector

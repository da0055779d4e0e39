// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/budget.h"

#include <algorithm>
#include <tuple>

namespace lagwatch::collector {
namespace {

using Clock = std::chrono::steady_clock;
using Amounts = std::map<std::string, uint64_t>;  // without those that are 0

uint64_t AmountOf(const Amounts& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

void Set(const std::string& name, uint64_t amount, Amounts* amounts) {
  if (amount == 0) {
    amounts->erase(name);
  } else {
    (*amounts)[name] = amount;
  }
}

bool Exceeds(uint64_t limit, uint64_t others, uint64_t amount) {
  return amount > limit || others > limit - amount;
}

}  // namespace

struct Budget::Share::Holding {
  // The peer of one key.
  std::string Pair() const { return holder.key + '\n' + holder.peer; }

  const Holder holder;
  uint64_t amount = 0;  // guarded by the budget's mutex, like the following ones
  bool is_kept = true;
  bool is_revoked = false;
  std::function<void()> revoke = {};
  Clock::time_point since = {};
  std::list<Holding*>::iterator place = {};  // in the revocable ones, unless it is kept
};

struct Budget::SharedAmounts {
  using Holding = Share::Holding;
  using Revocations = std::vector<std::function<void()>>;  // to be called without the mutex
  // A revocable share that gives way, with what its key and its pair have.
  struct Victim {
    uint64_t of_key;
    uint64_t of_pair;
    Holding* holding;
  };

  SharedAmounts(uint64_t limit_of_all, uint64_t limit_of_one)
      : limit(limit_of_all), peer_limit(limit_of_one == 0 ? limit_of_all : limit_of_one) {}

  bool TryMove(Holding* holding, uint64_t after, bool is_to_keep);
  // With the mutex held, as all that follows.
  bool Fits(const Holding& holding, uint64_t after, bool is_to_keep) const;
  bool HasRoomToKeep(const Holder& holder, uint64_t before, uint64_t after) const;
  bool HasRoomOfPeer(const Holding& holding, uint64_t after) const;
  bool MakeRoom(const Holding& holding, uint64_t after, Revocations* revocations);
  std::vector<Victim> FindVictims(const Holding& holding, uint64_t after) const;
  void Move(Holding* holding, uint64_t after);
  void SetKept(Holding* holding, bool is_kept);
  void Revoke(Holding* victim, Revocations* revocations);

  const uint64_t limit;
  const uint64_t peer_limit;
  std::mutex mutex;
  std::function<void(uint64_t)> watch = {};  // guarded by mutex, like the following ones
  uint64_t taken = 0;
  Amounts peers = {};
  uint64_t kept = 0;
  Amounts kept_of_keys = {};
  Amounts kept_of_pairs = {};
  std::list<Holding*> revocable = {};  // the oldest first
};

// A key may keep three quarters of what others left, and a peer half of what its key's others left of that:
// the next one always finds room.
bool Budget::SharedAmounts::HasRoomToKeep(const Holder& holder, uint64_t before, uint64_t after) const {
  if (Exceeds(limit, kept - before, after)) return false;
  if (holder.key.empty()) return true;
  const uint64_t of_key = AmountOf(kept_of_keys, holder.key) - before;
  const uint64_t most_of_key = (limit - (kept - before - of_key)) / 4 * 3;
  if (Exceeds(most_of_key, of_key, after)) return false;
  if (peer_limit >= limit) return true;
  const uint64_t of_pair = AmountOf(kept_of_pairs, Share::Holding{.holder = holder}.Pair()) - before;
  return !Exceeds((most_of_key - (of_key - of_pair)) / 2, of_pair, after);
}

bool Budget::SharedAmounts::TryMove(Holding* holding, uint64_t after, bool is_to_keep) {
  Revocations revocations;
  bool is_moved = false;
  {
    std::lock_guard lock(mutex);
    is_moved = !holding->is_revoked && Fits(*holding, after, is_to_keep) &&
               (after <= holding->amount || MakeRoom(*holding, after, &revocations));
    if (is_moved) {
      Move(holding, after);
      if (is_to_keep) SetKept(holding, true);
    }
    if (watch) watch(taken);
  }
  for (const auto& revoke : revocations) revoke();
  return is_moved;
}

// Within the limits that nothing else gives way to.
bool Budget::SharedAmounts::Fits(const Holding& holding, uint64_t after, bool is_to_keep) const {
  const uint64_t kept_before = holding.is_kept ? holding.amount : 0;
  const bool will_be_kept = is_to_keep || holding.is_kept;
  return after <= peer_limit &&
         (!will_be_kept || after <= kept_before || HasRoomToKeep(holding.holder, kept_before, after));
}

std::vector<Budget::SharedAmounts::Victim> Budget::SharedAmounts::FindVictims(const Holding& holding,
                                                                              uint64_t after) const {
  Amounts of_keys;
  Amounts of_pairs;
  for (const Holding* each : revocable) {
    of_keys[each->holder.key] += each->amount;
    of_pairs[each->Pair()] += each->amount;
  }
  const uint64_t added = after - holding.amount;
  const Clock::time_point now = Clock::now();
  const auto gives_way = [&](const Holding& each) {
    const Clock::duration age = now - each.since;
    const bool is_of_same_key = each.holder.key == holding.holder.key;
    if (age > kSafeTime) return true;
    if (!is_of_same_key) return of_keys[each.holder.key] > of_keys[holding.holder.key] + added;
    if (each.holder.peer != holding.holder.peer)
      return of_pairs[each.Pair()] > of_pairs[holding.Pair()] + added;
    return age > kSafeTimeOfLarge && each.amount / 2 > after;
  };
  const bool is_peer_full = !HasRoomOfPeer(holding, after);
  std::vector<Victim> victims;
  for (Holding* each : revocable) {
    if (each == &holding || each->amount == 0 || !gives_way(*each)) continue;
    if (is_peer_full && each->holder.peer != holding.holder.peer) continue;
    victims.push_back({of_keys[each->holder.key], of_pairs[each->Pair()], each});
  }
  std::ranges::sort(victims, [](const Victim& a, const Victim& b) {
    return std::tuple(b.of_key, b.of_pair, a.holding->since) <
           std::tuple(a.of_key, a.of_pair, b.holding->since);
  });
  return victims;
}

bool Budget::SharedAmounts::HasRoomOfPeer(const Holding& holding, uint64_t after) const {
  return !Exceeds(peer_limit, AmountOf(peers, holding.holder.peer) - holding.amount, after);
}

// Takes a sixteenth of all, although less may be needed: it has to look at all that is revocable.
bool Budget::SharedAmounts::MakeRoom(const Holding& holding, uint64_t after, Revocations* revocations) {
  const auto fits = [&] {
    return HasRoomOfPeer(holding, after) && !Exceeds(limit, taken - holding.amount, after);
  };
  if (fits()) return true;
  uint64_t freed = 0;
  for (const Victim& victim : FindVictims(holding, after)) {
    if (fits() && freed >= limit / 16) break;
    freed += victim.holding->amount;
    Revoke(victim.holding, revocations);
  }
  return fits();
}

void Budget::SharedAmounts::Revoke(Holding* victim, Revocations* revocations) {
  Move(victim, 0);
  victim->is_revoked = true;
  if (victim->revoke) revocations->push_back(std::exchange(victim->revoke, {}));
}

void Budget::SharedAmounts::Move(Holding* holding, uint64_t after) {
  const uint64_t before = std::exchange(holding->amount, after);
  taken += after - before;
  const Holder& holder = holding->holder;
  Set(holder.peer, AmountOf(peers, holder.peer) + after - before, &peers);
  if (!holding->is_kept) return;
  kept += after - before;
  if (holder.key.empty()) return;
  Set(holder.key, AmountOf(kept_of_keys, holder.key) + after - before, &kept_of_keys);
  Set(holding->Pair(), AmountOf(kept_of_pairs, holding->Pair()) + after - before, &kept_of_pairs);
}

void Budget::SharedAmounts::SetKept(Holding* holding, bool is_kept) {
  if (holding->is_kept == is_kept) return;
  const uint64_t amount = holding->amount;
  Move(holding, 0);
  holding->is_kept = is_kept;
  Move(holding, amount);
  if (is_kept) {
    revocable.erase(holding->place);
    holding->revoke = {};
  } else {
    holding->place = revocable.insert(revocable.end(), holding);
  }
}

Budget::Share& Budget::Share::operator=(Share&& other) noexcept {
  if (this == &other) return *this;
  Release();
  state_ = std::move(other.state_);
  holding_ = std::move(other.holding_);
  amount_ = std::exchange(other.amount_, 0);
  return *this;
}

bool Budget::Share::TryResize(uint64_t amount) {
  if (state_ != nullptr) return state_->TryMove(holding_.get(), amount, false);
  amount_ = amount;
  return true;
}

bool Budget::Share::TryKeep(uint64_t amount) {
  if (state_ != nullptr) return state_->TryMove(holding_.get(), amount, true);
  amount_ = amount;
  return true;
}

void Budget::Share::MakeRevocable(std::function<void()> revoke) {
  if (state_ == nullptr) return;
  std::lock_guard lock(state_->mutex);
  holding_->revoke = std::move(revoke);
  holding_->since = Clock::now();
  state_->SetKept(holding_.get(), false);
}

uint64_t Budget::Share::AmountOfHolding() const {
  std::lock_guard lock(state_->mutex);
  return holding_->amount;
}

void Budget::Share::Release() {
  if (state_ != nullptr) {
    std::function<void()> unused;  // destroyed without the mutex
    std::lock_guard lock(state_->mutex);
    unused = std::move(holding_->revoke);
    state_->Move(holding_.get(), 0);
    state_->SetKept(holding_.get(), true);
    if (state_->watch) state_->watch(state_->taken);
  }
  holding_.reset();
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

std::optional<Budget::Share> Budget::TryTake(const Holder& holder, uint64_t amount) {
  Share share(state_, std::make_shared<Share::Holding>(Share::Holding{.holder = holder}));
  if (!share.TryResize(amount)) return std::nullopt;
  return share;
}

std::optional<Budget::Share> Budget::TryAdmit(const Holder& holder, uint64_t amount) {
  std::lock_guard lock(state_->mutex);
  const bool has_room = amount <= state_->peer_limit && state_->HasRoomToKeep(holder, 0, amount);
  if (!has_room) return std::nullopt;
  return Share(state_, std::make_shared<Share::Holding>(Share::Holding{.holder = holder}));
}

uint64_t Budget::taken() const {
  std::lock_guard lock(state_->mutex);
  return state_->taken;
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/query_threads.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace lagwatch::collector {
namespace {

// Virtual time passes as tasks are done: a peer's task ends, in it, when the peer's tasks before it have
// ended and its own cost has passed. The task that ends first is the next one.
struct Peer {
  std::deque<std::function<void()>> tasks = {};
  double cost_s;     // expected of a task
  double end_s = 0;  // virtual: of the peer's last task that was taken

  double NextEnd(double now_s) const { return std::max(end_s, now_s) + cost_s; }
};

constexpr size_t kMaxPeers = 4096;     // without a task, whose costs are remembered
constexpr double kFirstCostS = 0.01;   // of a peer that is new
constexpr double kShortS = 0.1;        // tasks up to this may take the last thread
constexpr double kWeightOfLast = 0.3;  // of the last task in the expected cost

using SteadyClock = std::chrono::steady_clock;

}  // namespace

struct QueryThreads::Impl {
  Impl(int count, int max_queued, int max_queued_of_peer)
      : pool(static_cast<size_t>(count)),
        thread_count(count),
        max_under_way(count + max_queued),
        max_of_peer(static_cast<size_t>(max_queued_of_peer)) {}

  // A task that was taken from the queue.
  struct Taken {
    std::string peer;
    double expected_s;
    std::function<void()> task;
  };

  // Does tasks until none may be done. A long task that waits for the thread which short ones have is taken
  // by the thread of another long one.
  void DoAll() {
    for (;;) {
      std::optional<Taken> taken;
      {
        std::lock_guard lock(mutex);
        taken = Take();
      }
      if (!taken) return;
      const auto begin = SteadyClock::now();
      taken->task();
      taken->task = nullptr;
      const double cost_s = std::chrono::duration<double>(SteadyClock::now() - begin).count();
      std::lock_guard lock(mutex);
      --busy;
      --under_way;
      const auto peer = peers.find(taken->peer);
      if (peer == peers.end()) continue;
      peer->second.end_s += cost_s - taken->expected_s;
      peer->second.cost_s += kWeightOfLast * (cost_s - peer->second.cost_s);
    }
  }

  // With the mutex held.
  std::optional<Taken> Take() {
    const bool is_last_thread = thread_count > 1 && busy == thread_count - 1;
    auto next = peers.end();
    for (auto peer = peers.begin(); peer != peers.end(); ++peer) {
      if (peer->second.tasks.empty() || (is_last_thread && peer->second.cost_s > kShortS)) continue;
      if (next == peers.end() || peer->second.NextEnd(now_s) < next->second.NextEnd(now_s)) next = peer;
    }
    if (next == peers.end()) return std::nullopt;
    Peer& peer = next->second;
    Taken taken{next->first, peer.cost_s, std::move(peer.tasks.front())};
    peer.tasks.pop_front();
    peer.end_s = peer.NextEnd(now_s);
    now_s = std::max(now_s, peer.end_s - peer.cost_s);
    ++busy;
    return taken;
  }

  void Forget() {
    std::erase_if(peers,
                  [&](const auto& peer) { return peer.second.tasks.empty() && peer.second.end_s <= now_s; });
    if (peers.size() < kMaxPeers) return;
    std::erase_if(peers, [](const auto& peer) { return peer.second.tasks.empty(); });
  }

  boost::asio::thread_pool pool;
  const int thread_count;
  const int max_under_way;
  const size_t max_of_peer;
  std::mutex mutex;
  int busy = 0;                                 // threads; guarded by mutex
  int under_way = 0;                            // in the queue or on a thread; guarded by mutex
  double now_s = 0;                             // virtual; guarded by mutex
  std::unordered_map<std::string, Peer> peers;  // guarded by mutex
};

QueryThreads::QueryThreads(int threads, int max_queued, int max_queued_of_peer)
    : impl_(std::make_unique<Impl>(threads, max_queued, max_queued_of_peer)) {}

QueryThreads::~QueryThreads() { impl_->pool.join(); }

bool QueryThreads::TryPost(const std::string& peer, std::function<void()> task) {
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->under_way >= impl_->max_under_way) return false;
    if (impl_->peers.size() >= kMaxPeers && !impl_->peers.contains(peer)) impl_->Forget();
    Peer& known = impl_->peers.try_emplace(peer, Peer{.cost_s = kFirstCostS}).first->second;
    if (known.tasks.size() >= impl_->max_of_peer) return false;
    ++impl_->under_way;
    known.tasks.push_back(std::move(task));
  }
  boost::asio::post(impl_->pool, [impl = impl_.get()] { impl->DoAll(); });
  return true;
}

}  // namespace lagwatch::collector

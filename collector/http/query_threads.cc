// SPDX-License-Identifier: Apache-2.0
#include "collector/http/query_threads.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <list>
#include <mutex>
#include <utility>

namespace lagwatch::collector {
namespace {

// What waits of one peer.
struct Waiting {
  std::string peer;
  std::deque<std::function<void()>> tasks = {};
};

}  // namespace

struct QueryThreads::Impl {
  Impl(int threads, int max_queued)
      : pool(static_cast<size_t>(threads)), max_under_way(threads + max_queued) {}

  // The first task of the peer whose turn it is; there is one.
  std::function<void()> Take() {
    std::lock_guard lock(mutex);
    Waiting& first = waiting.front();
    std::function<void()> task = std::move(first.tasks.front());
    first.tasks.pop_front();
    if (first.tasks.empty()) {
      waiting.pop_front();
    } else {
      waiting.splice(waiting.end(), waiting, waiting.begin());
    }
    return task;
  }

  boost::asio::thread_pool pool;
  const int max_under_way;
  std::mutex mutex;
  int under_way = 0;           // in the queue or on a thread; guarded by mutex
  std::list<Waiting> waiting;  // in the order of their turns; guarded by mutex
};

QueryThreads::QueryThreads(int threads, int max_queued)
    : impl_(std::make_unique<Impl>(threads, max_queued)) {}

QueryThreads::~QueryThreads() { impl_->pool.join(); }

bool QueryThreads::TryPost(const std::string& peer, std::function<void()> task) {
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->under_way >= impl_->max_under_way) return false;
    ++impl_->under_way;
    auto place = impl_->waiting.begin();
    while (place != impl_->waiting.end() && place->peer != peer) ++place;
    if (place == impl_->waiting.end()) place = impl_->waiting.insert(place, Waiting{peer});
    place->tasks.push_back(std::move(task));
  }
  boost::asio::post(impl_->pool, [impl = impl_.get()] {
    impl->Take()();
    std::lock_guard lock(impl->mutex);
    --impl->under_way;
  });
  return true;
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "collector/http/query_threads.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

namespace lagwatch::collector {

struct QueryThreads::Impl {
  Impl(int threads, int max_queued)
      : pool(static_cast<size_t>(threads)), max_under_way(threads + max_queued) {}

  boost::asio::thread_pool pool;
  const int max_under_way;
  std::atomic<int> under_way = 0;  // in the queue or on a thread
};

QueryThreads::QueryThreads(int threads, int max_queued)
    : impl_(std::make_unique<Impl>(threads, max_queued)) {}

QueryThreads::~QueryThreads() { impl_->pool.join(); }

bool QueryThreads::TryPost(std::function<void()> task) {
  if (impl_->under_way.fetch_add(1) >= impl_->max_under_way) {
    impl_->under_way.fetch_sub(1);
    return false;
  }
  boost::asio::post(impl_->pool, [this, task = std::move(task)] {
    task();
    impl_->under_way.fetch_sub(1);
  });
  return true;
}

bool QueryThreads::IsFull() const { return impl_->under_way.load() >= impl_->max_under_way; }

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "trace/record/thread_places.h"

#include <cstring>

#include "base/unsynchronized_copy.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::trace {
namespace {

// Makes a change to a place that readers of other threads see as a whole, or not at all.
class ScopedChange {
 public:
  explicit ScopedChange(ArenaThread* thread) : thread_(thread) {
    const uint32_t version = thread_->version.load(std::memory_order_relaxed);  // only we change it
    thread_->version.store(version + 1, std::memory_order_relaxed);             // ordered by the fence
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~ScopedChange() {
    const uint32_t version = thread_->version.load(std::memory_order_relaxed);  // only we change it
    thread_->version.store(version + 1, std::memory_order_release);             // publishes the change
  }
  ScopedChange(const ScopedChange&) = delete;
  ScopedChange& operator=(const ScopedChange&) = delete;

 private:
  ArenaThread* thread_;
};

}  // namespace

ThreadPlaces::ThreadPlaces(Arena* arena)
    : arena_(arena), capacity_(static_cast<uint32_t>(arena->layout().thread_capacity)) {
  is_taken_.Resize(capacity_);
}

uint32_t ThreadPlaces::Take(int32_t tid) {
  for (uint32_t i = 0; i < capacity_; ++i) {
    const uint32_t place = (next_ + i) % capacity_;
    if (is_taken_[place] != 0) continue;
    is_taken_[place] = 1;
    next_ = place + 1;
    ArenaThread& thread = arena_->threads()[place];
    {
      const ScopedChange change(&thread);
      thread.tid = tid;
      thread.open = {};
    }
    RefreshName(place);
    return place;
  }
  arena_->header().counters.threads_refused.Add();
  return kNoPlace;
}

void ThreadPlaces::RefreshName(uint32_t place) {
  ArenaThread& thread = arena_->threads()[place];
  char name[ArenaThread::kMaxNameBytes];
  stack::ReadThreadName(base::OwnThread(thread.tid), name, sizeof name);
  // Apart from the rest of the place: a reader may get a mixture of two names of the same thread.
  if (name[0] != '\0') std::memcpy(thread.name, name, sizeof name);
}

void ThreadPlaces::SetOpen(uint32_t place, const OpenRun& run) {
  ArenaThread& thread = arena_->threads()[place];
  const ScopedChange change(&thread);
  thread.open = run;
}

bool CopyThread(const ArenaThread& thread, ThreadCopy* copy) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const uint32_t version = thread.version.load(std::memory_order_acquire);  // pairs with the change's end
    if (version % 2 != 0) continue;
    base::CopyUnsynchronized(&thread.tid, &copy->tid, sizeof copy->tid);
    base::CopyUnsynchronized(thread.name, copy->name, sizeof copy->name);
    base::CopyUnsynchronized(&thread.open, &copy->open, sizeof copy->open);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (thread.version.load(std::memory_order_relaxed) != version) continue;  // ordered by the fence
    copy->name[sizeof copy->name - 1] = '\0';
    return copy->tid != 0;
  }
  return false;
}

}  // namespace lagwatch::trace

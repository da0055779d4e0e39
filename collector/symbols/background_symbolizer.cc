// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/background_symbolizer.h"

#include <utility>
#include <vector>

namespace lagwatch::collector {

BackgroundSymbolizer::BackgroundSymbolizer(FileSymbolizer* files, BackgroundSymbolizerLimits limits)
    : files_(files), limits_(limits), thread_([this] { Run(); }) {}

BackgroundSymbolizer::~BackgroundSymbolizer() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

base::Result<SymbolizedFrames> BackgroundSymbolizer::Symbolize(std::string_view build_id,
                                                               std::span<const CodePlace> places) {
  if (auto known = files_->TryFind(build_id, places)) return std::move(*known);
  Want(build_id, places);
  return Status(StatusCode::kUnavailable, "the names are being looked up; try again in a moment");
}

uint64_t BackgroundSymbolizer::dropped() const {
  std::lock_guard lock(mutex_);
  return dropped_;
}

bool BackgroundSymbolizer::is_idle() const {
  std::lock_guard lock(mutex_);
  return queue_.empty() && !is_busy_;
}

void BackgroundSymbolizer::Want(std::string_view build_id, std::span<const CodePlace> places) {
  {
    std::lock_guard lock(mutex_);
    const auto known = of_build_.find(build_id);
    if (known == of_build_.end()) {
      queue_.push_front({.build_id = std::string(build_id), .places = {}, .asked = {}});
      of_build_.emplace(build_id, queue_.begin());
    } else {
      queue_.splice(queue_.begin(), queue_, known->second);
    }
    Wanted& wanted = queue_.front();
    wanted.asked = Clock::now();
    places_ -= wanted.places.size();
    wanted.places.insert(places.begin(), places.end());
    places_ += wanted.places.size();
    while (queue_.size() > limits_.waiting_modules || places_ > limits_.waiting_places) {
      Drop(std::prev(queue_.end()));
      ++dropped_;
    }
  }
  has_work_.notify_one();
}

BackgroundSymbolizer::Queue::iterator BackgroundSymbolizer::Drop(Queue::iterator wanted) {
  places_ -= wanted->places.size();
  of_build_.erase(wanted->build_id);
  return queue_.erase(wanted);
}

void BackgroundSymbolizer::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    is_busy_ = false;
    has_work_.wait(lock, [&] { return is_stopping_ || !queue_.empty(); });
    if (is_stopping_) return;
    const auto first = queue_.begin();
    const bool is_late = Clock::now() - first->asked > limits_.patience;
    const Wanted wanted = std::move(*first);
    of_build_.erase(wanted.build_id);
    queue_.erase(first);
    places_ -= wanted.places.size();
    if (is_late) {
      ++dropped_;
      continue;
    }
    is_busy_ = true;
    lock.unlock();
    const std::vector<CodePlace> places(wanted.places.begin(), wanted.places.end());
    // The next call finds its answer, good or bad.
    std::ignore = files_->Symbolize(wanted.build_id, places);
    lock.lock();
  }
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "index.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

Index::Index() : indexer_([this] { RunIndexer(); }) {
  pthread_setname_np(indexer_.native_handle(), "indexer");
}

Index::~Index() {
  {
    std::lock_guard lock(job_mutex_);
    is_closing_ = true;
  }
  job_changed_.notify_all();
  indexer_.join();
}

[[gnu::noinline]] size_t Index::Lookup(const std::string& word) {
  std::lock_guard lock(words_mutex_);
  auto found = words_.find(word);
  return found == words_.end() ? 0 : found->second;
}

void Index::StartRebuild(std::string text, size_t passes) {
  std::unique_lock lock(job_mutex_);
  job_text_ = std::move(text);
  job_passes_ = passes;
  has_begun_ = false;
  job_changed_.notify_all();
  job_changed_.wait(lock, [this] { return has_begun_; });
}

[[gnu::noinline]] void Index::Rebuild(std::string_view text, size_t passes) {
  std::lock_guard words_lock(words_mutex_);
  {
    std::lock_guard job_lock(job_mutex_);
    has_begun_ = true;
  }
  job_changed_.notify_all();
  for (size_t pass = 0; pass < passes; ++pass) {
    words_.clear();
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find_first_of(" \n", at), text.size());
      if (end > at) ++words_[std::string(text.substr(at, end - at))];
      at = end + 1;
    }
  }
}

void Index::RunIndexer() {
  for (;;) {
    std::string text;
    size_t passes;
    {
      std::unique_lock lock(job_mutex_);
      job_changed_.wait(lock, [this] { return is_closing_ || job_passes_ > 0; });
      if (is_closing_) return;
      text = std::move(job_text_);
      passes = std::exchange(job_passes_, 0);
    }
    Rebuild(text, passes);
  }
}

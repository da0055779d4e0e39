// SPDX-License-Identifier: Apache-2.0
// A word index that a background thread rebuilds. It holds its lock for the whole rebuild: the first freeze.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

class Index {
 public:
  Index();
  ~Index();

  // Returns the number of a word's occurrences. Waits while a rebuild goes on.
  size_t Lookup(const std::string& word);
  // Makes the background thread rebuild the index from `text`, `passes` times over; returns once
  // it has begun.
  void StartRebuild(std::string text, size_t passes);
  // One rebuild on the calling thread.
  void Rebuild(std::string_view text, size_t passes);

 private:
  void RunIndexer();

  std::mutex words_mutex_;
  std::map<std::string, size_t, std::less<>> words_;

  std::mutex job_mutex_;
  std::condition_variable job_changed_;
  std::string job_text_;
  size_t job_passes_ = 0;
  bool has_begun_ = false;
  bool is_closing_ = false;
  std::thread indexer_;
};

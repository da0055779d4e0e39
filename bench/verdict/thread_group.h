// SPDX-License-Identifier: Apache-2.0
// Control groups for the threads of recipes.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace lagwatch::bench {

std::string ScratchFolder();
// Whether all of `text` was written to the file, which exists.
bool WriteFile(const std::string& path, const std::string& text);

// A control group for threads, with a limit of some kind. Its destructor removes it.
class ThreadGroup {
 public:
  struct Limit {
    std::string file;
    std::string value;
  };

  // Under `root`, with the first limits that the system takes.
  ThreadGroup(const std::string& root, const std::string& threads_file, std::vector<Limit> limits);
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;

  bool is_usable() const { return is_usable_; }
  bool Enter() const;
  bool Leave() const;

 private:
  std::string path_;
  std::string threads_file_;
  std::string outer_threads_file_;
  bool is_usable_ = false;
};

// A fifth of a processor, and precedence for that over the rest of the machine.
std::unique_ptr<ThreadGroup> CreateQuotaGroup();
// A disk that is slow for its threads, if this machine can do that: otherwise it may be so fast that its
// users mostly compute.
std::unique_ptr<ThreadGroup> CreateSlowDiskGroup();

}  // namespace lagwatch::bench

// SPDX-License-Identifier: Apache-2.0
// Threads that do all that could be in the way of probes.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace lagwatch::trace {

// Threads that throw, jump, fork, are cancelled, load and unload libraries, recurse and switch stacks, and
// look at each result.
class FlowWorkers {
 public:
  // `library`: is loaded and unloaded; it has FirstPatchedFlow(). Null: none is.
  FlowWorkers(const char* library, int count);
  // Waits for the threads. To be called once, before the end.
  void Stop();
  uint64_t operations() const { return operations_; }
  uint64_t wrong() const { return wrong_; }

 private:
  void Work(int index);
  void Check(bool is_right);
  bool Load() const;

  const char* library_;
  std::atomic<bool> is_over_{false};
  std::atomic<uint64_t> operations_{0};
  std::atomic<uint64_t> wrong_{0};
  std::vector<std::thread> threads_;
};

// Counts the bytes of the code of all modules that are not their files'.
uint64_t DifferingCodeBytes();

}  // namespace lagwatch::trace

// SPDX-License-Identifier: Apache-2.0
// A thread that captures all other threads of the process in turn, as fast as it can.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/counter.h"
#include "stack/stack_capturer.h"

namespace lagwatch::soak {

// The results of captures, as opposed to the capturer's own counts.
struct CaptureTally {
  base::Counter captures;
  base::Counter complete;
  base::Counter cut;
  base::Counter incomplete;
  base::Counter none;
  base::Counter rootless;  // said to be complete, of a worker, yet without the function that workers run in
  base::Counter invalid;   // with a number that cannot be
};

class CaptureLoop {
 public:
  // `capturer` is borrowed. Of the threads `workers` it is known where their stacks begin.
  CaptureLoop(stack::StackCapturer* capturer, std::set<int> workers);
  ~CaptureLoop();

  const CaptureTally& tally() const { return tally_; }
  // No more captures once this returns.
  void Stop();

 private:
  void Run();
  // Looks at the modules and at which threads there are.
  void Refresh();
  void Count(int tid);
  bool IsValid() const;
  bool HasRoot() const;
  void PrintStack(int tid) const;

  stack::StackCapturer* capturer_;
  std::set<int> workers_;
  std::vector<int> targets_;
  std::unique_ptr<stack::Stack> stack_{new stack::Stack};
  CaptureTally tally_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace lagwatch::soak

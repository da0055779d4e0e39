// SPDX-License-Identifier: Apache-2.0
// Cancellation of threads (pthread_cancel(3)), where the system has it.
#pragma once

namespace lagwatch::base {

// Holds a cancellation of the calling thread back while it lives. The program's threads may be cancelled, but
// not in the middle of a call of ours. Context: any but signals.
class ScopedNoCancellation {
 public:
  ScopedNoCancellation();
  ~ScopedNoCancellation();
  ScopedNoCancellation(const ScopedNoCancellation&) = delete;
  ScopedNoCancellation& operator=(const ScopedNoCancellation&) = delete;

 private:
  // The type, too: a cancellation under way looks at that alone.
  [[maybe_unused]] int type_ = 0;
  [[maybe_unused]] int state_ = 0;
};

// A point where the calling thread may be cancelled. Context: hot.
void TestCancellation();

}  // namespace lagwatch::base

// SPDX-License-Identifier: Apache-2.0
// Times a program's loops by their waits: from one wait's return to the next wait's entry is one dispatch.
// The monitor starts at a process's first wait, so a program without a loop gets no thread and no file, and a
// child that goes on after fork() gets a monitor of its own once it waits.
#pragma once

namespace lagwatch::sdk {

// Around a wait on the calling thread. Waits inside of that, from signal handlers, are passed over.
// Context: hot after a thread's first waits.
class ScopedWait {
 public:
  // `name` is the wait's, a literal: it becomes the tag of the dispatch that follows.
  explicit ScopedWait(const char* name);
  ~ScopedWait();
  ScopedWait(const ScopedWait&) = delete;
  ScopedWait& operator=(const ScopedWait&) = delete;

 private:
  const char* name_;
  bool is_outermost_;
};

}  // namespace lagwatch::sdk

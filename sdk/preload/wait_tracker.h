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

// Starts the process's monitor before its first wait. Does nothing when it was started, in a child that
// shares this process's memory, and in a forked child of a process with threads or a loop. Context:
// background.
void StartMonitorEarly();

// Around an exec on the calling thread of the process itself: the dispatch ends, so that no capture signal is
// sent that the next program would get, and the run's record says that the run ended well. When exec fails,
// both go on. Does nothing in a child that shares this process's memory. Context: any, a vfork() child
// included.
class ScopedExec {
 public:
  // Does nothing for a program that is started as a child.
  explicit ScopedExec(bool is_child);
  ~ScopedExec();
  ScopedExec(const ScopedExec&) = delete;
  ScopedExec& operator=(const ScopedExec&) = delete;

 private:
  bool is_own_;
  bool has_dispatch_ = false;
};

}  // namespace lagwatch::sdk

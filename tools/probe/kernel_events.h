// SPDX-License-Identifier: Apache-2.0
// The kernel's own probes (uprobes) at places of one process's files: they need nothing of the process, but
// root. Each hit is a sample with the registers, which is read some milliseconds later. Context: background.
// Not thread-safe. x86-64.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace lagwatch::tools {

struct KernelHit {
  int64_t mono_ns = 0;
  uint32_t tid = 0;
  uint32_t place = 0;      // the number of Add() before this one's
  uint64_t int_args[6]{};  // rdi, rsi, rdx, rcx, r8, r9
  uint64_t results[2]{};   // rax, rdx
  uint64_t stack_pointer = 0;
  uint64_t stack_word = 0;  // at the stack pointer; 0 if the kernel could not read it
};

class KernelEvents {
 public:
  explicit KernelEvents(pid_t pid);
  ~KernelEvents();
  KernelEvents(const KernelEvents&) = delete;
  KernelEvents& operator=(const KernelEvents&) = delete;

  // One more place, by its offset in the file. Errors: kUnavailable, with the kernel's reason.
  base::Status Add(const std::string& file, uint64_t offset);
  // Begins at threads that have none yet. Threads are not followed by the kernel itself, because that would
  // check the rights of the program when it starts one. False if one could not be followed.
  bool FollowThreads();
  // The hits of all threads in their order, except those of the last moment.
  std::vector<KernelHit> Take();
  // Samples for which there was no room.
  uint64_t lost() const { return lost_; }

 private:
  struct Place;
  struct Ring;

  int Open(const Place& place, pid_t tid) const;
  bool Follow(pid_t tid);

  const pid_t pid_;
  uint32_t type_ = 0;
  std::vector<Place> places_;
  std::map<pid_t, std::unique_ptr<Ring>> rings_;  // null: the thread has ended meanwhile
  std::map<uint64_t, uint32_t> place_of_id_;
  std::vector<KernelHit> waiting_;
  uint64_t lost_ = 0;
};

}  // namespace lagwatch::tools

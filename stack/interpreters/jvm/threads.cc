// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/threads.h"

namespace lagwatch::stack::jvm {

uint64_t Threads::Find(int tid) {
  Hint& hint = hints_[static_cast<uint32_t>(tid) % hints_.size()];
  if (hint.tid == tid && hint.thread != 0 && TidOf(hint.thread) == tid) return hint.thread;
  uint64_t found = 0;
  ForEach([&](uint64_t thread) {
    if (thread != 0 && TidOf(thread) == tid) found = thread;
    return found != 0;
  });
  hint = {tid, found};
  return found;
}

int Threads::TidOf(uint64_t thread) {
  uint64_t os_thread = 0;
  int32_t tid = 0;
  return memory_->Read(thread + layout_->os_thread, &os_thread) &&
                 memory_->Read(os_thread + layout_->thread_id, &tid)
             ? tid
             : 0;
}

uint64_t Threads::ObjectOf(uint64_t thread) {
  const uint32_t member = layout_->virtual_object != kNone ? layout_->virtual_object : layout_->thread_object;
  uint64_t place = 0;
  uint64_t object = 0;
  return memory_->Read(thread + member, &place) && memory_->Read(place, &object) ? object : 0;
}

ThreadState Threads::StateOf(uint64_t thread) {
  ThreadState state = ThreadState::kUnknown;
  return memory_->Read(thread + layout_->state, &state) ? state : ThreadState::kUnknown;
}

}  // namespace lagwatch::stack::jvm

// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/mman.h>

#include <csignal>
#include <cstring>

#include "base/process/mapped_memory.h"
#include "base/system/thread.h"
#include "stack/signal/context.h"
#include "stack/thread_block_layout.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kStackBytes = 1 << 20;

struct Search {
  ThreadStackNote stack;
  ThreadBlockLayout layout;
};

// Runs in the thread whose block is searched: from the block's start to the end of the stack that it lies on.
void* SearchOwnBlock(void* argument) {
  auto* search = static_cast<Search*>(argument);
  uint64_t thread_pointer = ReadThreadPointer();
  auto block = static_cast<uint64_t>(pthread_self());
  uint64_t end = search->stack.address + search->stack.size_bytes;
  if (!search->stack.Holds(block) || !search->stack.Holds(thread_pointer)) return nullptr;
  int found = 0;
  for (uint64_t at = block; at + sizeof(ThreadStackNote) <= end; at += sizeof(uint64_t)) {
    ThreadStackNote note;
    std::memcpy(&note, reinterpret_cast<const void*>(at), sizeof note);
    if (note.address != search->stack.address || note.size_bytes != search->stack.size_bytes) continue;
    search->layout.stack_note_offset = static_cast<int64_t>(at - thread_pointer);
    ++found;
  }
  if (found != 1) search->layout = {};
  return nullptr;
}

}  // namespace

ThreadBlockLayout FindThreadBlockLayout() {
  const size_t stack_bytes = kStackBytes + base::ThreadLocalBytes();
  void* stack = base::MapUnlocked(stack_bytes);
  if (stack == nullptr) return {};
  Search search{{reinterpret_cast<uint64_t>(stack), stack_bytes}, {}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, stack_bytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // the new thread is to take none of the application's signals
  pthread_t thread;
  bool is_started = pthread_create(&thread, &attributes, SearchOwnBlock, &search) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (is_started) pthread_join(thread, nullptr);
  munmap(stack, stack_bytes);
  return search.layout;
}

}  // namespace lagwatch::stack

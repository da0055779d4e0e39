// SPDX-License-Identifier: Apache-2.0
// Waits of threads of Ruby 3.1. Its run time sleeps for all of them in a condition of its own, or polls an
// eventfd of its own; the waiting thread keeps on its native stack what it waits for, in a list of all that
// wait for the same. Source: thread_sync.c, process.c and vm_core.h of Ruby, on 64-bit systems.
#pragma once

#include <cstdint>
#include <string_view>

#include "stack/interpreters/memory.h"
#include "stack/interpreters/native_words.h"
#include "stack/script_stacks.h"

namespace lagwatch::stack::ruby {

// Context: watchdog; not thread-safe.
class Waits {
 public:
  enum class Kind : uint8_t {
    kNone,    // none that is known
    kMutex,   // a Mutex, or a Monitor
    kObject,  // another one that threads wait at: a queue, a condition
    kThread,  // the end of one
    kChild,
  };
  struct Wait {
    Kind kind = Kind::kNone;
    uint64_t object = 0;
    int32_t owner_tid = 0;  // of a mutex, or the thread itself; 0: not known
    int32_t child_pid = 0;  // 0: any child
  };

  // `memory` is borrowed.
  void Attach(Memory* memory) { memory_ = memory; }

  // The wait of thread `tid`, which sleeps at `stack_pointer` and has that execution context; kNone if it has
  // another one.
  Wait Find(int tid, uint64_t context, uint64_t stack_pointer);
  // Whether thread `tid`, which has that execution context, sleeps in a function of Ruby's own: not in a call
  // of a method in C, such as one that reads, and not until it may run again beside other threads.
  bool IsAsleep(int tid, uint64_t context);

 private:
  struct Context;
  bool ReadContext(uint64_t address, Context* context);
  int TidOf(uint64_t thread);
  bool IsLinked(uint64_t node);
  bool IsInList(uint64_t head, uint64_t node);
  Wait FindAt(const Context& context, const NativeWords& words, size_t index);
  Wait FindThread(const Context& context);
  // The data of an object whose type has that name; 0 if it is another object.
  uint64_t DataOf(uint64_t address, std::string_view type);

  Memory* memory_ = nullptr;
};

}  // namespace lagwatch::stack::ruby

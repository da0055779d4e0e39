// SPDX-License-Identifier: Apache-2.0
// The waits of a JVM's threads, and the threads that they wait for: monitors, locks of java.util.concurrent,
// safepoints, the initialization of classes, compilations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "policies/hang.h"
#include "stack/interpreters/jvm/layout.h"
#include "stack/interpreters/jvm/methods.h"
#include "stack/interpreters/jvm/objects.h"
#include "stack/interpreters/jvm/threads.h"
#include "stack/interpreters/memory.h"
#include "stack/script_stacks.h"

namespace lagwatch::stack::jvm {

// Context: watchdog; not thread-safe.
class Waits {
 public:
  // All are borrowed.
  void Attach(Memory* memory, const JvmLayout* layout, Threads* threads, Methods* methods);

  struct Wait {
    policies::LockKind kind = policies::LockKind::kUnknown;  // kMutex for a monitor
    bool is_parked = false;                                  // for a lock of java.util.concurrent
    uint64_t address = 0;
    int owner_tid = 0;  // 0: not known, or none
  };
  // The wait of thread `tid`, which sleeps in `futex`:
  // - kSafepoint: at the barrier at which the JVM stops threads, or until an operation is over that needs a
  //   safepoint. The owner is a thread that has not come to it.
  // - kCompilation: until a method is compiled. The owner compiles.
  // - kClass: until a class is initialized. The owner does it.
  // - kMutex: to enter a monitor, or for a lock that it is parked for.
  Wait Find(int tid, const FutexWait& futex);
  // Whether a garbage collection has stopped the threads that run Java code.
  bool IsCollecting();
  // Reads the cause of the last garbage collection; leaves `text` as it is where the JVM keeps no counters.
  void ReadGcCause(char* text, size_t size_bytes);

 private:
  Wait FindMonitor(uint64_t thread);
  Wait FindParkedLock(uint64_t thread);
  Wait FindClass(uint64_t thread, const FutexWait& futex);
  bool IsOwner(uint64_t thread, uint64_t monitor, uint64_t owner);
  bool HasInLockStack(uint64_t thread, uint64_t object);
  uint64_t ObjectOf(uint64_t monitor);
  // A thread that runs Java code or the JVM's; 0 without one.
  int FindRunning(int except_tid);
  int FindCompiler();
  // Whether the class is being initialized by another thread, which is `owner_tid` then.
  bool IsBeingInitialized(uint64_t klass, int tid, int* owner_tid);
  // The name of the JVM's own lock whose condition is waited for; empty for another futex.
  void ReadLockName(const FutexWait& futex, char* name, size_t size_bytes);

  Memory* memory_ = nullptr;
  const JvmLayout* layout_ = nullptr;
  Threads* threads_ = nullptr;
  Methods* methods_ = nullptr;
  Objects objects_;
};

}  // namespace lagwatch::stack::jvm

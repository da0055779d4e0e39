// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/waits.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

namespace lagwatch::stack::jvm {
namespace {

using policies::LockKind;

constexpr uint64_t kFutexWait = 0;  // FUTEX_WAIT
constexpr uint64_t kFutexPrivate = 128;

// The barrier of a safepoint is a futex of the JVM's own, whose value is the safepoint's odd number:
// os/linux/waitBarrier_linux.cpp. The C library's conditions wait by another operation.
bool IsBarrier(const FutexWait& futex) {
  return futex.address != 0 && futex.operation == (kFutexWait | kFutexPrivate) && futex.timeout == 0 &&
         futex.value % 2 == 1;
}

}  // namespace

void Waits::Attach(Memory* memory, const JvmLayout* layout, Threads* threads, Methods* methods) {
  memory_ = memory;
  layout_ = layout;
  threads_ = threads;
  methods_ = methods;
  objects_.Attach(memory, layout);
}

Waits::Wait Waits::Find(int tid, const FutexWait& futex) {
  const uint64_t thread = threads_->Find(tid);
  if (thread == 0) return {};
  if (threads_->StateOf(thread) == ThreadState::kBlocked) {
    if (IsBarrier(futex))
      return {.kind = LockKind::kSafepoint, .address = futex.address, .owner_tid = FindRunning(tid)};
    char name[24];
    ReadLockName(futex, name, sizeof name);
    const std::string_view text(name);
    if (text == "VMOperation_lock")
      return {.kind = LockKind::kSafepoint, .address = futex.address, .owner_tid = FindRunning(tid)};
    if (text == "CompileTaskLock" || text == "CompileTaskWait_lock")
      return {.kind = LockKind::kCompilation, .address = futex.address, .owner_tid = FindCompiler()};
    if (const Wait wait = FindClass(thread, futex); wait.owner_tid != 0) return wait;
  }
  if (const Wait wait = FindMonitor(thread); wait.owner_tid != 0) return wait;
  return FindParkedLock(thread);
}

Waits::Wait Waits::FindMonitor(uint64_t thread) {
  uint64_t monitor = 0;
  uint64_t owner = 0;
  if (!memory_->Read(thread + layout_->pending_monitor, &monitor) || monitor == 0 ||
      !memory_->Read(monitor + layout_->monitor_owner, &owner) || owner == 0)
    return {};
  Wait wait{.kind = LockKind::kMutex, .address = monitor};
  threads_->ForEach([&](uint64_t other) {
    if (!IsOwner(other, monitor, owner)) return false;
    wait.owner_tid = threads_->TidOf(other);
    return true;
  });
  return wait;
}

Waits::Wait Waits::FindParkedLock(uint64_t thread) {
  const uint64_t lock =
      objects_.ReadReference(threads_->ObjectOf(thread), {"java/lang/Thread", "parkBlocker"});
  if (lock == 0) return {};
  const uint64_t owner = objects_.ReadReference(
      lock, {"java/util/concurrent/locks/AbstractOwnableSynchronizer", "exclusiveOwnerThread"});
  if (owner == 0) return {};
  Wait wait{.kind = LockKind::kMutex, .is_parked = true, .address = lock};
  threads_->ForEach([&](uint64_t other) {
    if (threads_->ObjectOf(other) != owner) return false;
    wait.owner_tid = threads_->TidOf(other);
    return true;
  });
  return wait;
}

// The function that waits for another thread's initialization keeps the class in its frame.
Waits::Wait Waits::FindClass(uint64_t thread, const FutexWait& futex) {
  constexpr uint64_t kMostBytes = 16 << 10;
  uint64_t java_sp = 0;
  uint64_t monitor = 0;
  if (futex.stack_pointer == 0 || layout_->being_initialized == kNone ||
      !memory_->Read(thread + layout_->anchor + layout_->last_sp, &java_sp) ||
      !memory_->Read(thread + layout_->waiting_monitor, &monitor))
    return {};
  // Object.wait() of the program has an object of a class; that of a class's initialization is an array, and
  // since JDK 21 no monitor at all.
  if (monitor != 0 && objects_.IsObject(ObjectOf(monitor))) return {};
  uint64_t address = (futex.stack_pointer + 7) & ~uint64_t{7};
  if (java_sp <= address || java_sp - address > kMostBytes) return {};
  const int tid = threads_->TidOf(thread);
  std::array<uint64_t, 128> words;
  while (address < java_sp) {
    const size_t count = std::min<uint64_t>((java_sp - address) / sizeof words[0], words.size());
    if (count == 0 || !memory_->Read(address, words.data(), count * sizeof words[0])) return {};
    for (const uint64_t word : std::span(words).first(count)) {
      int owner_tid = 0;
      if (IsBeingInitialized(word, tid, &owner_tid))
        return {.kind = LockKind::kClass, .address = word, .owner_tid = owner_tid};
    }
    address += count * sizeof words[0];
  }
  return {};
}

bool Waits::IsBeingInitialized(uint64_t klass, int tid, int* owner_tid) {
  constexpr uint64_t kLowest = 1 << 16;
  uint8_t state = 0;
  uint64_t owner = 0;
  if (klass < kLowest || klass % 8 != 0 || !memory_->Read(klass + layout_->class_state, &state) ||
      state != layout_->being_initialized || !objects_.IsClass(klass) ||
      !memory_->Read(klass + layout_->class_thread, &owner) || owner == 0)
    return false;
  const int found = threads_->TidOf(owner);
  if (found == 0 || found == tid || threads_->Find(found) != owner) return false;
  *owner_tid = found;
  return true;
}

int Waits::FindRunning(int except_tid) {
  uint64_t running = 0;
  threads_->ForEach([&](uint64_t thread) {
    const ThreadState state = threads_->StateOf(thread);
    if (state == ThreadState::kInJava) running = thread;
    if (state == ThreadState::kInVm && running == 0 && threads_->TidOf(thread) != except_tid)
      running = thread;
    return state == ThreadState::kInJava;
  });
  return running == 0 ? 0 : threads_->TidOf(running);
}

// A compiler's thread leads from its environment to the method; what follows another thread's object does
// not.
int Waits::FindCompiler() {
  uint64_t compiler = 0;
  threads_->ForEach([&](uint64_t thread) {
    uint64_t environment = 0;
    uint64_t task = 0;
    uint64_t method = 0;
    const bool compiles =
        memory_->Read(thread + layout_->compiler_environment, &environment) && environment != 0 &&
        environment % 8 == 0 && memory_->Read(environment + layout_->environment_task, &task) && task != 0 &&
        task % 8 == 0 && memory_->Read(task + layout_->task_method, &method) && methods_->IsMethod(method);
    if (compiles) compiler = thread;
    return compiles;
  });
  return compiler == 0 ? 0 : threads_->TidOf(compiler);
}

// A lock of the JVM's: its owner, a mutex, a condition, and a pointer to its name. share/runtime/mutex.hpp
void Waits::ReadLockName(const FutexWait& futex, char* name, size_t size_bytes) {
  constexpr uint64_t kNearEnd = 16;  // of the word that is waited for to the condition's end, at most
  name[0] = '\0';
  if (futex.address == 0 || futex.operation == (kFutexWait | kFutexPrivate)) return;
  for (uint64_t after = 8; after <= kNearEnd; after += 8) {
    uint64_t text = 0;
    if (memory_->Read((futex.address & ~uint64_t{7}) + after, &text) && text != 0 &&
        ReadText(memory_, text, name, size_bytes) &&
        std::string_view(name).find("ock") != std::string_view::npos)
      return;
    name[0] = '\0';
  }
}

uint64_t Waits::ObjectOf(uint64_t monitor) {
  uint64_t place = 0;
  uint64_t object = 0;
  return memory_->Read(monitor + layout_->monitor_object, &place) && memory_->Read(place, &object) ? object
                                                                                                   : 0;
}

bool Waits::IsOwner(uint64_t thread, uint64_t monitor, uint64_t owner) {
  constexpr uint64_t kAnonymous = 1;  // a thread that locked the object while no other waited for it
  if (thread == owner) return true;
  if (owner == kAnonymous) {
    return HasInLockStack(thread, ObjectOf(monitor));
  }
  if (layout_->monitor_owner_id != kNone) {
    uint64_t id = 0;
    return memory_->Read(thread + layout_->monitor_owner_id, &id) && id == owner;
  }
  // A monitor that was entered before it was waited for has the address of a lock in its owner's stack.
  uint64_t base = 0;
  uint64_t size = 0;
  return memory_->Read(thread + layout_->stack_base, &base) &&
         memory_->Read(thread + layout_->stack_size, &size) && owner < base && base - owner <= size;
}

bool Waits::HasInLockStack(uint64_t thread, uint64_t object) {
  std::array<uint64_t, 8> objects{};
  uint32_t top = 0;
  if (layout_->lock_stack == kNone || layout_->lock_stack_top == kNone || layout_->lock_stack_base == kNone ||
      object == 0 || !memory_->Read(thread + layout_->lock_stack + layout_->lock_stack_top, &top))
    return false;
  const uint32_t begin = layout_->lock_stack + layout_->lock_stack_base;
  if (top <= begin || top > begin + sizeof objects ||
      !memory_->Read(thread + begin, objects.data(), top - begin))
    return false;
  return std::ranges::find(objects, object) != objects.end();
}

bool Waits::IsCollecting() {
  uint64_t heap = 0;
  uint8_t is_active = 0;
  return memory_->Read(layout_->heap, &heap) && heap != 0 &&
         memory_->Read(heap + layout_->is_collecting, &is_active) && is_active == 1;
}

// The JVM's counters lie one after the other: src/hotspot/share/runtime/perfMemory.hpp.
void Waits::ReadGcCause(char* text, size_t size_bytes) {
  struct Prologue {
    uint32_t magic, versions, used_bytes, overflow;
    int64_t modified;
    uint32_t first_entry, entry_count;
  };
  struct CounterEntry {
    uint32_t bytes, name, vector_length;
    uint8_t type, flags, units, variability;
    uint32_t data;
  };
  constexpr uint32_t kMostEntries = 2048;
  constexpr char kName[] = "sun.gc.cause";
  uint64_t start = 0;
  Prologue prologue{};
  if (layout_->counters == 0 || !memory_->Read(layout_->counters, &start) || start == 0 ||
      !memory_->Read(start, &prologue))
    return;
  uint64_t at = start + prologue.first_entry;
  for (uint32_t i = 0; i < std::min(prologue.entry_count, kMostEntries); ++i) {
    CounterEntry entry{};
    char name[sizeof kName] = {};
    if (!memory_->Read(at, &entry) || entry.bytes == 0) return;
    if (memory_->Read(at + entry.name, &name) && std::memcmp(name, kName, sizeof kName) == 0) {
      ReadText(memory_, at + entry.data, text, std::min<size_t>(size_bytes, entry.vector_length));
      return;
    }
    at += entry.bytes;
  }
}

}  // namespace lagwatch::stack::jvm

// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/ruby/waits.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "stack/interpreters/ruby/class_names.h"
#include "stack/interpreters/ruby/reader.h"

namespace lagwatch::stack::ruby {
namespace {

// In a thread.
constexpr uint64_t kPthread = 80;
constexpr uint64_t kQueueForLock = 104;  // a node in the list of those that wait for the global lock
constexpr uint64_t kBlockingRegion = 168;

// The first members of a control frame.
struct ControlFrame {
  uint64_t instruction;
  uint64_t stack_pointer;
  uint64_t sequence;
  uint64_t self;
  uint64_t environment;  // its flags have the kind of the frame
};
constexpr uint64_t kFrameKindMask = 0x7fff0001;
constexpr uint64_t kFrameOfC = 0x55550001;

// An object with data in C.
struct DataObject {
  uint64_t flags;
  uint64_t owner_class;
  uint64_t type;  // begins with the address of its name
  uint64_t is_typed;
  uint64_t data;
};
constexpr uint64_t kData = 0xc;

// Those of a Mutex.
struct MutexData {
  uint64_t fiber;  // that has it; 0: none
  uint64_t next;
};

struct ListNode {
  uint64_t next;
  uint64_t previous;
};

// On the stack of a thread that waits: of an object, and of a child.
struct ObjectWaiter {
  uint64_t object;
  uint64_t thread;
  uint64_t fiber;
  ListNode node;
};
struct ChildWaiter {
  ListNode node;
  uint64_t context;
  uint64_t condition;
  int32_t ended_pid;  // 0: none yet
  int32_t pid;        // that is waited for; -1: any
};

}  // namespace

// An execution context, which is a part of its fiber.
struct Waits::Context {
  uint64_t address;
  uint64_t fiber;
  uint64_t thread;
};

bool Waits::ReadContext(uint64_t address, Context* context) {
  constexpr uint64_t kFiber = 40;  // the thread follows
  std::array<uint64_t, 2> members{};
  if (address == 0 || !memory_->Read(address + kFiber, &members)) return false;
  *context = {.address = address, .fiber = members[0], .thread = members[1]};
  return context->fiber != 0 && context->thread != 0;
}

int Waits::TidOf(uint64_t thread) {
  uint64_t pthread = 0;
  int32_t tid = 0;
  const bool is_read = memory_->Read(thread + kPthread, &pthread) && pthread != 0 &&
                       memory_->Read(pthread + kGlibcTidOffset, &tid);
  return is_read ? tid : 0;
}

bool Waits::IsLinked(uint64_t node) {
  ListNode links{};
  ListNode next{};
  return memory_->Read(node, &links) && memory_->Read(links.next, &next) && next.previous == node;
}

bool Waits::IsInList(uint64_t head, uint64_t node) {
  constexpr int kMostWaiters = 256;
  uint64_t at = head;
  for (int i = 0; i < kMostWaiters && memory_->Read(at, &at) && at != head; ++i)
    if (at == node) return true;
  return false;
}

bool Waits::IsAsleep(int tid, uint64_t context) {
  Context own{};
  uint64_t next_in_queue = 0;
  uint64_t blocking_region = 0;
  return ReadContext(context, &own) && TidOf(own.thread) == tid &&
         memory_->Read(own.thread + kQueueForLock, &next_in_queue) &&
         next_in_queue == own.thread + kQueueForLock &&
         memory_->Read(own.thread + kBlockingRegion, &blocking_region) && blocking_region == 0;
}

Waits::Wait Waits::Find(int tid, uint64_t context, uint64_t stack_pointer) {
  Context own{};
  if (!ReadContext(context, &own) || TidOf(own.thread) != tid) return {};
  const NativeWords words(memory_, stack_pointer);
  for (size_t i = 0; i < words.all().size(); ++i) {
    if (const Wait wait = FindAt(own, words, i); wait.kind != Kind::kNone) return wait;
  }
  return IsAsleep(tid, context) ? FindThread(own) : Wait{};
}

// A thread's methods in C wait for nothing but its end.
Waits::Wait Waits::FindThread(const Context& own) {
  uint64_t address = 0;
  ControlFrame frame{};
  uint64_t flags = 0;
  if (!memory_->Read(own.address + kFrame, &address) || !memory_->Read(address, &frame) ||
      !memory_->Read(frame.environment, &flags) || (flags & kFrameKindMask) != kFrameOfC)
    return {};
  const uint64_t thread = DataOf(frame.self, "VM/thread");
  const int tid = thread == 0 || thread == own.thread ? 0 : TidOf(thread);
  if (tid == 0) return {};
  return {.kind = Kind::kThread, .object = frame.self, .owner_tid = tid};
}

uint64_t Waits::DataOf(uint64_t address, std::string_view type) {
  DataObject object{};
  uint64_t name = 0;
  std::array<char, 16> text{};
  const bool is_of_type = memory_->Read(address, &object) && (object.flags & kTypeMask) == kData &&
                          object.is_typed == 1 && memory_->Read(object.type, &name) &&
                          memory_->Read(name, text.data(), type.size() + 1) && text.data() == type;
  return is_of_type ? object.data : 0;
}

// The begin of a waiter is at that word, if there is one. One that is over is in no list any more.
Waits::Wait Waits::FindAt(const Context& own, const NativeWords& words, size_t index) {
  if (ChildWaiter child{}; words.ReadAt(index, &child) && child.context == own.address &&
                           child.ended_pid == 0 && (child.pid > 0 || child.pid == -1) &&
                           IsLinked(words.AddressOf(index)))
    return {.kind = Kind::kChild, .child_pid = std::max(child.pid, 0)};
  ObjectWaiter waiter{};
  if (!words.ReadAt(index, &waiter) || waiter.thread != own.thread || waiter.fiber != own.fiber) return {};
  const uint64_t node = words.AddressOf(index) + offsetof(ObjectWaiter, node);
  DataObject object{};
  if (!memory_->Read(waiter.object, &object) || (object.flags & kTypeMask) != kData || !IsLinked(node))
    return {};
  Wait wait{.kind = Kind::kObject, .object = waiter.object};
  // One that sleeps for a condition has the mutex as its object, too, but is in the condition's list.
  const uint64_t data = DataOf(waiter.object, "mutex");
  MutexData mutex{};
  if (data == 0 || !memory_->Read(data, &mutex) || !IsInList(data + sizeof mutex, node)) return wait;
  wait.kind = Kind::kMutex;
  Context owner{};
  if (mutex.fiber != 0 && ReadContext(mutex.fiber + (own.address - own.fiber), &owner) &&
      owner.fiber == mutex.fiber)
    wait.owner_tid = TidOf(owner.thread);
  return wait;
}

}  // namespace lagwatch::stack::ruby

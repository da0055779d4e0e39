// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>

#include "watchdog/waits/candidates/object_use.h"

namespace lagwatch::watchdog {
namespace {

constexpr uint64_t kLowestPointer = 0x10000;
constexpr uint64_t kHighestPointer = uint64_t{1} << 48;

bool IsPointer(uint64_t value) {
  return value >= kLowestPointer && value < kHighestPointer && value % sizeof(uint64_t) == 0;
}

template <typename T>
T Load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

#if defined(__x86_64__)
// Of an instruction that addresses memory relative to its end, or absolutely in the lowest 4 GiB.
class CodeScan {
 public:
  CodeScan(const AwaitedObject& object, const base::Process& process) : object_(object), process_(process) {}

  // Whether the code in [begin, end) refers to the object, or to a variable that has its address or its
  // descriptor in it.
  bool RefersIn(uint64_t begin, uint64_t end) const {
    unsigned char code[kMostBytes];
    return RefersIn(begin, Read(begin, end, code));
  }

  // Whether a function does that which the code in [begin, end) calls by its address, as it calls what the
  // compiler did not inline. `is_code(address)` is true of the module's code.
  template <typename IsCode>
  bool RefersInCallees(uint64_t begin, uint64_t end, IsCode is_code) const {
    constexpr unsigned char kCall = 0xe8;
    constexpr unsigned char kJump = 0xe9;  // a call that is the last thing that a function does
    constexpr unsigned char kReturn = 0xc3;
    constexpr size_t kMostOfCallee = 256;
    unsigned char room[kMostBytes];
    const std::span<const unsigned char> code = Read(begin, end, room);
    for (size_t at = 0; at + 1 + sizeof(int32_t) <= code.size(); ++at) {
      if (code[at] != kCall && code[at] != kJump) continue;
      const uint64_t target = Target(begin + at + 1, Load<int32_t>(&code[at + 1]));
      if ((target >= begin && target < end) || !is_code(target)) continue;
      unsigned char callee_room[kMostOfCallee];
      std::span<const unsigned char> callee = Read(target, target + kMostOfCallee, callee_room);
      // Its end; a byte of an operand's may look so, and then less of it is seen.
      callee = callee.first(static_cast<size_t>(std::ranges::find(callee, kReturn) - callee.begin()));
      if (RefersIn(target, callee)) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kMostBytes = 4096;

  std::span<const unsigned char> Read(uint64_t begin, uint64_t end, std::span<unsigned char> room) const {
    return room.first(process_.Read(begin, room.data(), std::min<uint64_t>(end - begin, room.size())));
  }
  // `place` is that of the displacement.
  static uint64_t Target(uint64_t place, int32_t displacement) {
    return place + sizeof displacement + static_cast<uint64_t>(int64_t{displacement});
  }
  bool RefersIn(uint64_t begin, std::span<const unsigned char> code) const {
    for (size_t at = 0; at + sizeof(int32_t) <= code.size(); ++at) {
      const auto number = Load<int32_t>(&code[at]);
      const uint64_t target = Target(begin + at, number);
      if (IsTarget(target) || object_.Holds(static_cast<uint32_t>(number))) return true;
      if (at >= 3 && IsLoad(&code[at]) && IsInVariable(target, code[at - 3])) return true;
    }
    return false;
  }
  // An immediate operand of one or of four bytes may follow.
  bool IsTarget(uint64_t target) const {
    return object_.Holds(target) || object_.Holds(target + 1) || object_.Holds(target + sizeof(int32_t));
  }
  // mov variable(%rip), …; `at` is where the displacement is.
  static bool IsLoad(const unsigned char* at) {
    constexpr unsigned char kMove = 0x8b;
    constexpr unsigned char kRelative = 0x05;
    constexpr unsigned char kWithoutRegister = 0xc7;
    return at[-2] == kMove && (at[-1] & kWithoutRegister) == kRelative;
  }
  bool IsInVariable(uint64_t address, unsigned char prefix) const {
    const bool is_wide = (prefix & 0xf8) == 0x48;
    uint64_t word = 0;
    if (is_wide && object_.futex != 0)
      return process_.ReadValue(address, &word) && object_.IsBehind(word, AwaitedObject::kMostBytes);
    uint32_t number = 0;
    return object_.end_count != 0 && process_.ReadValue(address, &number) && object_.HasEnd(number);
  }

  const AwaitedObject& object_;
  const base::Process& process_;
};
#else
class CodeScan {
 public:
  CodeScan(const AwaitedObject&, const base::Process&) {}
  bool RefersIn(uint64_t, uint64_t) const { return false; }
  template <typename IsCode>
  bool RefersInCallees(uint64_t, uint64_t, IsCode) const {
    return false;
  }
};
#endif

#if defined(__x86_64__) && !defined(__ANDROID__)
// The argument that the thread was started with: of std::thread, a closure. glibc keeps it in the thread's
// block, behind the function, and the kernel knows a place in that block.
uint64_t StartArgument(const base::Thread& thread, const stack::ModuleMap& modules) {
  constexpr uint64_t kRobustListInBlock = 736;
  constexpr uint64_t kOwnAddressInBlock = 16;
  constexpr uint64_t kFunctionNear = 0x600;
  uint64_t robust_list = 0;
  size_t size = 0;
  if (syscall(SYS_get_robust_list, thread.tid, &robust_list, &size) != 0 || robust_list == 0) return 0;
  const uint64_t block = robust_list - kRobustListInBlock;
  uint64_t own_address = 0;
  uint64_t words[17];
  if (!thread.process.ReadValue(block + kOwnAddressInBlock, &own_address) || own_address != block ||
      !thread.process.ReadValue(block + kFunctionNear, &words))
    return 0;
  const auto function =
      std::find_if(words, std::end(words) - 1, [&](uint64_t word) { return modules.IsCode(word); });
  return function == std::end(words) - 1 ? 0 : function[1];
}
#else
uint64_t StartArgument(const base::Thread&, const stack::ModuleMap&) { return 0; }
#endif

// Memory there may be left from calls that are over.
bool IsOnOwnStack(const stack::LiveValues& live, uint64_t value) {
  constexpr uint64_t kMostBytes = 1 << 20;
  const uint64_t stack_pointer = live.frames().empty() ? 0 : live.frames()[0].stack_pointer;
  return value >= stack_pointer && value - stack_pointer < kMostBytes;
}

}  // namespace

size_t CountOnStack(const base::Process& process, const stack::BlockedThread& blocked, uint64_t value) {
  constexpr size_t kMostBytes = 64 << 10;
  std::array<uint64_t, 512> words;
  size_t count = 0;
  for (size_t at = 0; at < kMostBytes; at += sizeof words) {
    const size_t size = process.Read(blocked.stack_pointer + at, words.data(), sizeof words);
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(size / sizeof value);
    count += static_cast<size_t>(std::count(words.begin(), end, value));
    if (size < sizeof words) break;
  }
  return count;
}

bool IsOfSystem(const stack::Module& module) {
  const std::string_view path = module.path_view();
  return path.starts_with("/usr/lib") || path.starts_with("/lib") || path.starts_with("[");
}

ObjectUse ObjectUses::InCode(const stack::LiveValues::Frame& frame, const stack::ModuleMap& modules) {
  Function& function = functions_[(frame.begin >> 4) % functions_.size()];
  if (function.begin == frame.begin) return function.use;
  function = {frame.begin, ObjectUse::kNone};
  const uint32_t module = modules.FindCode(frame.begin);
  if (module == stack::kNoModule || IsOfSystem(modules.module(module))) return ObjectUse::kNone;
  const CodeScan scan(object_, modules.process());
  const auto is_code = [&](uint64_t address) { return modules.FindCode(address) == module; };
  if (scan.RefersIn(frame.begin, frame.end)) {
    function.use = ObjectUse::kCode;
  } else if (scan.RefersInCallees(frame.begin, frame.end, is_code)) {
    function.use = ObjectUse::kCalledCode;
  }
  return function.use;
}

uint64_t ObjectUses::DistanceFrom(uint64_t address, uint64_t most_bytes) const {
  return object_.IsBehind(address, most_bytes) ? object_.futex - address : UINT64_MAX;
}

// glibc's malloc has the size before a block's begin, with flags in the lowest bits. 0 where none is.
uint64_t ObjectUses::BlockSizeAt(const base::Process& process, uint64_t address) {
  constexpr uint64_t kFlags = 7;
  constexpr uint64_t kSmallest = 32;
  constexpr uint64_t kAlignment = 16;
  uint64_t size = 0;
  if (address % kAlignment != 0 || !process.ReadValue(address - sizeof size, &size)) return 0;
  size &= ~kFlags;
  const bool is_size = size >= kSmallest && size % kAlignment == 0 && size < 2 * kMostAtOnce;
  return is_size ? size - sizeof size : 0;
}

size_t ObjectUses::SizeAt(const base::Process& process, uint64_t address,
                          const stack::ModuleMap& modules) const {
  // On a stack, what follows is another variable.
  constexpr uint64_t kStackBytes = 1 << 20;
  const bool is_on_stack = modules.stacks().IsOnMainStack(address) ||
                           address - object_.stack_pointer + kStackBytes < 2 * kStackBytes;
  if (is_on_stack) return sizeof(uint64_t);
  const uint64_t block_size = BlockSizeAt(process, address);
  return block_size == 0 ? kMostAtOnce : std::min<size_t>(block_size, kMostAtOnce);
}

uint64_t ObjectUses::DistanceBehind(uint64_t address, uint64_t most_bytes, int steps,
                                    const stack::ModuleMap& modules) const {
  const base::Process& process = modules.process();
  uint64_t words[16];
  const size_t size = process.Read(address, words, SizeAt(process, address, modules));
  uint64_t nearest = UINT64_MAX;
  for (const uint64_t word : std::span(words).first(size / sizeof words[0])) {
    nearest = std::min(nearest, DistanceFrom(word, most_bytes));
    if (steps == 0 || !IsPointer(word) || modules.IsCode(word)) continue;
    nearest = std::min(nearest, DistanceBehind(word, object_.before_bytes, steps - 1, modules));
  }
  return nearest;
}

bool ObjectUses::HasEndIn(uint64_t address, const stack::ModuleMap& modules) const {
  const base::Process& process = modules.process();
  uint32_t numbers[32];
  const size_t size = process.Read(address, numbers, SizeAt(process, address, modules));
  return object_.end_count != 0 && std::any_of(numbers, numbers + size / sizeof numbers[0],
                                               [&](uint32_t one) { return object_.HasEnd(one); });
}

ObjectUses::Found ObjectUses::Of(const base::Thread& thread, const stack::LiveValues& live,
                                 const stack::ModuleMap& modules) {
  uint64_t nearest = UINT64_MAX;
  for (const uint64_t value : live.values()) {
    const uint64_t distance = DistanceFrom(value, AwaitedObject::kCloseBytes);
    const uint64_t block_size = distance == UINT64_MAX ? 0 : BlockSizeAt(thread.process, value);
    if (block_size == 0 || distance < block_size) nearest = std::min(nearest, distance);
  }
  if (nearest != UINT64_MAX) return {ObjectUse::kValue, nearest};
  ObjectUse by_code = ObjectUse::kNone;
  for (const stack::LiveValues::Frame& frame : live.frames())
    if (frame.begin != frame.end) by_code = std::max(by_code, InCode(frame, modules));
  if (by_code != ObjectUse::kNone) return {.use = by_code};
  const uint64_t argument = StartArgument(thread, modules);
  const bool has_argument = IsPointer(argument);
  if (std::ranges::any_of(live.values(), [&](uint64_t value) { return object_.HasEnd(value); }) ||
      object_.HasEnd(argument) || (has_argument && HasEndIn(argument, modules)))
    return {.use = ObjectUse::kDescriptor};
  if (object_.futex == 0) return {};
  for (const uint64_t value : live.values()) {
    nearest = std::min(nearest, DistanceFrom(value, AwaitedObject::kMostBytes));
    if (IsPointer(value) && !IsOnOwnStack(live, value))
      nearest = std::min(nearest, DistanceBehind(value, AwaitedObject::kCloseBytes, /*steps=*/1, modules));
  }
  nearest = std::min(nearest, DistanceFrom(argument, AwaitedObject::kMostBytes));
  if (has_argument)
    nearest = std::min(nearest, DistanceBehind(argument, AwaitedObject::kCloseBytes, /*steps=*/2, modules));
  return nearest == UINT64_MAX ? Found{} : Found{ObjectUse::kNear, nearest};
}

}  // namespace lagwatch::watchdog

// SPDX-License-Identifier: Apache-2.0
// Suspended fibers of a native program, which the adapter lagwatch/adapters/fiber_x86_64.h keeps in a table:
// each is a thread of the process's own, with the stack from which it goes on.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>

#include "stack/frames/raw_stack.h"
#include "stack/interpreters/found_interpreter.h"

namespace lagwatch::stack {
namespace fibers {
namespace {

constexpr size_t kMostFibers = 1024;
constexpr size_t kMostTries = 64;  // of the adapter: slots from that of a fiber's number on
constexpr size_t kMostListed = 64;
constexpr uint64_t kVersion = 1;

// Numbers of fibers are above those of goroutines, which a process may have, too.
constexpr uint64_t kFirstFiber = 1 << 29;
constexpr int32_t ThreadOf(uint64_t number) { return ScriptThreadOf(kFirstFiber | (number % kFirstFiber)); }

// As the adapter's lw_fiber_table.
struct Table {
  uint64_t version;
  uint64_t join;  // the function that is the outermost one of each fiber's stack
  uint64_t last_number;
  std::array<uint64_t, kMostFibers> fibers;
};

// As the adapter's lw_fiber. The registers are rip, rsp, rbp, rbx, r12 to r15.
struct Fiber {
  std::array<uint64_t, 8> resumer;
  std::array<uint64_t, 8> own;  // the first one is 0 while the fiber runs
  uint64_t number;
  uint64_t top;  // of its stack, where its first function is

  bool operator==(const Fiber&) const = default;
  bool is_suspended() const { return number != 0 && own[0] != 0; }
};

struct Listed {
  int32_t tid;
  uint64_t address;
};

struct FoundFibers {
  uint64_t table_address;
  size_t listed_count;
  std::array<Listed, kMostListed> listed;  // by the last ListThreads()
  Table table;
  RawStack raw;  // only the used part takes memory
};

class Fibers final : public FoundInterpreter<FoundFibers> {
 public:
  using FoundInterpreter::FoundInterpreter;

  void LookAt(const LoadedModule& loaded, CodeMap*) override {
    // The adapter is for processors whose calls push the return address.
    if constexpr (Registers::kReturnAddress != Registers::kProgramCounter) return;
    const uint64_t address = found() != nullptr ? 0 : loaded.exports.Find("lw_fiber_known");
    uint64_t version = 0;
    if (address == 0 || !memory()->Read(address, &version) || version != kVersion) return;
    Find([&](FoundFibers* found) {
      found->table_address = address;
      return true;
    });
  }

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  size_t ListThreads(std::span<int32_t> tids) override;
  bool NameThread(int tid, std::span<char> name) override {
    if (AddressOf(tid) == 0) return false;
    std::snprintf(name.data(), name.size(), "fiber %d", tid - ThreadOf(0));
    return true;
  }

 private:
  // 0 for a thread that is no listed fiber.
  uint64_t AddressOf(int32_t tid) const {
    if (found() == nullptr || !IsScriptThread(tid)) return 0;
    const auto listed = std::span(found()->listed).first(found()->listed_count);
    const auto at = std::ranges::find(listed, tid, &Listed::tid);
    return at == listed.end() ? 0 : at->address;
  }
  // Copies the registers and the stack. False if the fiber runs, or went on meanwhile.
  bool Copy(uint64_t address, RawStack* raw);
};

bool Fibers::Copy(uint64_t address, RawStack* raw) {
  constexpr std::array<int, 8> kNumbers = {Registers::kProgramCounter,
                                           Registers::kStackPointer,
                                           Registers::kFramePointer,
                                           Registers::kBasePointer,
                                           12,
                                           13,
                                           14,
                                           15};
  Fiber fiber;
  Fiber after;
  if (!memory()->Read(address, &fiber) || !fiber.is_suspended()) return false;
  raw->registers = {};
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    raw->registers.value[kNumbers[i]] = fiber.own[i];
    raw->registers.known_mask |= uint64_t{1} << kNumbers[i];
  }
  raw->address = fiber.own[1];
  raw->end = fiber.top;
  if (raw->end <= raw->address) return false;
  raw->size_bytes = std::min<uint64_t>(raw->end - raw->address, kMaxRawStackBytes);
  return memory()->Read(raw->address, raw->bytes, raw->size_bytes) && memory()->Read(address, &after) &&
         after == fiber;
}

void Fibers::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  const uint64_t address = AddressOf(thread.tid);
  if (address == 0 || !Copy(address, &found()->raw)) return;
  code->Unwind(found()->raw, stack);
  if (stack->frame_count == 0) return;
  const stack::Frame& outermost = stack->frames[stack->frame_count - 1];
  const stack::Frame join = code->Resolve(found()->table.join + 1);
  if (outermost.module == join.module && outermost.function_offset == join.function_offset)
    stack->completeness = Completeness::kComplete;
}

size_t Fibers::ListThreads(std::span<int32_t> tids) {
  if (found() == nullptr) return 0;
  FoundFibers& all = *found();
  all.listed_count = 0;
  if (!memory()->Read(all.table_address, &all.table) || all.table.version != kVersion) return 0;
  for (size_t slot = 0; slot < kMostFibers; ++slot) {
    if (all.listed_count == std::min(kMostListed, tids.size())) break;
    const uint64_t address = all.table.fibers[slot];
    Fiber fiber;
    if (address == 0 || !memory()->Read(address, &fiber) || !fiber.is_suspended()) continue;
    // One that was not forgotten leaves its slot, and its memory may be another one's by now.
    if ((slot - fiber.number) % kMostFibers >= kMostTries || AddressOf(ThreadOf(fiber.number)) != 0) continue;
    tids[all.listed_count] = ThreadOf(fiber.number);
    all.listed[all.listed_count++] = {ThreadOf(fiber.number), address};
  }
  return all.listed_count;
}

}  // namespace
}  // namespace fibers

std::unique_ptr<Interpreter> CreateFibers(Memory* memory) { return std::make_unique<fibers::Fibers>(memory); }

}  // namespace lagwatch::stack

// SPDX-License-Identifier: Apache-2.0
// A thread caught between the two instructions that end a signal handler.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "base/process/safe_memory.h"
#include "stack/code/module_map.h"
#include "stack/frames/raw_stack.h"
#include "stack/unwind/processor.h"
#include "stack/unwind/table_unwinder.h"

namespace lagwatch::stack {
namespace {

struct Caught {
  ModuleMap modules;
  std::unique_ptr<RawStack> raw{new RawStack};
};
Caught* g_caught;

// As the thread will be when this handler has returned.
void CatchReturn(int) {
  RawStack& raw = *g_caught->raw;
  raw.registers = {};
  raw.registers.value[Registers::kProgramCounter] = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  raw.registers.value[Registers::kStackPointer] = reinterpret_cast<uint64_t>(__builtin_dwarf_cfa());
  raw.registers.known_mask = Registers::kAllKnown;
  MemoryRegion live = g_caught->modules.stacks().LiveStack(raw.registers.stack_pointer());
  raw.address = live.begin;
  raw.end = live.end;
  raw.size_bytes = base::ReadOwnMemory(raw.address, raw.bytes,
                                       std::min<uint64_t>(live.end - live.begin, kMaxRawStackBytes));
}

TEST(SignalReturn, IsUnwoundFromBothOfItsInstructions) {
  Caught caught;
  caught.modules.Refresh();
  g_caught = &caught;
  auto before = signal(SIGUSR1, CatchReturn);
  raise(SIGUSR1);
  signal(SIGUSR1, before);
  auto unwinder = CreateTableUnwinder().value();
  auto at_first = std::make_unique<Stack>();
  auto at_second = std::make_unique<Stack>();
  unwinder->Unwind(*caught.raw, caught.modules, at_first.get());
  caught.raw->registers.value[Registers::kProgramCounter] += kSignalReturnCallOffset;
  unwinder->Unwind(*caught.raw, caught.modules, at_second.get());
  EXPECT_EQ(at_first->completeness, Completeness::kComplete);
  EXPECT_EQ(at_second->completeness, Completeness::kComplete);
  ASSERT_GT(at_first->frame_count, 4u);
  ASSERT_EQ(at_first->frame_count, at_second->frame_count);
  EXPECT_EQ(at_second->frames[0].offset, at_first->frames[0].offset + kSignalReturnCallOffset);
  for (uint32_t i = 1; i < at_first->frame_count; ++i)
    EXPECT_EQ(at_first->frames[i].offset, at_second->frames[i].offset) << i;
}

}  // namespace
}  // namespace lagwatch::stack

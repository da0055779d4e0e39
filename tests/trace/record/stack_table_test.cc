// SPDX-License-Identifier: Apache-2.0
#include "trace/record/stack_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <thread>

namespace lagwatch::trace {
namespace {

std::unique_ptr<stack::Stack> StackOf(std::initializer_list<stack::Frame> innermost_first) {
  auto stack = std::make_unique<stack::Stack>();
  stack->Clear();
  for (const stack::Frame& frame : innermost_first) stack->frames[stack->frame_count++] = frame;
  return stack;
}

class StackTableTest : public ::testing::Test {
 protected:
  StackTableTest() : arena_(Arena::CreatePrivate({.stack_bytes = 1})), table_(arena_.get()) {}

  uint32_t Intern(std::initializer_list<stack::Frame> innermost_first) {
    return table_.Intern(*StackOf(innermost_first));
  }
  // A new stack each time.
  uint32_t InternFresh() { return Intern({{1, ++fresh_, fresh_}, {0, 7, 5}}); }

  std::unique_ptr<Arena> arena_;
  StackTable table_;
  uint64_t fresh_ = 1000;
};

TEST_F(StackTableTest, EqualStacksHaveOneId) {
  const uint32_t id = Intern({{0, 0x110, 0x100}, {0, 0x210, 0x200}});
  EXPECT_NE(id, kNoStack);
  EXPECT_EQ(Intern({{0, 0x110, 0x100}, {0, 0x210, 0x200}}), id);
}

TEST_F(StackTableTest, TheInnermostFrameCountsAsItsFunction) {
  EXPECT_EQ(Intern({{0, 0x110, 0x100}, {0, 0x210, 0x200}}), Intern({{0, 0x120, 0x100}, {0, 0x210, 0x200}}));
  EXPECT_NE(Intern({{0, 0x110, 0x100}, {0, 0x210, 0x200}}), Intern({{0, 0x110, 0x100}, {0, 0x220, 0x200}}));
}

TEST_F(StackTableTest, CommonCallersAreKeptOnce) {
  Intern({{0, 0x110, 0x100}, {0, 0x210, 0x200}, {0, 0x310, 0x300}});
  const uint32_t before = arena_->header().generations[1].node_count.load();
  Intern({{0, 0x410, 0x400}, {0, 0x210, 0x200}, {0, 0x310, 0x300}});
  EXPECT_EQ(arena_->header().generations[1].node_count.load(), before + 1);
}

TEST_F(StackTableTest, AddressesWithoutAModuleAreKeptWhole) {
  const uint32_t id = Intern({{stack::kNoModule, 0x7fff'1234'5678, 0}});
  StackGenerationCopy copy;
  ASSERT_TRUE(CopyStackGeneration(*arena_, 1, &copy));
  const StackNodeBytes& node = copy.nodes[id & ((1U << kStackIndexBits) - 1)];
  EXPECT_EQ(node.flags, StackNodeBytes::kAddress);
  EXPECT_EQ(node.offset | uint64_t{node.function_offset} << 32, 0x7fff'1234'5678);
}

TEST_F(StackTableTest, WhenItIsFullTheOlderHalfIsForgotten) {
  const uint32_t first = InternFresh();
  while (arena_->header().counters.stack_generations.value() == 0) InternFresh();
  StackGenerationCopy copy;
  ASSERT_TRUE(CopyStackGeneration(*arena_, 1, &copy));  // still there
  EXPECT_EQ(copy.number, first >> kStackIndexBits);
  while (arena_->header().counters.stack_generations.value() == 1) InternFresh();
  ASSERT_TRUE(CopyStackGeneration(*arena_, 1, &copy));
  EXPECT_EQ(copy.number, 3);
  EXPECT_EQ(arena_->header().counters.stacks_refused.value(), 0);
}

TEST_F(StackTableTest, AStackLargerThanTheTableIsRefused) {
  auto stack = std::make_unique<stack::Stack>();
  stack->Clear();
  EXPECT_EQ(table_.Intern(*stack), kNoStack);
}

#if !defined(__SANITIZE_THREAD__)  // a copy that raced is thrown away, which the sanitizer cannot know
TEST_F(StackTableTest, ReadersSeeWholeGenerationsWhileStacksComeAndGo) {
  std::atomic<bool> stopping{false};
  std::thread writer([&] {
    while (!stopping.load()) InternFresh();
  });
  int copied = 0;
  for (int i = 0; copied < 200 && i < 1'000'000; ++i) {
    StackGenerationCopy copy;
    if (!CopyStackGeneration(*arena_, i % 2, &copy)) continue;
    ++copied;
    for (uint32_t node = 1; node < copy.nodes.size(); ++node) ASSERT_LT(copy.nodes[node].parent, node);
  }
  stopping.store(true);
  writer.join();
  EXPECT_EQ(copied, 200);
}
#endif

}  // namespace
}  // namespace lagwatch::trace

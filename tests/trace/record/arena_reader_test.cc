// SPDX-License-Identifier: Apache-2.0
#include "trace/record/reader/arena_reader.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "trace/record/run_writer.h"
#include "trace/record/stack_table.h"
#include "trace/record/thread_places.h"

namespace lagwatch::trace {
namespace {

class ArenaReaderTest : public ::testing::Test {
 protected:
  ArenaReaderTest()
      : arena_(Arena::CreatePrivate({})),
        stacks_(arena_.get()),
        threads_(arena_.get()),
        writer_(arena_->worker_pool(), &arena_->header().counters) {
    arena_->header().pid = 100;
    arena_->header().last_mono_ns.store(10'000);
    ArenaModule& module = arena_->modules()[3];
    module.path_size = 4;
    module.path[0] = module.path[1] = module.path[2] = module.path[3] = 'm';
    arena_->header().module_count.store(4);
  }

  uint32_t StackId(std::initializer_list<uint64_t> functions_innermost_first) {
    stack::Stack stack;
    stack.Clear();
    for (uint64_t function : functions_innermost_first)
      stack.frames[stack.frame_count++] = {3, function + 1, function};
    return stacks_.Intern(stack);
  }
  void Write(int32_t tid, uint32_t stack, int64_t begin_ns, int64_t end_ns) {
    RunRecord run{};
    run.tid = tid;
    run.stack = stack;
    run.begin_ns = begin_ns;
    run.end_ns = end_ns;
    run.count = 1;
    run.is_complete = true;
    writer_.Write(run);
  }

  void WriteDispatch(uint32_t id, int64_t begin_ns, int64_t end_ns, const char* tag, bool has_ended = true) {
    RunRecord dispatch{};
    dispatch.tid = 7;
    dispatch.dispatch = id;
    dispatch.begin_ns = begin_ns;
    dispatch.end_ns = has_ended ? end_ns : begin_ns;
    dispatch.is_complete = has_ended;
    dispatch.tag = tag;
    writer_.Write(dispatch);
  }
  // "id begin-end tag" of the only thread's.
  static std::vector<std::string> DispatchesOf(const Trace& trace) {
    std::vector<std::string> told;
    if (trace.threads.size() != 1) return told;
    for (const Dispatch& each : trace.threads[0].dispatches)
      told.push_back(std::to_string(each.id) + " " + std::to_string(each.begin_ns) + "-" +
                     std::to_string(each.end_ns) + " " + each.tag);
    return told;
  }

  std::unique_ptr<Arena> arena_;
  StackTable stacks_;
  ThreadPlaces threads_;
  RunWriter writer_;
};

TEST_F(ArenaReaderTest, ARunComesBackWithItsStack) {
  Write(7, StackId({0x300, 0x200, 0x100}), 1000, 2000);
  const Trace trace = ReadArena(*arena_);
  ASSERT_EQ(trace.threads.size(), 1);
  ASSERT_EQ(trace.threads[0].runs.size(), 1);
  ASSERT_EQ(trace.modules.size(), 1);
  EXPECT_EQ(trace.modules[0].path, "mmmm");
  const auto& run = trace.threads[0].runs[0];
  EXPECT_EQ(run.begin_ns, 1000);
  EXPECT_EQ(run.end_ns, 2000);
  std::vector<uint64_t> functions;
  for (uint32_t node = run.stack; node != kNoIndex; node = trace.nodes[node].parent)
    functions.push_back(trace.frames[trace.nodes[node].frame].function_offset);
  EXPECT_EQ(functions, (std::vector<uint64_t>{0x300, 0x200, 0x100}));
}

TEST_F(ArenaReaderTest, ALookThatSawNothingButAHookIsNotLost) {
  const std::string library = "/usr/lib/lagwatch/liblagwatch-preload.so";
  ArenaModule& module = arena_->modules()[3];
  module.path_size = static_cast<uint16_t>(library.copy(module.path, sizeof module.path));
  Write(7, StackId({0x300, 0x200}), 1000, 1000);
  const Trace trace = ReadArena(*arena_);
  EXPECT_TRUE(trace.losses.empty());
  ASSERT_EQ(trace.threads.size(), 1);
  ASSERT_EQ(trace.threads[0].runs.size(), 1);
  const StackNode& node = trace.nodes[trace.threads[0].runs[0].stack];
  EXPECT_EQ(trace.frames[node.frame].name, "(lagwatch)");
  EXPECT_EQ(node.parent, kNoIndex);
}

TEST_F(ArenaReaderTest, ARunThatGoesOnIsPartOfIt) {
  const uint32_t place = threads_.Take(8);
  threads_.SetOpen(place, {500, 900, 3, StackId({0x100}), 2, 1});
  const Trace trace = ReadArena(*arena_);
  ASSERT_EQ(trace.threads.size(), 1);
  ASSERT_EQ(trace.threads[0].runs.size(), 1);
  EXPECT_EQ(trace.threads[0].runs[0].count, 3);
  EXPECT_EQ(trace.threads[0].runs[0].dispatch, 2);
}

TEST_F(ArenaReaderTest, AWindowLeavesOutWhatIsOutside) {
  const uint32_t stack = StackId({0x100});
  Write(7, stack, 1000, 2000);
  Write(7, stack, 3000, 4000);
  Write(7, stack, 5000, 6000);
  const Trace trace = ReadArena(*arena_, {2500, 4500});
  ASSERT_EQ(trace.threads.size(), 1);
  ASSERT_EQ(trace.threads[0].runs.size(), 1);
  EXPECT_EQ(trace.threads[0].runs[0].begin_ns, 3000);
  EXPECT_EQ(trace.begin_ns, 2500);
  EXPECT_EQ(trace.end_ns, 4500);
}

TEST_F(ArenaReaderTest, DispatchesComeBackOnceWithTheirTimes) {
  WriteDispatch(1, 1000, 0, "key", false);
  Write(7, StackId({0x100}), 1100, 1200);
  WriteDispatch(1, 1000, 1500, "key");
  WriteDispatch(3, 2000, 2200, "paint");
  WriteDispatch(2, 1600, 1900, "paint");
  EXPECT_EQ(DispatchesOf(ReadArena(*arena_)),
            (std::vector<std::string>{"1 1000-1500 key", "2 1600-1900 paint", "3 2000-2200 paint"}));
  EXPECT_EQ(DispatchesOf(ReadArena(*arena_, {1550, 1900})), (std::vector<std::string>{"2 1600-1900 paint"}));
}

TEST_F(ArenaReaderTest, ADispatchWhoseEndIsNotToldGoesOn) {
  WriteDispatch(1, 1000, 0, "lost", false);
  WriteDispatch(2, 3000, 0, "slow", false);
  EXPECT_EQ(DispatchesOf(ReadArena(*arena_)),
            (std::vector<std::string>{"1 1000-3000 lost", "2 3000-10000 slow"}));
}

TEST_F(ArenaReaderTest, RunsAreInOrderWhoeverWroteThem) {
  const uint32_t stack = StackId({0x100});
  Write(7, stack, 5000, 5000);
  Write(7, stack, 1000, 1000);
  const Trace trace = ReadArena(*arena_);
  ASSERT_EQ(trace.threads[0].runs.size(), 2);
  EXPECT_LT(trace.threads[0].runs[0].begin_ns, trace.threads[0].runs[1].begin_ns);
}

TEST_F(ArenaReaderTest, TheMainThreadComesFirst) {
  const uint32_t stack = StackId({0x100});
  Write(7, stack, 1000, 2000);
  Write(100, stack, 1000, 2000);
  const Trace trace = ReadArena(*arena_);
  ASSERT_EQ(trace.threads.size(), 2);
  EXPECT_EQ(trace.threads[0].tid, 100);
}

TEST_F(ArenaReaderTest, RunsWhoseStacksWereForgottenAreCounted) {
  Write(7, StackId({0x100}), 1000, 2000);
  for (uint64_t i = 1; arena_->header().counters.stack_generations.value() < 2; ++i) StackId({i << 8});
  const Trace trace = ReadArena(*arena_);
  EXPECT_TRUE(trace.threads.empty());
  ASSERT_EQ(trace.losses.size(), 1);
  EXPECT_EQ(trace.losses[0].count, 1);
  EXPECT_EQ(trace.losses[0].remedy, "--stack-mib");
}

TEST_F(ArenaReaderTest, FollowersFindWhatWasWrittenSince) {
  const uint32_t stack = StackId({0x100});
  ArenaFollower follower(*arena_);
  const auto count = [&](const Window& window) {
    const Trace trace = follower.Read(window);
    return trace.threads.empty() ? 0 : trace.threads[0].runs.size();
  };
  Write(7, stack, 1000, 1000);
  Write(7, stack, 2000, 2000);
  EXPECT_EQ(count({0, INT64_MAX}), 2);
  EXPECT_EQ(count({1500, INT64_MAX}), 1);
  EXPECT_EQ(count({2500, INT64_MAX}), 0);
  Write(7, stack, 3000, 3000);  // in the same block
  EXPECT_EQ(count({2500, INT64_MAX}), 1);
  writer_.Close();
  EXPECT_EQ(count({3500, INT64_MAX}), 0);
  Write(7, stack, 4000, 4000);  // in another one
  EXPECT_EQ(count({3500, INT64_MAX}), 1);
  EXPECT_EQ(count({0, INT64_MAX}), 4);
}

TEST(ArenaReader, FollowersSeeBlocksThatAreUsedAnew) {
  constexpr int kRunsBetweenReads = 50;  // of some thousand in a block
  const auto arena =
      Arena::CreatePrivate({.main_bytes = 1, .worker_bytes = 1, .call_bytes = 1, .stack_bytes = 1});
  StackTable stacks(arena.get());
  stack::Stack stack;
  stack.Clear();
  stack.frames[stack.frame_count++] = {stack::kNoModule, 1, 0};
  RunWriter writer(arena->worker_pool(), &arena->header().counters);
  ArenaFollower follower(*arena);
  RunRecord run{};
  run.tid = 7;
  run.count = 1;
  run.stack = stacks.Intern(stack);
  for (int64_t now = 1; arena->worker_pool().header().overwritten_count.load() < 5;) {
    const int64_t begin_ns = now;
    for (int i = 0; i < kRunsBetweenReads; ++i, ++now) {
      run.begin_ns = run.end_ns = now;
      writer.Write(run);
    }
    const Trace trace = follower.Read({begin_ns, INT64_MAX});
    ASSERT_EQ(trace.threads.size(), 1) << now;
    ASSERT_EQ(trace.threads[0].runs.size(), kRunsBetweenReads) << now;
    ASSERT_TRUE(trace.losses.empty()) << trace.losses[0].what;
  }
}

TEST(ArenaReader, WhatWasOverwrittenIsToldWithItsRemedy) {
  const auto arena = Arena::CreatePrivate({.worker_bytes = 1});
  StackTable stacks(arena.get());
  stack::Stack stack;
  stack.Clear();
  stack.frames[stack.frame_count++] = {stack::kNoModule, 1, 0};
  RunWriter writer(arena->worker_pool(), &arena->header().counters);
  RunRecord run{};
  run.tid = 7;
  run.count = 1;
  run.stack = stacks.Intern(stack);
  for (; arena->worker_pool().header().overwritten_count.load() < 2; run.begin_ns = ++run.end_ns)
    writer.Write(run);
  const Trace trace = ReadArena(*arena);
  ASSERT_EQ(trace.losses.size(), 1);
  EXPECT_EQ(trace.losses[0].count, 2);
  EXPECT_EQ(trace.losses[0].remedy, "--worker-mib");
  EXPECT_EQ(trace.threads[0].runs.back().begin_ns, run.begin_ns - 1);
}

}  // namespace
}  // namespace lagwatch::trace

// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/call_recorder.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <thread>

#include "base/ticks.h"
#include "tests/trace/instrument/recording.h"
#include "trace/instrument/call_writer.h"

namespace lagwatch::trace {
namespace {

constexpr uint64_t kProgram = 0x5555'5555'0000;
constexpr uint64_t kLibrary = 0x7fff'f700'0000;
constexpr uint64_t kOther = 0x1'0000'0000;
constexpr size_t kEventsPerBlock = Block::kRoomBytes / 8;

void RecordEnter(uint64_t function) { RecordCall(function, CallEventWord::kIsEnter); }
void RecordExit(uint64_t function) { RecordCall(function, 0); }

void CallOnce(uint64_t function) {
  RecordEnter(function);
  RecordExit(function);
}

TEST(CallRecorder, TellsWhatWasEnteredAndLeftAndWhen) {
  ScopedRecording recording;
  const uint64_t before = base::ReadTicks();
  RecordEnter(kProgram);
  RecordNameBegin("part");
  RecordNameEnd("part");
  RecordExit(kProgram);
  const auto calls = recording.OwnCalls();
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls[0].address, kProgram);
  EXPECT_TRUE(calls[0].is_enter);
  EXPECT_STREQ(reinterpret_cast<const char*>(calls[1].address), "part");
  EXPECT_TRUE(calls[1].is_name && calls[1].is_enter && !calls[2].is_enter);
  EXPECT_FALSE(calls[3].is_enter || calls[3].is_name);
  EXPECT_GE(calls[0].ticks, before);
  EXPECT_LE(calls[3].ticks, base::ReadTicks());
}

TEST(CallRecorder, TakesAnotherBlockWhenOneIsFull) {
  ScopedRecording recording;
  for (size_t i = 0; i < 5 * kEventsPerBlock; ++i) CallOnce(kProgram + i);
  const auto calls = recording.OwnCalls();
  ASSERT_EQ(calls.size(), 10 * kEventsPerBlock);
  for (size_t i = 0; i < calls.size(); ++i) ASSERT_EQ(calls[i].address, kProgram + i / 2);
  EXPECT_EQ(recording.OpenBlocks(), 1);
}

TEST(CallRecorder, FarApartFunctionsShareABlock) {
  ScopedRecording recording;
  for (int i = 0; i < 500; ++i) {
    RecordEnter(kProgram);
    CallOnce(kLibrary);
    RecordExit(kProgram);
  }
  CallOnce(kOther);
  CallOnce(kLibrary);
  const auto calls = recording.OwnCalls();
  ASSERT_EQ(calls.size(), 2004U);
  EXPECT_EQ(recording.pool().header().next_ticket.load(), 1U);
  EXPECT_EQ(calls[1997].address, kLibrary);
  EXPECT_EQ(calls[2001].address, kOther);
  EXPECT_EQ(calls[2003].address, kLibrary);
}

TEST(CallRecorder, AThreadThatEndsClosesItsBlock) {
  ScopedRecording recording;
  for (int i = 0; i < 100; ++i) std::thread([] { CallOnce(kProgram); }).join();
  EXPECT_EQ(recording.OpenBlocks(), 0);
  EXPECT_EQ(ReadCalls(recording.pool()).size(), 64U);  // as many as there are blocks
}

TEST(CallRecorder, CountsWhatFindsEveryBlockInUse) {
  ScopedRecording recording(CallClock::kPrecise, 1);
  const CallStats before = CallRecorderStats();
  CallOnce(kProgram);
  std::thread([] {
    for (int i = 0; i < 5000; ++i) CallOnce(kProgram);
  }).join();
  EXPECT_EQ(CallRecorderStats().events_without_block - before.events_without_block, 10000U);
  EXPECT_EQ(recording.OwnCalls().size(), 2U);
}

TEST(CallRecorder, ARecordingAfterAnotherHasItsOwnCalls) {
  {
    ScopedRecording first;
    CallOnce(kProgram);
    EXPECT_FALSE(StartCalls(CreatePool(1), CallClock::kPrecise));
  }
  CallOnce(kOther);
  ScopedRecording second(CallClock::kCoarse);
  CallOnce(kLibrary);
  const auto calls = second.OwnCalls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].address, kLibrary);
}

TEST(CallRecorder, AForkedChildLeavesTheParentsBlocksAlone) {
  BlockPoolHeader* pool = CreatePool(16, /*is_shared=*/true);
  ASSERT_TRUE(StartCalls(pool, CallClock::kPrecise));
  CallOnce(kProgram);
  const pid_t child = fork();
  if (child == 0) {
    const bool was_on = __atomic_load_n(CallSwitch(), __ATOMIC_RELAXED) != 0;
    for (int i = 0; i < 3000; ++i) CallOnce(kOther);
    const bool can_start = StartCalls(CreatePool(4), CallClock::kCoarse);
    CallOnce(kOther);
    _exit(!was_on && can_start ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CallOnce(kLibrary);
  StopCalls();
  EXPECT_EQ(status, 0);
  const auto threads = ReadCalls(BlockPool(pool));
  ASSERT_EQ(threads.size(), 1U);
  EXPECT_EQ(threads.begin()->second.size(), 4U);
}

std::atomic<uint64_t> g_handler_calls;

void CallInHandler(int) {
  CallOnce(kLibrary);
  g_handler_calls.fetch_add(1);
}

void SetTimer(int first_us, int interval_us) {
  const itimerval timer{.it_interval = {0, interval_us}, .it_value = {0, first_us}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Each call is either recorded or counted, and recorded calls nest.
TEST(CallRecorder, HandlersThatCallInTheMiddleCorruptNothing) {
  ScopedRecording recording(CallClock::kPrecise, 4096);
  const CallStats before = CallRecorderStats();
  g_handler_calls = 0;
  struct sigaction action {};
  action.sa_handler = &CallInHandler;
  struct sigaction previous {};
  sigaction(SIGALRM, &action, &previous);
  SetTimer(50, 50);
  uint64_t rounds = 0;
  while (g_handler_calls < 2000 && rounds < 1'500'000) {
    CallOnce(kProgram);
    ++rounds;
  }
  SetTimer(0, 0);
  sigaction(SIGALRM, &previous, nullptr);
  const auto totals = TotalsOf(recording.OwnCalls());
  const uint64_t lost = CallRecorderStats().events_in_handlers - before.events_in_handlers;
  EXPECT_EQ(totals.at(kProgram).calls, rounds);
  EXPECT_EQ(totals.at(kLibrary).calls + lost / 2, g_handler_calls);
}

sigjmp_buf g_way_out;

TEST(CallRecorder, AHandlerThatJumpsOutOfItCostsABlockAtMost) {
  ScopedRecording recording(CallClock::kPrecise, 1024);
  struct sigaction action {};
  action.sa_handler = [](int) { siglongjmp(g_way_out, 1); };
  struct sigaction previous {};
  sigaction(SIGALRM, &action, &previous);
  std::atomic<int> jumps{0};
  while (jumps < 300) {
    if (sigsetjmp(g_way_out, 1) != 0) {
      ++jumps;
      continue;
    }
    SetTimer(30 + 7 * (jumps % 9), 0);  // with an interval, handlers would nest where the processor is late
    for (;;) CallOnce(kProgram);
  }
  SetTimer(0, 0);
  sigaction(SIGALRM, &previous, nullptr);
  const uint64_t begin = base::ReadTicks();
  for (int i = 0; i < 5000; ++i) CallOnce(kOther);
  size_t calls = 0;
  for (const CallRecord& call : recording.OwnCalls()) calls += call.ticks >= begin && call.address == kOther;
  EXPECT_GE(calls, 10000U - 4096U);
}

TEST(CallRecorder, ReadersSeeWholeEventsOnly) {
  ScopedRecording recording(CallClock::kPrecise, 4096);
  std::atomic<bool> should_stop{false};
  std::vector<std::thread> writers;
  for (uint64_t i = 0; i < 3; ++i) {
    writers.emplace_back([&should_stop, i] {
      for (int n = 0; n < 100'000 && !should_stop; ++n) CallOnce(kProgram + i);
    });
  }
  for (int i = 0; i < 5; ++i) {
    for (const auto& [tid, calls] : ReadCalls(recording.pool()))
      for (const CallRecord& call : calls) ASSERT_LT(call.address - kProgram, 3U);
  }
  should_stop = true;
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace lagwatch::trace

// SPDX-License-Identifier: Apache-2.0
// Stacks through code made at run time, which no unwind table covers. The oracle is that the test
// made the calls.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "tests/stack/caught_stack.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

#if defined(__x86_64__)
namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

struct Call {
  const StopFlag* stop;
  std::atomic<bool> has_begun{false};
};
using Callback = void (*)(Call*);
using Code = void (*)(Call*, Callback);

// A page of code as a compiler at run time writes it.
class GeneratedCode {
 public:
  explicit GeneratedCode(std::initializer_list<unsigned char> bytes)
      : page_(static_cast<unsigned char*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    // Not at the page's begin, where nothing stands before it.
    std::memcpy(page_ + kStart, bytes.begin(), bytes.size());
  }
  ~GeneratedCode() { munmap(page_, kBytes); }
  GeneratedCode(const GeneratedCode&) = delete;
  GeneratedCode& operator=(const GeneratedCode&) = delete;

  Code function() const { return reinterpret_cast<Code>(page_ + kStart); }

 private:
  static constexpr size_t kBytes = 4096;
  static constexpr size_t kStart = 64;
  unsigned char* page_;
};

// push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret
const GeneratedCode& CodeWithFrameRecord() {
  static const GeneratedCode code({0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3});
  return code;
}
// push %rbp; mov %rsp,%rbp; lea 1f(%rip),%rax; push %rax; jmp 2f; 1: pop %rbp; ret; 2: as above. HotSpot's
// interpreter calls so.
const GeneratedCode& CodeThatJumpsInsteadOfCalling() {
  static const GeneratedCode code({0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0x03, 0x00, 0x00, 0x00, 0x50,
                                   0xeb, 0x02, 0x5d, 0xc3, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3});
  return code;
}
// sub $8,%rsp; call *%rsi; add $8,%rsp; ret
const GeneratedCode& CodeWithoutFrameRecord() {
  static const GeneratedCode code({0x48, 0x83, 0xec, 0x08, 0xff, 0xd6, 0x48, 0x83, 0xc4, 0x08, 0xc3});
  return code;
}
// push %rbp; xor %ebp,%ebp; call *%rsi; pop %rbp; ret
const GeneratedCode& CodeThatClearsTheFramePointer() {
  static const GeneratedCode code({0x55, 0x31, 0xed, 0xff, 0xd6, 0x5d, 0xc3});
  return code;
}
// push %rbp; lea 0x40(%rsp),%rbp; call *%rsi; pop %rbp; ret
const GeneratedCode& CodeThatPointsIntoItsCallersFrame() {
  static const GeneratedCode code({0x55, 0x48, 0x8d, 0x6c, 0x24, 0x40, 0xff, 0xd6, 0x5d, 0xc3});
  return code;
}

[[gnu::noinline]] void SpinHere(Call* call) {
  call->has_begun = true;
  testing::Spin(*call->stop);
  asm volatile("");
}

[[gnu::noinline, maybe_unused]] void SleepHere(Call* call) {
  call->has_begun = true;
  while (!*call->stop) usleep(100'000);
  asm volatile("");
}

[[gnu::noinline]] void CallFromAnyFrame(Call* call, Code code, Callback callback) {
  code(call, callback);
  asm volatile("");
}

// Its frame's size is known to its frame pointer only.
[[gnu::noinline]] void CallFromAFrameWithPointer(Call* call, Code code, Callback callback) {
  volatile size_t size_bytes = 100;
  auto* room = static_cast<volatile char*>(__builtin_alloca(size_bytes));
  room[0] = 1;
  code(call, callback);
  room[1] = room[0];
}

[[gnu::noinline]] void CallOnceMore(Call* call) {
  CallFromAnyFrame(call, CodeWithFrameRecord().function(), &SpinHere);
  asm volatile("");
}

class GeneratedCodeTest : public CaughtStackTest {
 protected:
  using Caller = void (*)(Call*, Code, Callback);

  // Leaves the stack of a thread in which `caller` calls `code`, and that `callback`.
  void CaptureIn(Caller caller, const GeneratedCode& code, Callback callback) {
    Call call{};
    StalledThread thread([&](const StopFlag& stop) {
      call.stop = &stop;
      caller(&call, code.function(), callback);
      asm volatile("");
    });
    ASSERT_TRUE(testing::WaitUntil([&] { return call.has_begun.load(); }));
    Capture(thread.tid());
  }
  // The innermost frame of generated code; -1 when there is none.
  int IndexOfGenerated() const {
    for (uint32_t i = 0; i < stack_->frame_count; ++i) {
      if (stack_->frames[i].module == kNoModule) return static_cast<int>(i);
    }
    return -1;
  }
  // The stack ends in the generated code, and says so.
  void ExpectEndsInGenerated() const {
    EXPECT_EQ(stack_->completeness, Completeness::kIncomplete);
    EXPECT_EQ(IndexOfGenerated(), static_cast<int>(stack_->frame_count) - 1);
  }
};

TEST_F(GeneratedCodeTest, FramesBeyondItAreFoundWhenItKeepsFramePointers) {
  for (Caller caller : {&CallFromAnyFrame, &CallFromAFrameWithPointer}) {
    for (const GeneratedCode* code : {&CodeWithFrameRecord(), &CodeThatJumpsInsteadOfCalling()}) {
      CaptureIn(caller, *code, &SpinHere);
      EXPECT_EQ(stack_->completeness, Completeness::kComplete);
      const int generated = IndexOfGenerated();
      ASSERT_GT(generated, 0);
      EXPECT_TRUE(IsIn(static_cast<uint32_t>(generated) - 1, &SpinHere));
      EXPECT_TRUE(IsIn(static_cast<uint32_t>(generated) + 1, caller));
    }
  }
}

TEST_F(GeneratedCodeTest, TablesGoOnBetweenTwoPiecesOfIt) {
  CaptureIn(&CallFromAFrameWithPointer, CodeWithFrameRecord(), &CallOnceMore);
  EXPECT_EQ(stack_->completeness, Completeness::kComplete);
  const int inner = IndexOfGenerated();
  ASSERT_GT(inner, 0);
  const auto at = static_cast<uint32_t>(inner);
  EXPECT_TRUE(IsIn(at + 1, &CallFromAnyFrame));
  EXPECT_TRUE(IsIn(at + 2, &CallOnceMore));
  ASSERT_GT(stack_->frame_count, at + 4);
  EXPECT_EQ(stack_->frames[at + 3].module, kNoModule);
  EXPECT_TRUE(IsIn(at + 4, &CallFromAFrameWithPointer));
}

TEST_F(GeneratedCodeTest, AFramePointerThatItDoesNotKeepEndsTheStack) {
  for (Caller caller : {&CallFromAnyFrame, &CallFromAFrameWithPointer}) {
    for (const GeneratedCode* code : {&CodeWithoutFrameRecord(), &CodeThatClearsTheFramePointer(),
                                      &CodeThatPointsIntoItsCallersFrame()}) {
      CaptureIn(caller, *code, &SpinHere);
      ExpectEndsInGenerated();
    }
  }
}

TEST_F(GeneratedCodeTest, ACallerIsNotSkippedWhenItSpinsItself) {
  // cmpb $0,(%rsi); je back; ret, with a frame record and without.
  static const GeneratedCode with({0x55, 0x48, 0x89, 0xe5, 0x80, 0x3e, 0x00, 0x74, 0xfb, 0x5d, 0xc3});
  static const GeneratedCode without({0x80, 0x3e, 0x00, 0x74, 0xfb, 0xc3});
  for (Caller caller : {&CallFromAnyFrame, &CallFromAFrameWithPointer}) {
    for (const GeneratedCode* code : {&with, &without}) {
      volatile unsigned char flag = 0;
      std::atomic<bool> has_begun{false};
      StalledThread thread([&](const StopFlag&) {
        has_begun = true;
        caller(nullptr, code->function(), reinterpret_cast<Callback>(const_cast<unsigned char*>(&flag)));
        asm volatile("");
      });
      ASSERT_TRUE(testing::WaitUntil([&] { return has_begun.load(); }));
      do {
        Capture(thread.tid());
      } while (IndexOfGenerated() != 0);  // it may not be there yet
      if (code == &with) {
        EXPECT_EQ(stack_->completeness, Completeness::kComplete);
        EXPECT_TRUE(IsIn(1, caller));
      } else {
        ExpectEndsInGenerated();
      }
      flag = 1;
    }
  }
}

// If all of the program keeps frame pointers, the search for a sleeper's may pass over the generated code.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(GeneratedCodeTest, ASleepersFramePointerIsNotGuessed) {
  for (Caller caller : {&CallFromAnyFrame, &CallFromAFrameWithPointer}) {
    CaptureIn(caller, CodeWithoutFrameRecord(), &SleepHere);
    ExpectEndsInGenerated();
    CaptureIn(caller, CodeWithFrameRecord(), &SleepHere);
    const int generated = IndexOfGenerated();
    ASSERT_GT(generated, 0);
    const auto next = static_cast<uint32_t>(generated) + 1;
    EXPECT_TRUE(next == stack_->frame_count || IsIn(next, caller));
  }
}

#endif

TEST_F(GeneratedCodeTest, ItsAddressIsNoPartOfAStacksHash) {
  CaptureIn(&CallFromAnyFrame, CodeWithFrameRecord(), &SpinHere);
  const uint64_t hash = stack_->FunctionHash();
  const int generated = IndexOfGenerated();
  ASSERT_GT(generated, 0);
  stack_->frames[generated].offset += 4096;
  EXPECT_EQ(stack_->FunctionHash(), hash);
}

}  // namespace
}  // namespace lagwatch::stack
#endif

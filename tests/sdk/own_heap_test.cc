// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/own/own_heap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace lagwatch::sdk {
namespace {

bool IsAligned(const void* memory, size_t alignment) {
  return reinterpret_cast<uintptr_t>(memory) % alignment == 0;
}

bool IsFilled(const char* memory, size_t bytes, char with) {
  return std::all_of(memory, memory + bytes, [=](char byte) { return byte == with; });
}

TEST(OwnHeap, BlocksOfAllSizesAreApart) {
  std::vector<std::pair<char*, size_t>> blocks;
  for (size_t bytes = 0; bytes < 300'000; bytes = bytes < 300 ? bytes + 1 : bytes * 9 / 8) {
    auto* memory = static_cast<char*>(OwnHeap::Allocate(bytes));
    ASSERT_NE(memory, nullptr);
    ASSERT_TRUE(IsAligned(memory, OwnHeap::kAlignment));
    std::memset(memory, static_cast<char>(bytes), bytes);
    blocks.emplace_back(memory, bytes);
  }
  for (const auto& [memory, bytes] : blocks)
    ASSERT_TRUE(IsFilled(memory, bytes, static_cast<char>(bytes))) << bytes;
  for (const auto& [memory, bytes] : blocks) OwnHeap::Free(memory);
}

TEST(OwnHeap, MemoryIsUsedAgain) {
  for (const size_t bytes : {1, 100, 1000, 60'000}) {
    void* first = OwnHeap::Allocate(bytes);
    OwnHeap::Free(first);
    EXPECT_EQ(OwnHeap::Allocate(bytes), first) << bytes;
    OwnHeap::Free(first);
  }
}

TEST(OwnHeap, ZeroedMemoryIsZeroAlsoWhenItIsUsedAgain) {
  for (const size_t bytes : {40, 5000, 200'000}) {
    auto* memory = static_cast<char*>(OwnHeap::Allocate(bytes));
    std::memset(memory, 1, bytes);
    OwnHeap::Free(memory);
    memory = static_cast<char*>(OwnHeap::AllocateZeroed(bytes));
    EXPECT_TRUE(IsFilled(memory, bytes, 0)) << bytes;
    OwnHeap::Free(memory);
  }
}

TEST(OwnHeap, AlignedMemoryIsAlignedAndResized) {
  for (const size_t alignment : {8, 32, 64, 4096, 65536}) {
    for (const size_t bytes : {1, 100, 70'000}) {
      auto* memory = static_cast<char*>(OwnHeap::AllocateAligned(alignment, bytes));
      ASSERT_TRUE(IsAligned(memory, alignment));
      std::memset(memory, 7, bytes);
      memory = static_cast<char*>(OwnHeap::Resize(memory, 3 * bytes));
      EXPECT_TRUE(IsFilled(memory, bytes, 7));
      OwnHeap::Free(memory);
    }
  }
}

TEST(OwnHeap, ResizingKeepsTheContent) {
  auto* memory = static_cast<char*>(OwnHeap::Resize(nullptr, 1));
  memory[0] = 7;
  size_t filled = 1;
  for (const size_t bytes : {15, 17, 1000, 65'000, 66'000, 900'000, 70'000, 300, 20}) {
    memory = static_cast<char*>(OwnHeap::Resize(memory, bytes));
    ASSERT_NE(memory, nullptr);
    ASSERT_TRUE(IsFilled(memory, std::min(filled, bytes), 7)) << bytes;
    std::memset(memory, 7, bytes);
    filled = bytes;
  }
  OwnHeap::Free(memory);
}

TEST(OwnHeap, RefusesWhatThereIsNot) {
  EXPECT_EQ(OwnHeap::Allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(OwnHeap::AllocateAligned(64, SIZE_MAX - 8), nullptr);
  void* memory = OwnHeap::Allocate(10);
  EXPECT_EQ(OwnHeap::Resize(memory, SIZE_MAX), nullptr);
  OwnHeap::Free(memory);
  OwnHeap::Free(nullptr);
}

// Each thread fills what it has; blocks are freed by other threads, too.
void Work(int thread, int rounds, std::atomic<char*>* shared, size_t shared_count) {
  constexpr size_t kBytes = 48;
  std::minstd_rand random(static_cast<unsigned>(thread) + 1);
  for (int i = 0; i < rounds; ++i) {
    auto* memory = static_cast<char*>(OwnHeap::Allocate(kBytes));
    std::memset(memory, static_cast<char>(thread), kBytes);
    if (i % 16 == 0) std::this_thread::yield();
    if (!IsFilled(memory, kBytes, static_cast<char>(thread))) {
      ADD_FAILURE() << "another thread has the same block";
      return;
    }
    OwnHeap::Free(shared[random() % shared_count].exchange(memory));
  }
}

TEST(OwnHeap, ThreadsNeverGetTheSameBlock) {
  constexpr int kThreads = 4;
  std::atomic<char*> shared[8] = {};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(Work, thread, 20'000, shared, std::size(shared));
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<char*>& memory : shared) OwnHeap::Free(memory.load());
}

TEST(OwnHeap, WorksInChildrenThatAreForkedAtAnyMoment) {
  std::atomic<bool> is_over{false};
  std::atomic<char*> shared[4] = {};
  std::thread busy([&] {
    while (!is_over.load()) Work(1, 100, shared, std::size(shared));
  });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::atomic<char*> own[4] = {};
      alarm(20);
      Work(2, 200, own, std::size(own));
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  is_over.store(true);
  busy.join();
}

TEST(OwnHeap, ReturnsNothingWhenTheProcessHasNoAddressesLeft) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{1 << 20, 1 << 20};
    setrlimit(RLIMIT_AS, &none);
    size_t count = 0;
    while (OwnHeap::Allocate(1000) != nullptr && count < 5000) ++count;  // the chunk that is there
    _exit(count < 5000 && OwnHeap::Allocate(1'000'000) == nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lagwatch::sdk

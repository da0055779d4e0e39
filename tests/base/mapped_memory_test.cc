// SPDX-License-Identifier: Apache-2.0
#include "base/process/mapped_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/process/quiet_thread.h"

namespace lagwatch::base {
namespace {

constexpr size_t kLargeBytes = 64 << 20;

// A field of /proc/self/status, in KiB.
int64_t StatusKib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1));
  return -1;
}

TEST(MappedMemory, IsZeroAndWritableToItsEnd) {
  for (size_t count : {size_t{1}, size_t{512}, size_t{513}, size_t{100'000}}) {
    auto block = MapBlock<uint64_t>(count);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(std::all_of(block.get(), block.get() + count, [](uint64_t word) { return word == 0; }));
    block[count - 1] = 1;
  }
}

TEST(MappedMemory, IsNullWhenThereIsNone) { EXPECT_EQ(MapBlock<char>(size_t{1} << 60), nullptr); }

TEST(MappedMemory, KeepsItsContentWhenItIsResized) {
  constexpr size_t kPageBytes = 4096;
  auto* memory = static_cast<unsigned char*>(MapUnlocked(2 * kPageBytes));
  ASSERT_NE(memory, nullptr);
  std::fill_n(memory, 2 * kPageBytes, 1);
  memory = static_cast<unsigned char*>(ResizeUnlocked(memory, 2 * kPageBytes, 512 * kPageBytes));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(std::count(memory, memory + 512 * kPageBytes, 1), 2 * kPageBytes);
  EXPECT_EQ(memory[512 * kPageBytes - 1], 0);
  memory = static_cast<unsigned char*>(ResizeUnlocked(memory, 512 * kPageBytes, kPageBytes));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(std::count(memory, memory + kPageBytes, 1), kPageBytes);
  EXPECT_EQ(ResizeUnlocked(memory, kPageBytes, size_t{1} << 60), nullptr);
  EXPECT_EQ(memory[0], 1);
  munmap(memory, kPageBytes);
}

TEST(MappedMemory, IsNeitherFilledNorCountedWhereAllMemoryIsLocked) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers ignore mlockall(2)";
#endif
  if (mlockall(MCL_FUTURE) != 0) GTEST_SKIP() << "memory may not be locked here";
  const int64_t resident_kib = StatusKib("VmRSS");
  const int64_t locked_kib = StatusKib("VmLck");
  auto block = MapBlock<char>(kLargeBytes);
  ASSERT_NE(block, nullptr);
  EXPECT_LT(StatusKib("VmRSS") - resident_kib, 4096);
  EXPECT_LT(StatusKib("VmLck") - locked_kib, 4096);
  munlockall();
}

TEST(MappedMemory, AThreadsStackIsGivenBackWhenItIsJoined) {
  const int64_t before_kib = StatusKib("VmSize");
  for (int i = 0; i < 10; ++i) {
    QuietThread thread;
    ASSERT_TRUE(thread
                    .Start(
                        "test", kLargeBytes, [](void*) {}, nullptr)
                    .ok());
    ASSERT_TRUE(thread.TryJoin(10'000'000'000));
  }
  EXPECT_LT(StatusKib("VmSize") - before_kib, int64_t{2} * (kLargeBytes >> 10));
}

}  // namespace
}  // namespace lagwatch::base

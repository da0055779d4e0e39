// SPDX-License-Identifier: Apache-2.0
#include "base/process/own_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/process/safe_memory.h"
#include "tests/testing/emulation.h"

namespace lagwatch::base {
namespace {

constexpr size_t kPartBytes = 64 << 10;

bool IsReadable(const void* address) {
  char byte;
  return ReadOwnValue(reinterpret_cast<uint64_t>(address), &byte);
}

bool IsZero(const char* memory, size_t size_bytes) {
  return std::all_of(memory, memory + size_bytes, [](char byte) { return byte == 0; });
}

ptrdiff_t CountMappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

// Whether `look` is true in a child: one of fork(), and one that no fork handler has seen.
template <typename Look>
void ExpectInChildren(Look look) {
  for (const bool is_bare : {false, true}) {
    const auto child =
        is_bare ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr))
                : fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(look() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << (is_bare ? "bare clone" : "fork");
  }
}

TEST(OwnMemory, ChildrenDoNotHaveItAndMayMakeTheirOwn) {
  LAGWATCH_SKIP_UNDER_EMULATION("madvise(2) does nothing");
  auto* memory = static_cast<char*>(MapOwn(kPartBytes));
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(IsZero(memory, kPartBytes));
  std::fill_n(memory, kPartBytes, 1);
  ExpectInChildren([&] {
    if (IsReadable(memory)) return false;
    auto* other = static_cast<char*>(MapOwn(kPartBytes));
    if (other == nullptr || !IsZero(other, kPartBytes)) return false;
    std::fill_n(other, kPartBytes, 2);
    return true;
  });
  EXPECT_EQ(std::count(memory, memory + kPartBytes, 1), ptrdiff_t{kPartBytes});
  munmap(memory, kPartBytes);
}

TEST(OwnMemory, ChildrenHaveWhatIsKeptAndChangeNothingOfTheParents) {
  auto* memory = static_cast<char*>(MapKept(kPartBytes));
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(IsZero(memory, kPartBytes));
  std::fill_n(memory, kPartBytes, 1);
  ExpectInChildren([&] {
    auto* other = static_cast<char*>(MapKept(kPartBytes));
    if (other == nullptr || !IsZero(other, kPartBytes)) return false;
    std::fill_n(other, kPartBytes, 2);
    return std::count(memory, memory + kPartBytes, 1) == ptrdiff_t{kPartBytes};
  });
  EXPECT_EQ(std::count(memory, memory + kPartBytes, 1), ptrdiff_t{kPartBytes});
  munmap(memory, kPartBytes);
}

TEST(OwnMemory, ChildrenFindWipedWordsZero) {
  LAGWATCH_SKIP_UNDER_EMULATION("madvise(2) does nothing");
  auto* word = static_cast<int*>(TakeWiped(sizeof(int)));
  auto* next = static_cast<int*>(TakeWiped(sizeof(int)));
  if (word == nullptr) GTEST_SKIP() << "this system wipes no memory";
  EXPECT_NE(word, next);
  *word = 1;
  ExpectInChildren([&] {
    if (*word != 0) return false;
    *word = 2;
    return TakeWiped(sizeof(int)) != word;  // a part that was taken is taken here, too
  });
  EXPECT_EQ(*word, 1);
}

TEST(OwnMemory, PartsShareMappings) {
  constexpr size_t kParts = 8;
  std::vector<void*> parts = {MapOwn(kPartBytes), MapKept(kPartBytes)};  // there are mappings that have room
  const ptrdiff_t before = CountMappings();
  for (size_t i = 0; i < kParts; ++i) {
    for (void* part : {MapOwn(kPartBytes), MapKept(kPartBytes)}) {
      ASSERT_NE(part, nullptr);
      static_cast<char*>(part)[0] = 1;
      parts.push_back(part);
    }
  }
  EXPECT_LE(CountMappings(), before + 4);  // one of them may have been full
  for (void* part : parts) munmap(part, kPartBytes);
}

TEST(OwnMemory, LargeOnesAreMappingsOfTheirOwn) {
  constexpr size_t kHugeBytes = 32 << 20;
  for (auto* map : {&MapOwn, &MapKept}) {
    auto* memory = static_cast<char*>(map(kHugeBytes));
    ASSERT_NE(memory, nullptr);
    memory[kHugeBytes - 1] = 1;
    munmap(memory, kHugeBytes);
    EXPECT_EQ(map(size_t{1} << 60), nullptr);
  }
}

TEST(OwnMemory, GuardsCannotBeTouched) {
  LAGWATCH_SKIP_UNDER_EMULATION("madvise(2) does nothing");
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<char*>(MapKept(3 * page_bytes));
  ASSERT_NE(memory, nullptr);
  GuardPages(memory + page_bytes, page_bytes);
  memory[page_bytes - 1] = memory[2 * page_bytes] = 1;
  const auto has_guard = [&] {
    return !IsReadable(memory + page_bytes) && !IsReadable(memory + 2 * page_bytes - 1) &&
           IsReadable(memory + page_bytes - 1) && IsReadable(memory + 2 * page_bytes);
  };
  EXPECT_TRUE(has_guard());
  ExpectInChildren(has_guard);
  munmap(memory, 3 * page_bytes);
}

}  // namespace
}  // namespace lagwatch::base

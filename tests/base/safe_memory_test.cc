// SPDX-License-Identifier: Apache-2.0
#include "base/process/safe_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/system/seccomp.h"
#include "tests/testing/emulation.h"
#include "tests/testing/seccomp_filter.h"

namespace lagwatch::base {
namespace {

// Readable pages, each byte of which holds its page's number; any of them can be taken away.
class Pages {
 public:
  explicit Pages(size_t count) : size_bytes_(count * kPageBytes) {
    void* mapped = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin_ = static_cast<char*>(mapped);
    for (size_t page = 0; page < count; ++page) std::memset(at(page), static_cast<int>(page), kPageBytes);
  }
  ~Pages() { munmap(begin_, size_bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  char* at(size_t page) const { return begin_ + page * kPageBytes; }
  uint64_t address(size_t page) const { return reinterpret_cast<uint64_t>(at(page)); }
  void Forbid(size_t page) const { mprotect(at(page), kPageBytes, PROT_NONE); }

  static inline const size_t kPageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));

 private:
  size_t size_bytes_;
  char* begin_;
};

TEST(ReadOwnMemory, CopiesAcrossPagesAndFromTheMiddleOfOne) {
  Pages pages(3);
  std::vector<char> copy(Pages::kPageBytes + 20);
  ASSERT_EQ(ReadOwnMemory(pages.address(1) - 10, copy.data(), copy.size()), copy.size());
  EXPECT_EQ(std::memcmp(copy.data(), pages.at(1) - 10, copy.size()), 0);
}

TEST(ReadOwnMemory, CopiesMorePagesThanOneSystemCallDoes) {
  Pages pages(150);
  std::vector<char> copy(150 * Pages::kPageBytes - 7);
  ASSERT_EQ(ReadOwnMemory(pages.address(0) + 7, copy.data(), copy.size()), copy.size());
  EXPECT_EQ(std::memcmp(copy.data(), pages.at(0) + 7, copy.size()), 0);
}

TEST(ReadOwnMemory, StopsAtTheFirstUnreadablePage) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc/self/mem reads forbidden pages, too");
  Pages pages(150);
  for (size_t gap : {1, 63, 64, 65, 128, 149}) {
    pages.Forbid(gap);
    std::vector<char> copy(150 * Pages::kPageBytes, 'x');
    uint64_t begin = pages.address(0) + 100;
    size_t readable_bytes = gap * Pages::kPageBytes - 100;
    EXPECT_EQ(ReadOwnMemory(begin, copy.data(), copy.size() - 100), readable_bytes) << "gap at page " << gap;
    EXPECT_EQ(copy[readable_bytes - 1], static_cast<char>(gap - 1));
    EXPECT_EQ(copy[readable_bytes], 'x') << "nothing is written beyond what was read";
    mprotect(pages.at(gap), Pages::kPageBytes, PROT_READ | PROT_WRITE);
  }
}

TEST(ReadOwnMemory, ReadsNothingWhereNothingIs) {
  char copy[16];
  EXPECT_EQ(ReadOwnMemory(0, copy, sizeof copy), 0u);
  EXPECT_EQ(ReadOwnMemory(UINT64_MAX - 7, copy, sizeof copy), 0u) << "the range wraps around";
  EXPECT_EQ(ReadOwnMemory(uint64_t{1} << 63, copy, sizeof copy), 0u) << "no user address";
}

TEST(ReadOwnMemory, ReadsNoBytesFromAnywhere) {
  char untouched = 'x';
  EXPECT_EQ(ReadOwnMemory(0, &untouched, 0), 0u);
  EXPECT_EQ(untouched, 'x');
}

TEST(ReadOwnValue, NeedsAllOfTheValuesBytes) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc/self/mem reads forbidden pages, too");
  Pages pages(2);
  pages.Forbid(1);
  uint64_t value = 0;
  EXPECT_TRUE(ReadOwnValue(pages.address(1) - sizeof value, &value));
  EXPECT_FALSE(ReadOwnValue(pages.address(1) - sizeof value + 1, &value));
}

TEST(ReadOwnMemory, NeverFaultsWhileAnotherThreadUnmaps) {
  constexpr size_t kPages = 8;
  Pages pages(kPages);
  std::atomic<bool> is_over = false;
  std::thread unmapper([&] {
    for (int round = 0; round < 2'000; ++round) {
      pages.Forbid(3);
      mprotect(pages.at(3), Pages::kPageBytes, PROT_READ);
    }
    is_over = true;
  });
  std::vector<char> copy(kPages * Pages::kPageBytes);
  while (!is_over) {
    size_t got = ReadOwnMemory(pages.address(0), copy.data(), copy.size());
    ASSERT_TRUE(got == 3 * Pages::kPageBytes || got == copy.size()) << got;
    ASSERT_EQ(copy[got - 1], static_cast<char>(got / Pages::kPageBytes - 1));
  }
  unmapper.join();
}

bool ForbidProcessVmReadv(unsigned error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return testing::ConfineBy(filter);
}

TEST(ReadOwnMemory, ReadsAlsoWhereASandboxForbidsTheSystemCall) {
  LAGWATCH_SKIP_UNDER_EMULATION("there is no seccomp(2)");
  for (int error : {EPERM, ENOSYS}) {
    Pages pages(3);
    munmap(pages.at(2), Pages::kPageBytes);
    pid_t child = fork();
    if (child == 0) {
      if (!ForbidProcessVmReadv(static_cast<unsigned>(error))) _exit(1);
      static char copy[3 * 65536];
      for (int i = 0; i < 2;
           ++i) {  // the first is refused and goes the other way, the second goes it at once
        if (ReadOwnMemory(pages.address(1) - 10, copy, sizeof copy) != Pages::kPageBytes + 10) _exit(2);
        if (std::memcmp(copy, pages.at(1) - 10, Pages::kPageBytes + 10) != 0) _exit(3);
        if (ReadOwnMemory(pages.address(2), copy, 1) != 0 || ReadOwnMemory(0, copy, 1) != 0) _exit(4);
      }
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "with " << strerror(error);
  }
}

enum class Reader { kFromAnyThread, kFromItsOwn };

class OwnStringTest : public ::testing::TestWithParam<Reader> {
 protected:
  static void Read(uint64_t address, char* copy, size_t size_bytes) {
    if (GetParam() == Reader::kFromAnyThread) return ReadOwnString(address, copy, size_bytes);
    CopyOwnString(reinterpret_cast<const char*>(address), copy, size_bytes);
  }
};
INSTANTIATE_TEST_SUITE_P(Readers, OwnStringTest,
                         ::testing::Values(Reader::kFromAnyThread, Reader::kFromItsOwn),
                         [](const auto& reader) {
                           return reader.param == Reader::kFromAnyThread ? "FromAnyThread" : "FromItsOwn";
                         });

TEST_P(OwnStringTest, CopiesUpToTheTerminator) {
  char copy[16];
  Read(reinterpret_cast<uint64_t>("key-press"), copy, sizeof copy);
  EXPECT_STREQ(copy, "key-press");
}

TEST_P(OwnStringTest, CutsWhatDoesNotFit) {
  char copy[6] = "?????";
  const char* text = "key-press";
  Read(reinterpret_cast<uint64_t>(text), copy, 4);
  EXPECT_STREQ(copy, "key");
  EXPECT_EQ(copy[4], '?');
  Read(reinterpret_cast<uint64_t>(text), copy, 1);
  EXPECT_STREQ(copy, "");
  copy[0] = '?';
  Read(reinterpret_cast<uint64_t>(text), copy, 0);
  EXPECT_EQ(copy[0], '?') << "there is no room for a terminator";
}

TEST_P(OwnStringTest, ReadsAStringThatEndsWithItsPage) {
  Pages pages(2);
  pages.Forbid(1);
  char* text = pages.at(1) - sizeof "save";
  std::memcpy(text, "save", sizeof "save");
  char copy[64];
  Read(reinterpret_cast<uint64_t>(text), copy, sizeof copy);
  EXPECT_STREQ(copy, "save");
}

TEST_P(OwnStringTest, EndsAStringWithoutATerminatorWhereItsPageEnds) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc/self/mem reads forbidden pages, too");
  Pages pages(2);
  pages.Forbid(1);
  std::memcpy(pages.at(1) - 4, "save", 4);
  char copy[64];
  Read(pages.address(1) - 4, copy, sizeof copy);
  EXPECT_STREQ(copy, "save");
}

TEST_P(OwnStringTest, IsEmptyWhereNothingCanBeRead) {
  Pages pages(1);
  pages.Forbid(0);
  for (uint64_t address : {uint64_t{0}, uint64_t{8}, pages.address(0)}) {
    char copy[16] = "before";
    Read(address, copy, sizeof copy);
    EXPECT_STREQ(copy, "");
  }
}

#ifdef SYS_process_vm_readv

// A filter that answers the call with an error, and ends the process when it opens a file.
bool ForbidReadsAndFiles() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return testing::ConfineBy(filter);
}

TEST(ReadOwnMemoryByCall, OpensNoFileWhereTheCallIsForbidden) {
  LAGWATCH_SKIP_UNDER_EMULATION("the emulator has no process_vm_readv()");
  const int number = 7;
  int copy = 0;
  ASSERT_EQ(ReadOwnMemoryByCall(reinterpret_cast<uint64_t>(&number), &copy, sizeof copy), sizeof copy);
  EXPECT_EQ(copy, 7);
  const pid_t child = fork();
  if (child == 0) {
    if (!ForbidReadsAndFiles()) _exit(0);  // no filters here
    _exit(ReadOwnMemoryByCall(reinterpret_cast<uint64_t>(&number), &copy, sizeof copy) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ReadOwnMemoryByCall, MakesNoCallInAConfinedProcess) {
  const int number = 7;
  int copy = 0;
  SetConfined(true);
  EXPECT_EQ(ReadOwnMemoryByCall(reinterpret_cast<uint64_t>(&number), &copy, sizeof copy), 0U);
  SetConfined(false);
}

#endif

}  // namespace
}  // namespace lagwatch::base

// SPDX-License-Identifier: Apache-2.0
#include "base/process/proc_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace lagwatch::base {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using namespace std::string_view_literals;

std::vector<int> ListThreads() {
  std::vector<int> tids;
  ForEachThread(Process::Own(), [&](int tid) {
    tids.push_back(tid);
    return true;
  });
  return tids;
}

// Threads that do nothing until they are released.
class IdleThreads {
 public:
  explicit IdleThreads(int count) : started_(count), tids_(static_cast<size_t>(count)) {
    for (int& tid : tids_) {
      threads_.emplace_back([this, &tid] {
        tid = gettid();
        started_.count_down();
        release_.wait();
      });
    }
    started_.wait();
  }
  ~IdleThreads() {
    release_.count_down();
    for (std::thread& thread : threads_) thread.join();
  }

  const std::vector<int>& tids() const { return tids_; }

 private:
  std::latch started_;
  std::latch release_{1};
  std::vector<int> tids_;
  std::vector<std::thread> threads_;
};

// The lines that a visitor gets of a file with `text`, read by a buffer of 8 bytes; `most` of them.
std::vector<std::string> LinesOf(const std::string& text, size_t most = 100) {
  const std::string path = ::testing::TempDir() + "lines-" + std::to_string(getpid());
  std::ofstream(path) << text;
  std::vector<std::string> lines;
  char buffer[8];
  EXPECT_TRUE(ForEachLine(path.c_str(), buffer, [&](std::string_view line) {
    lines.emplace_back(line);
    return lines.size() < most;
  }));
  unlink(path.c_str());
  return lines;
}

TEST(ForEachLine, VisitsLinesThatAreLongerThanTheBufferInParts) {
  EXPECT_THAT(LinesOf("one\ntwo\n"), ElementsAre("one", "two"));
  EXPECT_THAT(LinesOf("one\n\nthree"), ElementsAre("one", "", "three"));
  EXPECT_THAT(LinesOf("a line of 22 characters\nend\n"),
              ElementsAre("a line o", "f 22 cha", "racters", "end"));
  EXPECT_THAT(LinesOf("one\ntwo\nthree\n", 2), ElementsAre("one", "two"));
  EXPECT_THAT(LinesOf(""), IsEmpty());
  char buffer[8];
  EXPECT_FALSE(ForEachLine("/no/such/file", buffer, [](std::string_view) { return true; }));
}

TEST(ForEachThread, VisitsEveryThreadEvenWhenOneReadOfTheDirectoryCannotHoldThem) {
  IdleThreads idle(300);
  std::vector<int> tids = ListThreads();
  EXPECT_THAT(idle.tids(), IsSubsetOf(tids));
  EXPECT_THAT(tids, Contains(gettid()));
  std::sort(tids.begin(), tids.end());
  EXPECT_EQ(std::adjacent_find(tids.begin(), tids.end()), tids.end()) << "a thread was visited twice";
}

TEST(ForEachThread, EndsWhenTheVisitorHasSeenEnough) {
  IdleThreads idle(3);
  int visits = 0;
  ForEachThread(Process::Own(), [&](int) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
}

TEST(TaskPath, NamesAThreadsFile) {
  EXPECT_STREQ(TaskPath(base::OwnThread(123), "comm").c_str(), "/proc/self/task/123/comm");
  EXPECT_STREQ(TaskPath(base::OwnThread(INT32_MAX), "syscall").c_str(), "/proc/self/task/2147483647/syscall");
}

TEST(TaskPath, CutsALeafThatDoesNotFit) {
  std::string path = TaskPath(base::OwnThread(1), std::string(100, 'x').c_str()).c_str();
  EXPECT_EQ(path, "/proc/self/task/1/" + std::string(63 - 18, 'x'));
}

TEST(ReadSmallFile, ReadsAThreadsName) {
  std::string name;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "indexer");
    char buffer[64];
    name = ReadSmallFile(TaskPath(base::OwnThread(gettid()), "comm").c_str(), buffer, sizeof buffer);
  }).join();
  EXPECT_EQ(name, "indexer\n");
}

TEST(ReadSmallFile, StopsAtTheBuffersEnd) {
  char buffer[8] = "       ";
  EXPECT_EQ(ReadSmallFile("/proc/self/maps", buffer, 4).size(), 4u);
  EXPECT_EQ(buffer[4], ' ');
}

TEST(ReadSmallFile, IsEmptyForAThreadThatIsGone) {
  char buffer[64];
  EXPECT_EQ(ReadSmallFile(TaskPath(base::OwnThread(INT32_MAX), "comm").c_str(), buffer, sizeof buffer), "");
}

TEST(ConsumeHex, TakesTheNumberAndLeavesTheRest) {
  std::string_view text = "7f00dead0000-7f00DEAD1000 r-xp";
  uint64_t value = 0;
  EXPECT_TRUE(ConsumeHex(&text, &value));
  EXPECT_EQ(value, 0x7f00dead0000u);
  text.remove_prefix(1);
  EXPECT_TRUE(ConsumeHex(&text, &value));
  EXPECT_EQ(value, 0x7f00dead1000u);
  EXPECT_EQ(text, " r-xp");
}

TEST(ConsumeHex, SkipsBlanksAndAPrefix) {
  std::string_view text = "  0xff 0x1";
  uint64_t value = 0;
  EXPECT_TRUE(ConsumeHex(&text, &value));
  EXPECT_EQ(value, 0xffu);
  EXPECT_EQ(text, " 0x1");
}

TEST(ConsumeHex, TakesSixtyFourBitsAndNoMore) {
  uint64_t value = 0;
  std::string_view largest = "ffffffffffffffff";
  EXPECT_TRUE(ConsumeHex(&largest, &value));
  EXPECT_EQ(value, UINT64_MAX);
  std::string_view too_large = "10000000000000000";
  EXPECT_FALSE(ConsumeHex(&too_large, &value));
}

TEST(ConsumeHex, LeavesTextWithoutANumberAlone) {
  for (std::string_view text : {""sv, "   "sv, "0x"sv, "0xg"sv, "-1"sv, "xyz"sv, "  [heap]"sv}) {
    std::string_view rest = text;
    uint64_t value = 7;
    EXPECT_FALSE(ConsumeHex(&rest, &value)) << text;
    EXPECT_EQ(rest, text);
    EXPECT_EQ(value, 7u);
  }
}

TEST(ConsumeDecimal, TakesDecimalDigitsOnly) {
  std::string_view text = " 42a 18446744073709551616";
  uint64_t value = 0;
  EXPECT_TRUE(ConsumeDecimal(&text, &value));
  EXPECT_EQ(value, 42u);
  EXPECT_FALSE(ConsumeDecimal(&text, &value));
  text.remove_prefix(1);
  EXPECT_FALSE(ConsumeDecimal(&text, &value)) << "2^64 does not fit";
}

TEST(NumberInLine, IsThatOfTheLineThatBeginsWithTheKey) {
  constexpr std::string_view kLines = "pos:\t0\nnonvoluntary:\t7\nvoluntary:\t 42\nkind:\tx\n";
  EXPECT_EQ(NumberInLine(kLines, "pos:"), 0u);
  EXPECT_EQ(NumberInLine(kLines, "voluntary:"), 42u);
  EXPECT_EQ(NumberInLine(kLines, "kind:"), std::nullopt);
  EXPECT_EQ(NumberInLine(kLines, "none:"), std::nullopt);
  EXPECT_EQ(NumberInLine("high 7", "high "), 7u);
  EXPECT_EQ(NumberInLine("", "high "), std::nullopt);
}

}  // namespace
}  // namespace lagwatch::base

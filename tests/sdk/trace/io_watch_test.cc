// SPDX-License-Identifier: Apache-2.0
// The watch of files in a program that is linked with the SDK.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "tests/sdk/sdk_testing.h"

namespace lagwatch {
namespace {

void LookUp(int calls) {
  struct stat status;
  for (int i = 0; i < calls; ++i) stat("/usr/share/lagwatch-none", &status);
}

class IoWatchTest : public SdkTest {
 protected:
  Options IoOptions() const {
    Options options = TestOptions();
    options.detection.io_watch_ms = 60'000;  // only the number of look-ups counts
    options.detection.io_watch_calls = 1000;
    return options;
  }
  std::vector<report::Report> IoReports() const {
    std::vector<report::Report> reports = Reports();
    std::erase_if(reports, [](const report::Report& report) { return report.kind != report::HangKind::kIo; });
    return reports;
  }
  report::Report TheReport() const {
    EXPECT_TRUE(testing::WaitUntil([&] { return !IoReports().empty(); }));
    const auto reports = IoReports();
    return reports.empty() ? report::Report{} : reports.front();
  }
};

TEST_F(IoWatchTest, ADispatchMayBeNamedByAFunction) {
  auto monitor = Monitor::Start(IoOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  lw_loop* loop = lw_watch_loop("files");
  lw_dispatch_begin(loop, lw_function_tag(reinterpret_cast<uintptr_t>(LookUp)));
  LookUp(1200);
  lw_dispatch_end(loop);
  const report::Report report = TheReport();
  EXPECT_EQ(report.loop, "files");
  EXPECT_THAT(report.tag, ::testing::HasSubstr("+0x"));
  EXPECT_EQ(FactOf(report, "io_lookups"), 1200);
}

TEST_F(IoWatchTest, LoopsOfOneThreadAreCountedOneByOne) {
  auto monitor = Monitor::Start(IoOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  for (const char* name : {"first", "second"}) {  // of the same number each
    lw_loop* loop = lw_watch_loop(name);
    lw_dispatch_begin(loop, "part");
    LookUp(600);
    lw_dispatch_end(loop);
  }
  lw_loop* outer = lw_watch_loop("outer");
  lw_dispatch_begin(outer, "dialog");
  lw_loop* inner = lw_watch_loop("inner");
  lw_unwatch_loop(inner);
  LookUp(1200);
  lw_dispatch_end(outer);
  const report::Report report = TheReport();
  EXPECT_EQ(report.loop, "outer");
  EXPECT_EQ(FactOf(report, "io_lookups"), 1200);
}

// The loader's lock is held while a library's constructor runs. With a recorder, too, which hooks calls as
// well.
TEST_F(IoWatchTest, AConstructorOfALoadedLibraryMayStartIt) {
  setenv("LAGWATCH_TEST_SPOOL", (directory_ / "spool").c_str(), 1);
  ASSERT_NE(dlopen(LAGWATCH_STARTING_LIBRARY, RTLD_NOW), nullptr) << dlerror();
  const report::Report report = TheReport();
  EXPECT_EQ(report.loop, "constructor");
  EXPECT_EQ(FactOf(report, "io_lookups"), 1200);
  lw_stop(0);
}

// Writes a text into `room` that is nowhere in this program's file: of numbers from `seed` on.
void Fill(std::span<char> room, uint32_t seed) {
  for (char& byte : room) {
    seed = seed * 1'664'525 + 1'013'904'223;
    byte = static_cast<char>(seed >> 24);
  }
}

// Looks files up while `seed`'s text is on its stack, in the frames that a report copies.
[[gnu::noinline]] void LookUpWithSecret(uint32_t seed) {
  char secret[64];
  Fill(secret, seed);
  asm volatile("" : : "r"(secret) : "memory");
  LookUp(1200);
  std::ranges::fill(secret, 0);
  asm volatile("" : : "r"(secret) : "memory");
}

// The number of places in this process's memory that have the text of `seed`.
size_t PlacesWithSecret(uint32_t seed) {
  std::array<char, 64> sought;
  size_t places = 0;
  std::ifstream maps("/proc/self/maps");
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char access[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3 || access[1] != 'w') continue;
    std::vector<char> bytes(end - begin);
    const ssize_t size = pread(memory, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (size <= 0) continue;
    Fill(sought, seed);
    places += static_cast<size_t>(
        memmem(bytes.data(), static_cast<size_t>(size), sought.data(), sought.size()) != nullptr);
    sought.fill(0);
    std::ranges::fill(bytes, 0);
  }
  close(memory);
  return places;
}

TEST_F(IoWatchTest, NoCopyOfTheStackIsLeft) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own mappings are too large to be searched";
#endif
  constexpr uint32_t kSeed = 4711;
  std::array<char, 64> planted;
  Fill(planted, kSeed);
  ASSERT_GE(PlacesWithSecret(kSeed), 1u) << "the search itself";
  planted.fill(0);
  asm volatile("" : : "r"(planted.data()) : "memory");
  ASSERT_EQ(PlacesWithSecret(kSeed), 0u);
  auto monitor = Monitor::Start(IoOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  lw_loop* loop = lw_watch_loop("files");
  lw_dispatch_begin(loop, "read");
  LookUpWithSecret(kSeed);
  const size_t before_report = PlacesWithSecret(kSeed);  // the dispatch is not over
  lw_dispatch_end(loop);
  EXPECT_GE(before_report, 1u) << "the copy that the report needs";
  EXPECT_EQ(TheReport().tag, "read");
  EXPECT_TRUE(testing::WaitUntil([&] { return PlacesWithSecret(kSeed) == 0; }));
}

// The paths that were looked up are no part of a report, and of the spool that it is in.
TEST_F(IoWatchTest, NoNamesOfTheUsersFilesAreWritten) {
  auto monitor = Monitor::Start(IoOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  lw_loop* loop = lw_watch_loop("files");
  lw_dispatch_begin(loop, "read");
  struct stat status;
  for (int i = 0; i < 1200; ++i) stat((directory_ / "divorce papers/draft.txt").c_str(), &status);
  lw_dispatch_end(loop);
  const report::Report report = TheReport();
  EXPECT_EQ(FactOf(report, "io_lookups"), 1200);
  EXPECT_THAT(TextFactOf(report, "io_below"), ::testing::EndsWith("/"));
  monitor.Stop();
  size_t files = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory_ / "spool")) {
    if (!file.is_regular_file()) continue;
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    files += !bytes.empty();
    EXPECT_EQ(bytes.find("divorce"), std::string::npos) << file.path();
    EXPECT_EQ(bytes.find("draft"), std::string::npos) << file.path();
  }
  EXPECT_GE(files, 1u);
}

}  // namespace
}  // namespace lagwatch

// SPDX-License-Identifier: Apache-2.0
// The watch of files in a program that is linked with the SDK.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

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

}  // namespace
}  // namespace lagwatch

// SPDX-License-Identifier: Apache-2.0
// Programs under `lagwatch run` that leave little to capture with: they must run as without it, and their
// hang must be reported, with the reason if it has no stack.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

class CaptureHostsTest : public ::testing::Test {
 protected:
  // The text of the report of the program's only hang.
  std::string ReportOf(const std::string& kind) {
    constexpr int kExitCode = 3;
    testing::Process host({LAGWATCH_PROGRAM, "run", "--threshold-ms", "200", "--threads", "all", "--spool",
                           spool_, "--", LAGWATCH_CAPTURE_HOST, kind});
    const int code = host.Wait();
    if (code == kSkipped) return "";
    EXPECT_EQ(code, kExitCode) << host.Errors();
    EXPECT_EQ(host.Output(), "done\n");
    testing::Process list({LAGWATCH_PROGRAM, "reports", "--spool", spool_});
    EXPECT_EQ(list.Wait(), 0) << list.Errors();
    testing::Process report({LAGWATCH_PROGRAM, "report", LastWord(list.Output()), "--spool", spool_});
    EXPECT_EQ(report.Wait(), 0) << report.Errors();
    return report.Output();
  }
  static std::string LastWord(const std::string& text) {
    std::istringstream words(text);
    std::string last;
    while (words >> last) {
    }
    return last;
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  static constexpr int kSkipped = 77;
  testing::ScopedTempDirectory directory_;
  const std::string spool_ = directory_ / "spool";
};

TEST_F(CaptureHostsTest, ASmallSignalStackGetsNoSignal) {
  const std::string report = ReportOf("small-signal-stack");
  if (report.empty()) GTEST_SKIP() << "the kernel refuses small signal stacks";
  EXPECT_TRUE(Has(report, "small_signal_stack")) << report;
}

TEST_F(CaptureHostsTest, AProgramThatHandlesAllSignalsIsWatched) {
  const std::string report = ReportOf("all-signals-handled");
  EXPECT_TRUE(Has(report, "no_signal")) << report;
}

TEST_F(CaptureHostsTest, AProgramThatBlocksAllSignalsIsWatched) {
  const std::string report = ReportOf("all-signals-blocked");
  EXPECT_TRUE(Has(report, "signal_blocked")) << report;
}

TEST_F(CaptureHostsTest, AThreadIsCapturedAfterTheMainThreadsEnd) {
  const std::string report = ReportOf("main-ended");
  EXPECT_TRUE(Has(report, "Burn")) << report;
}

}  // namespace
}  // namespace lagwatch

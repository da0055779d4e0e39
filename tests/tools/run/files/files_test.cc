// SPDX-License-Identifier: Apache-2.0
// The watch of files under `lagwatch run`: programs that use files in a handler, and what reports say of it.
// The truth is the number of calls that each program has made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/stack/interpreters/pythons.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLimitMs[] = "20";

class FilesTest : public RunTest {
 protected:
  // Runs the recipe with the watch on; returns the report of kind `io`, or null without one.
  json Use(const std::string& recipe, const std::vector<std::string>& flags = {"--io-watch-ms", kLimitMs}) {
    Process process(Watched({LAGWATCH_FILE_USER, recipe, folder_.path(), kLimitMs}, flags));
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    const std::string output = process.Output();
    calls_ = std::stol(output.substr(output.find("calls=") + 6));
    return FirstReport();
  }
  json FirstReport() {
    const json headers = Ask({"reports"});
    for (const json& header : headers) {
      if (header.at("kind") == "io") return Ask({"report", header.at("id")});
    }
    return nullptr;
  }
  static void ExpectAt(const json& report, const char* function) {
    EXPECT_THAT(report.at("expensive_stack").dump(), HasSubstr(function));
    EXPECT_THAT(report.at("expensive_stack").dump(), Not(HasSubstr("lagwatch-preload")));
  }

  testing::ScopedTempDirectory folder_;
  long calls_ = 0;
};

TEST_F(FilesTest, ReadsThatTakeLongTogetherAreReported) {
  const json report = Use("read");
  ASSERT_FALSE(report.is_null());
  ExpectAt(report, "ReadFile");
  const json& facts = report.at("facts");
  EXPECT_EQ(facts.at("io_reads"), calls_);
  EXPECT_EQ(facts.at("io_bytes"), calls_ * 16384);
  EXPECT_GE(facts.at("io_us"), 20'000);
  EXPECT_EQ(report.at("threshold_ms"), 20);
  EXPECT_EQ(report.at("ended"), true);
  EXPECT_NEAR(report.at("duration_ms").get<double>(), facts.at("io_us").get<double>() / 1000, 1);
}

TEST_F(FilesTest, SyncsAreReportedWithTheirFile) {
  const json report = Use("sync");
  ASSERT_FALSE(report.is_null());
  ExpectAt(report, "SyncFile");
  EXPECT_EQ(report.at("facts").at("io_syncs"), calls_);
  EXPECT_EQ(report.at("facts").at("io_writes"), calls_);
  EXPECT_EQ(report.at("facts").at("io_bytes"), 5 * calls_);
}

TEST_F(FilesTest, ManyShortLookupsAreReportedWithTheirFolder) {
  const json report = Use("storm");
  ASSERT_FALSE(report.is_null());
  ExpectAt(report, "StatStorm");
  EXPECT_EQ(calls_, 4100);
  EXPECT_EQ(report.at("facts").at("io_lookups"), calls_);
  EXPECT_EQ(report.at("facts").at("io_below_percent"), 100);
  const std::string folder = report.at("facts").at("io_below");
  EXPECT_THAT(folder, EndsWith("/…/"));
  EXPECT_THAT(folder, Not(HasSubstr("plugins"))) << "it is not the system's";
}

TEST_F(FilesTest, FoldersOfTheSystemAreNamed) {
  const json report = Use("system");
  ASSERT_FALSE(report.is_null());
  EXPECT_EQ(report.at("facts").at("io_lookups"), calls_);
  EXPECT_EQ(report.at("facts").at("io_below"), "/usr/share/lagwatch-none/");
}

TEST_F(FilesTest, ACallMayOverwriteItsOwnPath) {
  const json report = Use("overwrite", {"--io-watch-ms", "60000", "--io-watch-calls", "2"});
  ASSERT_FALSE(report.is_null());
  EXPECT_EQ(report.at("facts").at("io_lookups"), 1);
}

TEST_F(FilesTest, AReusedDescriptorIsNotTheFileThatItWas) {
  const json report = Use("reuse");
  ASSERT_FALSE(report.is_null());
  EXPECT_EQ(report.at("facts").at("io_class"), "socket");
  EXPECT_FALSE(report.at("facts").contains("io_path"));
}

TEST_F(FilesTest, ACallInsideAnotherOneCountsOnce) {
  const json report = Use("nested");
  ASSERT_FALSE(report.is_null());
  EXPECT_EQ(report.at("facts").at("io_reads"), 2);
  EXPECT_LE(report.at("facts").at("io_us").get<long>(), calls_ * 3 / 2) << "the call's time, in µs";
}

TEST_F(FilesTest, LinesOutOfABufferCount) {
  const json report = Use("lines", {"--io-watch-ms", "60000", "--io-watch-calls", "2"});
  ASSERT_FALSE(report.is_null());
  EXPECT_EQ(calls_, 1000);
  EXPECT_EQ(report.at("facts").at("io_writes"), 1000);
  EXPECT_EQ(report.at("facts").at("io_reads"), 1001);
  EXPECT_EQ(report.at("facts").at("io_bytes"), 2 * 5 * 1000);
}

TEST_F(FilesTest, ADispatchThatUsedFilesIsOver) {
  Process process(
      Watched({LAGWATCH_FILE_USER, "die", folder_.path(), kLimitMs}, {"--io-watch-ms", kLimitMs}));
  EXPECT_EQ(process.Wait(), -SIGKILL);
  EXPECT_EQ(Process(Watched({"/bin/true"})).Wait(), 0);  // reports how the run before it has ended
  const json report = FirstReport();
  ASSERT_FALSE(report.is_null());
  EXPECT_NEAR(report.at("duration_ms").get<double>(), report.at("facts").at("io_us").get<double>() / 1000, 1);
  EXPECT_THAT(Ask({"reports"}).dump(), Not(HasSubstr("killed-in-hang")));
}

TEST_F(FilesTest, ALookupStormWithinTheLimitsIsNone) {
  EXPECT_TRUE(Use("storm", {"--io-watch-ms", "60000", "--io-watch-calls", "5000"}).is_null());
}

TEST_F(FilesTest, OneLongOpenIsReportedWithItsPath) {
  const json report = Use("open");
  ASSERT_FALSE(report.is_null());
  ExpectAt(report, "OpenLate");
  EXPECT_EQ(report.at("facts").at("io_longest_call"), "open");
  const std::string path = report.at("facts").at("io_path");
  EXPECT_THAT(path, EndsWith("/*"));
  EXPECT_THAT(path, Not(HasSubstr("answers")));
  EXPECT_GE(report.at("facts").at("io_longest_us"), 20'000);
}

TEST_F(FilesTest, AWaitForAFilesLockIsReportedWithItsPath) {
  const json report = Use("lock");
  ASSERT_FALSE(report.is_null());
  ExpectAt(report, "LockLate");
  EXPECT_EQ(report.at("facts").at("io_locks"), 1);
  EXPECT_THAT(report.at("facts").at("io_path").get<std::string>(), EndsWith("/*"));
}

TEST_F(FilesTest, StreamsCountAsFiles) {
  const json report = Use("stream");
  ASSERT_FALSE(report.is_null());
  ExpectAt(report, "ReadSettings");
  EXPECT_EQ(report.at("facts").at("io_opens"), calls_ + 1);
  EXPECT_EQ(report.at("facts").at("io_reads"), calls_);
}

TEST_F(FilesTest, ListingsOfFoldersCount) {
  const json report = Use("list");
  ASSERT_FALSE(report.is_null());
  ExpectAt(report, "ListFolder");
  EXPECT_EQ(report.at("facts").at("io_opens"), calls_);
  EXPECT_GE(report.at("facts").at("io_lists"), 3 * calls_);
}

TEST_F(FilesTest, NameLookupsCountAndNameNoHost) {
  const json report = Use("resolve");
  ASSERT_FALSE(report.is_null());
  ExpectAt(report, "ResolveNames");
  EXPECT_EQ(report.at("facts").at("io_name_lookups"), calls_);
  EXPECT_THAT(report.at("facts").dump(), Not(HasSubstr("localhost")));
}

// Its thread has copied its own stack, not the interpreter's: a script's functions would be those of a later
// moment.
TEST_F(FilesTest, AScriptsReportHasNoFramesOfALaterMoment) {
  Process process(Watched({testing::Pythons().front(), LAGWATCH_LOOKING_UP}, {"--io-watch-ms", "60000"}));
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  const json report = FirstReport();
  ASSERT_FALSE(report.is_null());
  EXPECT_EQ(report.at("facts").at("io_lookups"), 4100);
  const std::string stack = report.at("expensive_stack").dump();
  EXPECT_THAT(stack, Not(HasSubstr("later")));
  EXPECT_THAT(stack, Not(HasSubstr("looking_up.py")));
  EXPECT_GE(report.at("expensive_stack").size(), 3u) << "the interpreter's own functions";
}

TEST_F(FilesTest, LittleUseAndOtherThreadsAreNot) {
  EXPECT_TRUE(Use("little").is_null());
  EXPECT_TRUE(Use("elsewhere").is_null());
}

TEST_F(FilesTest, WithoutTheOptionNothingIs) { EXPECT_TRUE(Use("open", {}).is_null()); }

}  // namespace
}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
// Nothing that names a person is in the spool's bytes.
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <pthread.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "tests/testing/process.h"
#include "tests/testing/spool_files.h"
#include "tests/testing/stalls.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

namespace fs = std::filesystem;
using testing::ReportsIn;

// All files below the directory, one after the other.
std::string BytesBelow(const std::string& directory) {
  std::ostringstream bytes;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes << std::ifstream(entry.path()).rdbuf();
  }
  return bytes.str();
}

TEST(ScrubbedReport, HoldsNoNamesNumbersHomesNorWhatThePatternsFind) {
  testing::ScopedTempDirectory directory;
  const std::string spool = directory / "spool";
  // The home that this program's own file is in.
  const std::string home = fs::read_symlink("/proc/self/exe").parent_path();
  setenv("HOME", home.c_str(), 1);
  auto monitor = Monitor::Start({.app = "scrub-test",
                                 .spool_directory = spool,
                                 .threshold_ms = 100,
                                 .detection = {.check_period_ms = 50, .sample_interval_ms = 10},
                                 .privacy = {.scrub_tags = "token=*"}});
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  lw_set_scene("mail from jane@example.org");
  lw_set_value("account", "4929 and 004917012345678");
  pthread_setname_np(pthread_self(), "jane@example");
  auto loop = monitor.WatchLoop("ui of jane@example.org");
  {
    ScopedDispatch dispatch(loop, "open /home/jane/letter?token=secret now");
    testing::StopFlag stop{false};
    std::thread judge([&] {
      EXPECT_TRUE(testing::WaitUntil([&] { return !ReportsIn(spool).empty(); }));
      stop = true;
    });
    testing::Spin(stop);
    judge.join();
  }
  monitor.Stop(0);

  const auto reports = ReportsIn(spool);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports[0].loop, "ui of …");
  EXPECT_EQ(reports[0].tag, "open ~/letter?… now");
  bool is_own_module_there = false;
  for (const auto& module : reports[0].modules)
    is_own_module_there = is_own_module_there || module.path == "~/sdk_tests";
  EXPECT_TRUE(is_own_module_there);
  const std::string bytes = BytesBelow(spool);
  for (const std::string& part :
       {std::string("jane"), std::string("example"), std::string("secret"), std::string("17012345678"), home})
    EXPECT_EQ(bytes.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace lagwatch

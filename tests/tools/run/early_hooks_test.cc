// SPDX-License-Identifier: Apache-2.0
// The preloaded library's hooks before any constructor, in a constructor that runs before the library's, and
// in a signal handler.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

// The functions of preload.map that stand in front of others.
std::set<std::string> Hooks() {
  std::ifstream file(LAGWATCH_PRELOAD_MAP);
  std::ostringstream text;
  text << file.rdbuf();
  std::set<std::string> hooks;
  const std::string exports = text.str();
  const std::regex name(R"((\w+);)");
  for (auto at = std::sregex_iterator(exports.begin(), exports.end(), name); at != std::sregex_iterator();
       ++at) {
    const std::string hook = (*at)[1].str();
    // adapters_test.cc has programs of Qt and of liburing.
    const bool is_of_library = hook.starts_with("_ZN") || hook.find("io_uring") != std::string::npos;
    if (!hook.starts_with("lagwatch_") && !is_of_library) hooks.insert(hook);
  }
  return hooks;
}

class EarlyHooksTest : public RunTest {};

TEST_F(EarlyHooksTest, TheProgramCallsEachHook) {
  Process listing({LAGWATCH_EARLY_HOOKS, "--list"});
  ASSERT_EQ(listing.Wait(), 0);
  std::set<std::string> called;
  std::istringstream lines(listing.Output());
  for (std::string line; std::getline(lines, line);) called.insert(line);
  EXPECT_EQ(called, Hooks());
}

TEST_F(EarlyHooksTest, EachDoesWhatItDoesWithoutLagwatch) {
  Process bare({LAGWATCH_EARLY_HOOKS});
  EXPECT_EQ(bare.Wait(), 3);
  EXPECT_NE(bare.Output(), "");
  for (const char* threads : {"auto", "all"}) {
    Process watched(Watched({LAGWATCH_EARLY_HOOKS}, {"--threads", threads}));
    EXPECT_EQ(watched.Wait(), 3);
    EXPECT_EQ(watched.Output(), bare.Output());
    EXPECT_EQ(watched.Errors(), "");
  }
}

}  // namespace
}  // namespace lagwatch::tools

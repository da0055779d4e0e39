// SPDX-License-Identifier: Apache-2.0
// Deadlocks of a lock with an initializer, which is a lock in all but its name.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

// The innermost function of its own at which a thread waits, and the kind of what it waits for.
struct Side {
  std::string at;
  std::string kind;
};

class DeadlocksTest : public RunTest {
 protected:
  // Of the program, which is left in its deadlock: a report that names both sides.
  void ExpectDeadlock(const std::vector<std::string>& program, const Side& hung, const Side& other) {
    Process process(Watched(program));
    json found;
    EXPECT_TRUE(testing::WaitUntil([&] {
      Process list({LAGWATCH_PROGRAM, "reports", "--spool", spool_, "--json"});
      if (list.Wait() != 0) return false;  // there is no spool yet
      const json reports = json::parse(list.Output());
      if (!reports.empty()) found = Ask({"report", reports.back()["id"]});
      return !reports.empty();
    })) << process.Errors();
    process.Signal(SIGKILL);
    EXPECT_EQ(process.Wait(), -SIGKILL);
    ASSERT_FALSE(found.is_null());
    EXPECT_EQ(found["verdict"]["word"], "deadlock");
    EXPECT_EQ(found["deadlock"], true);
    const json& waits = found["waits"];
    ASSERT_EQ(waits.size(), 2u) << waits.dump(1);
    EXPECT_EQ(waits[0]["owner"]["tid"], waits[1]["tid"]);
    EXPECT_EQ(waits[1]["owner"]["tid"], waits[0]["tid"]);
    EXPECT_EQ(waits[0]["kind"], hung.kind);
    EXPECT_EQ(waits[0]["at"], hung.at);
    EXPECT_EQ(waits[1]["kind"], other.kind);
    EXPECT_EQ(waits[1]["at"], other.at);
  }
};

TEST_F(DeadlocksTest, OfAnInitializerAndAMutexNamesBothThreads) {
  ExpectDeadlock({LAGWATCH_ONCE_AND_MUTEX}, {"Plugins::Index", "once"}, {"Plugins::BuildIndex", "mutex"});
}

TEST_F(DeadlocksTest, OfAStaticVariableAndPythonsLockNamesBothThreads) {
  ExpectDeadlock({"/usr/bin/python3", LAGWATCH_GUARD_AND_GIL, LAGWATCH_GUARD_AND_GIL_LIBRARY},
                 {"show_settings (guard_and_gil.py)", "once"},
                 {"load_settings (guard_and_gil.py)", "interpreter-lock"});
}

}  // namespace
}  // namespace lagwatch::tools

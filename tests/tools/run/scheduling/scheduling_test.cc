// SPDX-License-Identifier: Apache-2.0
// Changes of a watched thread's scheduling, as facts of the report of its next hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SchedulingTest : public RunTest {
 protected:
  json FactsOf(const std::string& how) {
    Process process(Watched({LAGWATCH_RESCHEDULED, how, "300"}));
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return Facts();
  }
  json Facts() {
    const json headers = Ask({"reports"});
    EXPECT_GE(headers.size(), 1u);
    return headers.empty() ? json::object() : Ask({"report", headers.back().at("id")}).at("facts");
  }
};

TEST_F(SchedulingTest, WithoutAChangeNothingIsSaid) {
  const json facts = FactsOf("none");
  EXPECT_TRUE(facts.contains("nice"));
  EXPECT_GE(facts.at("processors_allowed"), 1);
  for (const char* name : {"nice_before", "scheduling_changed_by", "scheduling_changed_within_ms"})
    EXPECT_FALSE(facts.contains(name)) << name;
}

TEST_F(SchedulingTest, TheThreadsOwnCallIsNamed) {
  if (getpriority(PRIO_PROCESS, 0) == 19) GTEST_SKIP() << "nothing would change";
  const json facts = FactsOf("nice");
  EXPECT_EQ(facts.at("nice"), 19);
  EXPECT_EQ(facts.at("nice_before"), getpriority(PRIO_PROCESS, 0));
  EXPECT_THAT(facts.at("scheduling_changed_by").get<std::string>(),
              AllOf(HasSubstr("setpriority() in rescheduled+0x"), HasSubstr("by the thread itself")));
  EXPECT_LT(facts.at("scheduling_changed_ms"), facts.at("scheduling_changed_within_ms"));
}

TEST_F(SchedulingTest, NiceThatReturnsMinusOneHasSucceeded) {
  Process process(Watched({LAGWATCH_RESCHEDULED, "minus", "300"}));
  const int result = process.Wait();
  if (result == 3) GTEST_SKIP() << "not allowed";
  ASSERT_EQ(result, 0) << process.Errors();
  const json facts = Facts();
  EXPECT_EQ(facts.at("nice"), -1);
  EXPECT_THAT(facts.at("scheduling_changed_by").get<std::string>(), HasSubstr("nice() in rescheduled+0x"));
}

TEST_F(SchedulingTest, AnotherThreadsCallIsNamed) {
  const json facts = FactsOf("batch");
  EXPECT_EQ(facts.at("scheduling_policy"), "batch");
  EXPECT_EQ(facts.at("scheduling_policy_before"), "other");
  EXPECT_THAT(facts.at("scheduling_changed_by").get<std::string>(), HasSubstr("pthread_setschedparam() in"));
}

TEST_F(SchedulingTest, FewerProcessorsAreSeen) {
  const json facts = FactsOf("processor");
  EXPECT_EQ(facts.at("processors_allowed"), 1);
  if (!facts.contains("processors_allowed_before")) GTEST_SKIP() << "there is one processor";
  EXPECT_GT(facts.at("processors_allowed_before"), 1);
  EXPECT_THAT(facts.at("scheduling_changed_by").get<std::string>(), HasSubstr("sched_setaffinity()"));
}

TEST_F(SchedulingTest, ASystemCallIsNamedToo) {
  const json facts = FactsOf("attributes");
  EXPECT_EQ(facts.at("scheduling_policy"), "batch");
  EXPECT_THAT(facts.at("scheduling_changed_by").get<std::string>(), HasSubstr("sched_setattr()"));
}

TEST_F(SchedulingTest, AnotherProcesssChangeIsSeenWithoutAName) {
  if (getpriority(PRIO_PROCESS, 0) == 19) GTEST_SKIP() << "nothing would change";
  Process process(Watched({LAGWATCH_RESCHEDULED, "outside", "300"}));
  ASSERT_TRUE(testing::WaitUntil([&] { return process.Output().find('\n') != std::string::npos; }));
  const pid_t pid = std::stoi(process.Output());
  ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 19), 0);
  kill(pid, SIGUSR1);
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  const json facts = Facts();
  EXPECT_EQ(facts.at("nice"), 19);
  EXPECT_EQ(facts.at("nice_before"), getpriority(PRIO_PROCESS, 0));
  EXPECT_TRUE(facts.contains("scheduling_changed_within_ms"));
  EXPECT_FALSE(facts.contains("scheduling_changed_by"));
}

}  // namespace
}  // namespace lagwatch::tools

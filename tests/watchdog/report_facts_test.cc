// SPDX-License-Identifier: Apache-2.0
// Facts against the kernel's values that the test reads by other ways.
#include "watchdog/report_facts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "stack/unwind/table_unwinder.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::watchdog {
namespace {

std::string Content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The average of the last 10 s as the kernel prints it; empty when it does not.
std::string Average(const std::string& resource, const std::string& kind) {
  std::string text = Content("/proc/pressure/" + resource);
  size_t line = text.find(kind + " avg10=");
  if (line == std::string::npos) return "";
  size_t begin = line + kind.size() + 7;
  return text.substr(begin, text.find(' ', begin) - begin);
}

class ReportFactsTest : public ::testing::Test {
 protected:
  ReportFactsTest() {
    tick_scale_.Anchor({0, 0});
    tick_scale_.Update({1000, 1000});
    tools_.capturer = capturer_.get();
    tools_.tick_scale = &tick_scale_;
    tools_.counters = &counters_;
  }
  std::map<std::string, int64_t> Read() {
    FactList list;
    AddProcessFacts(tools_, &list);
    std::map<std::string, int64_t> facts;
    for (const Fact& fact : list.all()) facts[fact.name] = fact.number;
    EXPECT_EQ(facts.size(), list.all().size()) << "a fact is told twice";
    return facts;
  }
  // A number that changes all the time is the same before and after at some time.
  void ExpectPermille(const std::string& fact, const std::function<std::string()>& text, double scale) {
    if (text().empty()) {
      EXPECT_FALSE(Read().contains(fact));
      return;
    }
    EXPECT_TRUE(testing::WaitUntil([&] {
      const std::string before = text();
      const int64_t number = Read()[fact];
      return text() == before && number == std::llround(std::stod(before) * scale);
    })) << fact;
  }

  std::unique_ptr<stack::StackCapturer> capturer_ =
      stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
  base::TickScale tick_scale_;
  WatchCounters counters_;
  WatchTools tools_{};
};

TEST_F(ReportFactsTest, CountFilesAndThreads) {
  const std::map<std::string, int64_t> before = Read();
  std::vector<int> files;
  for (int i = 0; i < 200; ++i) files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(Read()["open_fds"], before.at("open_fds") + 200);
  for (int fd : files) close(fd);
  EXPECT_EQ(Read()["open_fds"], before.at("open_fds"));
  {
    testing::StalledThread thread(testing::WaitForLock);
    EXPECT_GT(Read()["threads"], before.at("threads"));
  }
}

TEST_F(ReportFactsTest, HaveTheLimitOfOpenFilesAsItIsThen) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit lower{.rlim_cur = 600, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  EXPECT_EQ(Read()["open_fds_limit"], 600);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST_F(ReportFactsTest, TellHowTheThreadIsScheduled) {
  testing::StalledThread thread(testing::WaitForLock);
  auto facts_of = [&] {
    FactList list;
    AddThreadFacts(thread.tid(), tools_, &list);
    std::map<std::string, std::string> facts;
    for (const Fact& fact : list.all())
      facts[fact.name] = fact.text != nullptr ? fact.text : std::to_string(fact.number);
    return facts;
  };
  using Facts = std::map<std::string, std::string>;
  const std::string nice = std::to_string(getpriority(PRIO_PROCESS, 0));
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_EQ(facts_of(), (Facts{{"foreground", "1"},
                               {"nice", nice},
                               {"processors_allowed", std::to_string(CPU_COUNT(&allowed))},
                               {"scheduling_policy", "other"}}));
  ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(thread.tid()), 17), 0);
  EXPECT_EQ(facts_of()["nice"], "17");
  const sched_param none{};
  ASSERT_EQ(sched_setscheduler(thread.tid(), SCHED_BATCH, &none), 0);
  EXPECT_EQ(facts_of()["scheduling_policy"], "batch");
  ASSERT_EQ(sched_setscheduler(thread.tid(), SCHED_IDLE, &none), 0);
  EXPECT_EQ(facts_of()["scheduling_policy"], "idle");
  const auto registry = std::make_unique<LoopRegistry>();
  tools_.registry = registry.get();
  registry->SetForeground(false);
  EXPECT_EQ(facts_of()["foreground"], "0");
  if (setpriority(PRIO_PROCESS, static_cast<id_t>(thread.tid()), -3) == 0) {  // root only
    EXPECT_EQ(facts_of()["nice"], "-3");
  }
  const sched_param realtime{.sched_priority = 7};
  if (sched_setscheduler(thread.tid(), SCHED_FIFO, &realtime) != 0) return;
  EXPECT_EQ(facts_of()["scheduling_policy"], "fifo");
  EXPECT_EQ(facts_of()["realtime_priority"], "7");
}

TEST_F(ReportFactsTest, TellMemoryInBytes) {
  constexpr size_t kBytes = 64 << 20;
  const int64_t before = Read()["rss_bytes"];
  EXPECT_GT(before, 0);
  std::unique_ptr<char[]> memory(new char[kBytes]);
  for (size_t i = 0; i < kBytes; i += 4096) memory[i] = 1;
  EXPECT_GT(Read()["rss_bytes"], before + int64_t{kBytes} / 4 * 3);
  EXPECT_EQ(memory[4096], 1);
}

TEST_F(ReportFactsTest, TellTheMachinesLoadAndPressure) {
  ExpectPermille(
      "load_1min_permille",
      [] { return Content("/proc/loadavg").substr(0, Content("/proc/loadavg").find(' ')); }, 1000);
  ExpectPermille(
      "cpu_pressure_permille", [] { return Average("cpu", "some"); }, 10);
  ExpectPermille(
      "memory_pressure_permille", [] { return Average("memory", "some"); }, 10);
  ExpectPermille(
      "memory_full_pressure_permille", [] { return Average("memory", "full"); }, 10);
  ExpectPermille(
      "io_pressure_permille", [] { return Average("io", "some"); }, 10);
  ExpectPermille(
      "io_full_pressure_permille", [] { return Average("io", "full"); }, 10);
}

TEST_F(ReportFactsTest, TellTheControlGroupsMemoryWhereThereIsOne) {
  const std::map<std::string, int64_t> facts = Read();
  if (!facts.contains("cgroup_memory_bytes")) GTEST_SKIP() << "there is no control group for memory";
  EXPECT_GT(facts.at("cgroup_memory_bytes"), 0);
  if (facts.contains("cgroup_memory_limit_bytes")) {
    EXPECT_GE(facts.at("cgroup_memory_limit_bytes"), facts.at("cgroup_memory_bytes"));
  }
  EXPECT_TRUE(facts.contains("cgroup_oom_kills"));
}

TEST_F(ReportFactsTest, TellWhatTheWatchdogCosts) {
  std::map<std::string, int64_t> facts = Read();
  EXPECT_EQ(facts["capture_signals"], 0);
  EXPECT_EQ(facts["capture_pause_us"], 0);
  EXPECT_FALSE(facts.contains("handler_lost"));
  const int64_t cpu_us = facts["watchdog_cpu_us"];  // of this thread, here
  EXPECT_TRUE(testing::WaitUntil([&] { return Read()["watchdog_cpu_us"] > cpu_us; }));
  testing::StalledThread thread(testing::Spin);
  stack::Stack stack;
  capturer_->RefreshModules();
  EXPECT_TRUE(testing::WaitUntil([&] {
    capturer_->Capture(thread.tid(), &stack);
    return capturer_->counters().pause_ticks.value() > 0;
  }));
  EXPECT_GE(Read()["capture_signals"], 1);
  // The scale of this test says that a tick is a nanosecond.
  EXPECT_EQ(Read()["capture_pause_us"],
            static_cast<int64_t>(capturer_->counters().pause_ticks.value()) / 1000);
}

}  // namespace
}  // namespace lagwatch::watchdog

// SPDX-License-Identifier: Apache-2.0
// Waits of run times, watched from outside: these sleep in a condition or poll descriptors of their own,
// whatever the script waits for.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/stack/interpreters/pythons.h"
#include "tests/tools/watch/watch_testing.h"

namespace lagwatch::tools {
namespace {

class RuntimeWaitsTest : public WatchTest {
 protected:
  // The report of the last freeze of `command`, which prints "begun" and idles before.
  json ReportOf(const std::vector<std::string>& command) {
    threshold_ms_ = "300";
    const std::vector<json> reports = Reports(command);
    EXPECT_FALSE(reports.empty());
    return reports.empty() ? json::object() : reports[0];
  }
  // It freezes twice: handlers that sleep higher on the stack than the loop are known by then.
  json ReportOfRuby(const std::string& freeze) {
    const std::string program =
        "reader, = IO.pipe\n"
        "other, = IO.pipe\n"
        "turn = proc { IO.select([reader, other], nil, nil, 0.05) }\n"
        "def keep(lock, kept)\n"
        "  lock.synchronize { kept << 1; keep_it }\n"
        "end\n"
        "def keep_it = sleep(0.9)\n"
        "puts 'begun'\n"
        "$stdout.flush\n"
        "30.times(&turn)\n"
        "2.times do\n" +
        freeze + "\n12.times(&turn)\nend\n";
    return ReportOf({"/usr/bin/ruby", "-e", program});
  }
  static std::string WordOf(const json& report) {
    return report.value("verdict", json::object()).value("word", "");
  }
  static json LastOwnerOf(const json& report) {
    const json waits = report.value("waits", json::array());
    return waits.empty() ? json::object() : waits.back().value("owner", json::object());
  }
  static std::string ProcessOf(const json& owner) {
    return owner.value("process", json::object()).value("name", "");
  }
};

TEST_F(RuntimeWaitsTest, RubysSleepIsASleep) {
  const json report = ReportOfRuby("sleep 0.9");
  EXPECT_EQ(WordOf(report), "sleep") << report.dump(1);
  EXPECT_TRUE(report.value("waits", json::array()).empty()) << report.dump(1);
  EXPECT_FALSE(report.at("facts").contains("probably_waits_for_thread")) << report.dump(1);
}

// Backticks are a method of the same module, but read the child's output.
TEST_F(RuntimeWaitsTest, RubysReadIsNoSleep) {
  const json report = ReportOfRuby("`sleep 0.9`");
  EXPECT_EQ(WordOf(report), "pipe") << report.dump(1);
}

TEST_F(RuntimeWaitsTest, RubysSystemWaitsForTheChild) {
  const json report = ReportOfRuby("system('sleep', '0.9')");
  EXPECT_EQ(WordOf(report), "process") << report.dump(1);
  EXPECT_EQ(ProcessOf(LastOwnerOf(report)), "sleep") << report.dump(1);
}

TEST_F(RuntimeWaitsTest, RubysMutexHasAnOwner) {
  const json report = ReportOfRuby(
      "lock, kept = Mutex.new, Queue.new\n"
      "Thread.new { keep(lock, kept) }\n"
      "kept.pop\n"
      "lock.lock");
  EXPECT_EQ(WordOf(report), "lock") << report.dump(1);
  EXPECT_NE(LastOwnerOf(report).dump().find("keep_it"), std::string::npos) << report.dump(1);
}

TEST_F(RuntimeWaitsTest, RubysJoinWaitsForTheThread) {
  const json report = ReportOfRuby("Thread.new { keep_it }.join");
  EXPECT_EQ(WordOf(report), "lock") << report.dump(1);
  EXPECT_NE(LastOwnerOf(report).dump().find("keep_it"), std::string::npos) << report.dump(1);
}

// Its mutex, which it does not wait for, is another thread's meanwhile.
TEST_F(RuntimeWaitsTest, RubysConditionHasNoOwner) {
  const json report = ReportOfRuby(
      "lock, kept, condition = Mutex.new, Queue.new, ConditionVariable.new\n"
      "Thread.new { sleep 0.05; keep(lock, kept) }\n"
      "lock.synchronize { condition.wait(lock, 0.7) }");
  EXPECT_EQ(WordOf(report), "lock") << report.dump(1);
  EXPECT_EQ(report.value("waits", json::array()).dump().find("keep_it"), std::string::npos) << report.dump(1);
}

TEST_F(RuntimeWaitsTest, NodesExecSyncWaitsForTheChild) {
  const json report = ReportOf({"node", "-e",
                                "console.log('begun');\n"
                                "let turns = 0;\n"
                                "const timer = setInterval(() => {\n"
                                "  if (++turns == 30) require('child_process').execSync('exec sleep 0.9');\n"
                                "  if (turns == 40) clearInterval(timer);\n"
                                "}, 50);\n"});
  EXPECT_EQ(WordOf(report), "process") << report.dump(1);
  EXPECT_EQ(ProcessOf(LastOwnerOf(report)), "sleep") << report.dump(1);
}

TEST_F(RuntimeWaitsTest, PythonsReentrantLockHasAnOwner) {
  const std::string program =
      "import os, select, threading, time\n"
      "loop = select.poll()\n"
      "for end in os.pipe()[0], os.pipe()[0]: loop.register(end, select.POLLIN)\n"
      "lock, kept = threading.RLock(), threading.Event()\n"
      "def keep_it():\n"
      "  time.sleep(0.9)\n"
      "def keep():\n"
      "  with lock:\n"
      "    kept.set()\n"
      "    keep_it()\n"
      "print('begun', flush=True)\n"
      "for i in range(30): loop.poll(50)\n"
      "threading.Thread(target=keep).start()\n"
      "kept.wait()\n"
      "with lock: pass\n"
      "for i in range(8): loop.poll(50)\n";
  for (const std::string& python : testing::Pythons()) {
    SCOPED_TRACE(python);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(python)));
    const json report = ReportOf({python, "-c", program});
    EXPECT_EQ(WordOf(report), "lock") << report.dump(1);
    EXPECT_NE(LastOwnerOf(report).dump().find("keep_it"), std::string::npos) << report.dump(1);
  }
}

}  // namespace
}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
// The test is the service manager: it ends a service that is late with its notification, as systemd does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/testing/service_manager.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using testing::WaitUntil;

constexpr int64_t kTimeoutNs = 2 * base::kNsPerSecond;

class SoftWatchdogTest : public RunTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // Counts the notifications until none has come for the manager's time, or `most` have come; then sends
  // SIGABRT.
  int Supervise(Process* service, testing::ServiceManager* manager, int most) const {
    int count = 0;
    int64_t last_ns = base::SystemClock().MonoNs();
    while (count < most && base::SystemClock().MonoNs() - last_ns < kTimeoutNs) {
      if (manager->Receive().ends_with("\nWATCHDOG=1")) {
        ++count;
        last_ns = base::SystemClock().MonoNs();
      }
      usleep(1000);
    }
    service->Signal(SIGABRT);
    return count;
  }
  std::vector<std::string> Environment(const std::string& socket) const {
    return {"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=" + std::to_string(kTimeoutNs / 1000)};
  }
  std::vector<std::string> Service(const char* how, const char* count,
                                   std::vector<std::string> flags = {"--soft-watchdog"}) const {
    return Watched({LAGWATCH_NOTIFYING_SERVICE, how, count}, flags);
  }
};

TEST_P(SoftWatchdogTest, ReportsAServiceBeforeTheManagerEndsIt) {
  testing::ServiceManager manager(directory_ / "notify");
  Process service(Service(GetParam(), "5"), Environment(directory_ / "notify"));
  EXPECT_EQ(Supervise(&service, &manager, 1000), 5);
  EXPECT_EQ(service.Wait(), -SIGABRT) << service.Errors();
  const json headers = Ask({"reports"});
  ASSERT_EQ(headers.size(), 1u) << headers.dump(1);
  const json report = Ask({"report", headers.at(0).at("id")});
  EXPECT_EQ(report.at("kind"), "dump");
  EXPECT_EQ(report.at("tag"), "late WATCHDOG=1");
  EXPECT_THAT(report.at("expensive_stack").dump(), HasSubstr("FreezeService"));
  EXPECT_THAT(report.at("facts").dump(), HasSubstr("watchdog_timeout_ms"));
  EXPECT_GE(report.at("facts").at("watchdog_silent_ms").get<int>(), 1500) << report.at("facts").dump(1);
}
INSTANTIATE_TEST_SUITE_P(Calls, SoftWatchdogTest,
                         ::testing::Values("sendmsg", "sendto", "whole", "connected"),
                         [](const auto& call) { return std::string(call.param); });

TEST_F(SoftWatchdogTest, ReportsNoServiceThatIsInTime) {
  testing::ServiceManager manager("@lagwatch-soft-" + std::to_string(getpid()));
  Process service(Service("sendto", "1000"), Environment("@lagwatch-soft-" + std::to_string(getpid())));
  EXPECT_EQ(Supervise(&service, &manager, 20), 20);
  EXPECT_EQ(service.Wait(), -SIGABRT) << service.Errors();
  EXPECT_EQ(Ask({"reports"}).size(), 0u);
}

TEST_F(SoftWatchdogTest, ReportsAServiceThatIsAttachedTo) {
  testing::ServiceManager manager(directory_ / "notify");
  Process service({LAGWATCH_NOTIFYING_SERVICE, "whole", "15"}, Environment(directory_ / "notify"));
  ASSERT_TRUE(WaitUntil([&] { return manager.Receive().ends_with("\nWATCHDOG=1"); }));
  Process attach(
      {LAGWATCH_PROGRAM, "attach", "--soft-watchdog", "--spool", spool_, std::to_string(service.pid())});
  EXPECT_EQ(attach.Wait(), 0) << attach.Errors();
  EXPECT_LE(Supervise(&service, &manager, 1000), 14);
  EXPECT_EQ(service.Wait(), -SIGABRT) << service.Errors();
  const json headers = Ask({"reports"});
  ASSERT_EQ(headers.size(), 1u) << headers.dump(1);
  EXPECT_EQ(headers.at(0).at("kind"), "dump");
}

TEST_F(SoftWatchdogTest, DoesNothingUnasked) {
  testing::ServiceManager manager(directory_ / "notify");
  Process service(Service("sendto", "3", {}), Environment(directory_ / "notify"));
  EXPECT_EQ(Supervise(&service, &manager, 1000), 3);
  EXPECT_EQ(service.Wait(), -SIGABRT) << service.Errors();
  EXPECT_FALSE(std::filesystem::exists(spool_)) << "no thread, no file";
}

TEST_F(SoftWatchdogTest, SaysThatNoManagerWaits) {
  Process program(Watched({"/bin/true"}, {"--soft-watchdog"}));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(program.Errors(), HasSubstr("WATCHDOG_USEC"));
}

}  // namespace
}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
// Runs programs under `lagwatch watch`, as tests need it.
#pragma once

#include <gtest/gtest.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {

// Whether this process may mount tracefs; some containers' root may not.
inline bool HasTracepoints() {
  constexpr int kSysAdmin = 21;  // CAP_SYS_ADMIN
  return geteuid() == 0 && prctl(PR_CAPBSET_READ, kSysAdmin) == 1;
}

inline void AtBreakpoint() { __asm__ volatile("" ::: "memory"); }

// False also on virtual machines whose processors do not know of the breakpoints that the kernel sets.
inline bool HasBreakpoints() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_type = HW_BREAKPOINT_X;
  attributes.bp_addr = reinterpret_cast<uint64_t>(&AtBreakpoint);
  attributes.bp_len = sizeof(long);
  attributes.exclude_kernel = 1;
  const base::OwnedFd counter(static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0)));
  void (*volatile call)() = &AtBreakpoint;
  call();
  uint64_t count = 0;
  return counter && read(counter.get(), &count, sizeof count) == sizeof count && count == 1;
}

// Whether a watcher can count a thread's returns.
inline bool AreReturnsCounted() { return HasTracepoints() || HasBreakpoints(); }

// Of the thread that is watched, so that none is left for the watcher.
class AllBreakpoints {
 public:
  explicit AllBreakpoints(pid_t tid) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.size = sizeof attributes;
    attributes.bp_type = HW_BREAKPOINT_X;
    attributes.bp_len = sizeof(long);
    attributes.exclude_kernel = 1;
    for (uint64_t address = 0x1000;; address += 0x1000) {
      attributes.bp_addr = address;
      base::OwnedFd one(static_cast<int>(syscall(SYS_perf_event_open, &attributes, tid, -1, -1, 0)));
      if (!one || held_.size() == 64) break;
      held_.push_back(std::move(one));
    }
  }

 private:
  std::vector<base::OwnedFd> held_;
};

class WatchTest : public RunTest {
 protected:
  std::vector<std::string> Watch(std::vector<std::string> more) const {
    std::vector<std::string> all = {LAGWATCH_PROGRAM, "watch",   "--threshold-ms",
                                    threshold_ms_,    "--spool", spool_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Runs a scene under a watcher, and returns its reports with their stacks.
  std::vector<json> Reports(const std::vector<std::string>& command,
                            const std::vector<std::string>& flags = {}) {
    Process program(command);
    EXPECT_TRUE(testing::WaitUntil([&] { return program.Output().starts_with("begun"); }))
        << program.Errors();
    std::vector<std::string> more = {std::to_string(program.pid())};
    more.insert(more.end(), flags.begin(), flags.end());
    Process watcher(around_(Watch(more)));
    while_running_(program);
    EXPECT_EQ(program.Wait(), 0) << program.Errors();
    program_output_ = program.Output();
    EXPECT_EQ(watcher.Wait(), 0) << watcher.Errors();
    watcher_errors_ = watcher.Errors();
    std::vector<json> reports;
    for (const json& header : Ask({"reports"})) reports.push_back(Ask({"report", header.at("id")}));
    return reports;
  }
  std::vector<json> ReportsOf(const std::string& scene, const std::vector<std::string>& flags = {}) {
    return Reports({LAGWATCH_WATCHED_PROGRAM, scene}, flags);
  }
  void ExpectOne(const std::vector<json>& reports, const std::string& function) const {
    ASSERT_EQ(reports.size(), 1u) << json(reports).dump(1) << watcher_errors_;
    const json& report = reports[0];
    EXPECT_NE(report.at("expensive_stack").dump().find(function), std::string::npos)
        << report.at("expensive_stack").dump(1);
    EXPECT_TRUE(report.at("ended").get<bool>());
    EXPECT_GT(report.at("duration_ms").get<double>(), 500);
    EXPECT_LT(report.at("duration_ms").get<double>(), 2000);
    EXPECT_NE(report.dump().find("\"outside\""), std::string::npos) << report.dump(1);
  }

  // From now on all breakpoints of the program are taken.
  void TakeBreakpoints() {
    while_running_ = [this](Process& program) {
      breakpoints_ = std::make_unique<AllBreakpoints>(program.pid());
    };
  }
  // From now on watchers cannot count returns: they find no tracepoints, and all breakpoints are taken.
  void PermitNoCounts() {
    TakeBreakpoints();
    if (!HasTracepoints()) return;
    around_ = [](std::vector<std::string> command) {
      const char* const script =
          "mount -t tmpfs none /sys/kernel/tracing; mount -t tmpfs none /sys/kernel/debug; "
          "exec setpriv --bounding-set -sys_admin \"$@\"";
      command.insert(command.begin(), {"unshare", "--mount", "sh", "-c", script, "sh"});
      return command;
    };
  }

  std::string threshold_ms_ = "500";
  std::string watcher_errors_;
  std::string program_output_;
  std::function<std::vector<std::string>(std::vector<std::string>)> around_ = [](auto command) {
    return command;
  };
  std::function<void(Process&)> while_running_ = [](Process&) {};
  std::unique_ptr<AllBreakpoints> breakpoints_;
};

}  // namespace lagwatch::tools

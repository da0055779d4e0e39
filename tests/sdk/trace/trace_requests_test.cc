// SPDX-License-Identifier: Apache-2.0
// Traces that the collector has asked for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "base/process/env.h"
#include "report/format/trace_record.h"
#include "report/spool/spool_reader.h"
#include "sdk/monitor.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

class TraceRequests : public ::testing::Test {
 protected:
  // Freezes once in the same place, and returns the first trace of that run.
  std::optional<report::TraceRecord> FreezeWith(std::vector<TraceRequest> requests) {
    testing::ScopedTempDirectory directory;
    MonitorOptions options;
    options.app = "trace-requests-test";
    options.spool_directory = directory.path();
    options.watch.threshold_ns = 100 * base::kNsPerMs;
    options.watch.check_period_ns = 50 * base::kNsPerMs;
    options.trace.is_on = true;
    options.trace.requests = std::move(requests);
    auto monitor = Monitor::Start(options, &registry_);
    EXPECT_TRUE(monitor.ok()) << monitor.status().message();
    if (!monitor.ok()) return std::nullopt;
    watchdog::WatchedLoop* loop = registry_.Add("ui", gettid());
    loop->probe.Begin("freeze");
    const auto* reports = &(*monitor)->watch_counters().reports;
    while (reports->value() == 0) usleep(1000);
    loop->probe.End();
    registry_.Remove(loop);
    Monitor::Stop(std::move(monitor).value());
    const report::SpoolReader reader(&base::SystemEnv(), directory.path());
    const std::vector<std::string> names = reader.List(report::SpoolReader::Include::kLiveToo).value();
    for (const std::string& name : names) {
      const report::Segment segment = reader.Read(name).value();
      for (const report::OwnedRecord& record : segment.records)
        if (record.type == report::RecordType::kTrace)
          return report::DecodeTraceRecord(record.payload).value();
    }
    return std::nullopt;
  }

  watchdog::LoopRegistry registry_;
};

TEST_F(TraceRequests, AreGrantedToTheCauseThatTheyName) {
  const auto found = FreezeWith({});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reason, "lag");
  ASSERT_NE(found->cause, 0u);
  const auto wanted = FreezeWith({{found->cause, 5 * base::kNsPerMs}});
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->cause, found->cause);
  EXPECT_EQ(wanted->reason, "request");
  const auto other = FreezeWith({{found->cause + 1, 5 * base::kNsPerMs}});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->reason, "lag");
}

}  // namespace
}  // namespace lagwatch::sdk

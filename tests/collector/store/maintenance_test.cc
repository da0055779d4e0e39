// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/maintenance.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "tests/testing/process.h"

namespace lagwatch::collector {
namespace {

class CountedJob final : public MaintenanceJob {
 public:
  explicit CountedJob(int steps) : left_(steps) {}
  std::string name() const override { return "counted"; }
  base::Result<bool> Step() override {
    ++steps_;
    if (left_ == 0) return base::Status(base::StatusCode::kIo, "no more");
    return --left_ > 0;
  }
  int steps() const { return steps_; }

 private:
  int left_;
  std::atomic<int> steps_{0};
};

TEST(Maintenance, DoesAllThatThereIsAtOnceAndGoesOnWhenItIsWoken) {
  CountedJob job(3);
  std::atomic<int> errors{0};
  Maintenance maintenance({&job}, std::chrono::hours(1), [&](const std::string& name, const base::Status&) {
    EXPECT_EQ(name, "counted");
    ++errors;
  });
  EXPECT_TRUE(testing::WaitUntil([&] { return job.steps() == 3; }));
  EXPECT_EQ(errors, 0);
  maintenance.Wake();
  EXPECT_TRUE(testing::WaitUntil([&] { return errors == 1; }));
}

}  // namespace
}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "policies/upload/retention.h"

#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

constexpr int64_t kHourMs = 3600'000;
constexpr int64_t kNowMs = 1'700'000'000'000;
constexpr uint64_t kMib = 1 << 20;

StoredFile File(int64_t age_hours, uint64_t mib, ReportPriority priority = ReportPriority::kHang) {
  return {kNowMs - age_hours * kHourMs, mib * kMib, priority};
}

TEST(PickRemovals, TakesWhatIsOlderThanAWeek) {
  const StoredFile files[] = {File(1, 1), File(7 * 24 + 1, 1), File(7 * 24, 1), File(1000, 1)};
  EXPECT_EQ(PickRemovals(files, {}, kNowMs),
            (std::vector<Removal>{{1, RemovalReason::kTooOld}, {3, RemovalReason::kTooOld}}));
}

TEST(PickRemovals, TakesTheOldestUntilTheRestFits) {
  const StoredFile files[] = {File(1, 25), File(3, 25), File(2, 25)};
  EXPECT_EQ(PickRemovals(files, {}, kNowMs), (std::vector<Removal>{{1, RemovalReason::kTooMuch}}));
}

TEST(PickRemovals, MakesRoomForAWhile) {
  const std::vector<StoredFile> files(65, File(1, 1));
  EXPECT_EQ(PickRemovals(files, {}, kNowMs).size(), 65u - 56u);
}

TEST(PickRemovals, TakesWhatMattersLeastBeforeWhatIsOlder) {
  const StoredFile files[] = {File(9, 30, ReportPriority::kKilledInHang), File(8, 20, ReportPriority::kAnr),
                              File(1, 20, ReportPriority::kSlow), File(2, 20, ReportPriority::kCpu)};
  EXPECT_EQ(PickRemovals(files, {}, kNowMs),
            (std::vector<Removal>{{2, RemovalReason::kTooMuch}, {3, RemovalReason::kTooMuch}}));
}

TEST(PickRemovals, DoesNotCountTheOldOnesTwice) {
  const StoredFile files[] = {File(1000, 60), File(1, 60)};
  EXPECT_EQ(PickRemovals(files, {}, kNowMs), (std::vector<Removal>{{0, RemovalReason::kTooOld}}));
}

TEST(PickRemovals, TakesEverythingWhereNothingFits) {
  const StoredFile files[] = {File(1, 60), File(2, 70)};
  EXPECT_EQ(PickRemovals(files, {.total_bytes = 0}, kNowMs).size(), 2u);
  EXPECT_TRUE(PickRemovals({}, {.total_bytes = 0}, kNowMs).empty());
}

TEST(PickRemovals, KeepsFilesFromTheFutureLongest) {
  const StoredFile files[] = {File(-5000, 40), File(1, 40)};
  EXPECT_EQ(PickRemovals(files, {}, kNowMs), (std::vector<Removal>{{1, RemovalReason::kTooMuch}}));
}

}  // namespace
}  // namespace lagwatch::policies

// SPDX-License-Identifier: Apache-2.0
// The rest of a spool after a power cut: everything that was synced, and nothing that was not written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "report/spool/spool_reader.h"
#include "report/spool/spool_writer.h"
#include "tests/testing/power_cut_env.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::PowerCutEnv;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SpoolPowerCut : public ::testing::Test {
 protected:
  std::unique_ptr<SpoolWriter> NewWriter(SyncPolicy policy) {
    return SpoolWriter::Create(&env_, spool_.path(), base::CreateUuidV7(++sessions_), {}, policy).value();
  }
  // The records left once the machine is on again.
  std::vector<std::string> PayloadsLeft() {
    std::vector<std::string> payloads;
    SpoolReader reader(&env_, spool_.path());
    const std::vector<std::string> names = reader.List(SpoolReader::Include::kFinished).value();
    for (const std::string& name : names) {
      auto segment = reader.Read(name);
      for (OwnedRecord& record : segment->records) payloads.push_back(std::move(record.payload));
    }
    return payloads;
  }
  void Cut(std::unique_ptr<SpoolWriter> writer, uint32_t seed) {
    env_.CutPower(seed);
    writer.reset();
    env_.RestorePower();
  }
  void Empty() {
    for (const std::string& name : spool_.Files()) env_.Remove((spool_ / name).c_str());
    env_.Sync(spool_.path().c_str());
  }
  static void WaitForSyncs(const SpoolWriter& writer, uint64_t count) {
    while (writer.counters().syncs < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  lagwatch::testing::ScopedTempDirectory spool_;
  PowerCutEnv env_{spool_.path()};
  int sessions_ = 0;
};

// Else the test below shows nothing.
TEST_F(SpoolPowerCut, WithoutASyncEverythingMayBeLost) {
  size_t lost = 0;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    auto writer = NewWriter(SyncPolicy::kNever);
    EXPECT_TRUE(writer->Append(RecordType::kReport, "maybe"));
    Cut(std::move(writer), seed);
    lost += PayloadsLeft().empty() ? 1 : 0;
    Empty();
  }
  EXPECT_GT(lost, 0u);
}

TEST_F(SpoolPowerCut, AHangThatTheDiskWasMadeToTakeIsThere) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    auto writer = NewWriter(SyncPolicy::kHangStartAndEnd);
    EXPECT_TRUE(writer->Append(RecordType::kReport, "lag", {.is_hang_start_or_end = true}));
    if (seed % 2 == 0) writer->Seal();
    WaitForSyncs(*writer, 1);
    EXPECT_TRUE(writer->Append(RecordType::kUsage, "not urgent"));
    Cut(std::move(writer), seed);
    std::vector<std::string> left = PayloadsLeft();
    ASSERT_THAT(left, ::testing::Contains("lag")) << seed;
    std::erase(left, "lag");
    std::erase(left, "not urgent");
    EXPECT_THAT(left, IsEmpty()) << seed;
    Empty();
  }
}

// Random records, seals and syncs; whatever the moment, what is left is a part of what was written, in order
// within each segment, with all that was synced.
TEST_F(SpoolPowerCut, NoCutMakesARecordUpOrLosesASyncedOne) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto writer = NewWriter(SyncPolicy::kNever);
    std::vector<std::string> written;
    size_t sure = 0;
    for (uint32_t steps = random() % 12; steps > 0; --steps) {
      written.push_back(std::to_string(written.size()) + ":" + std::string(random() % 3000, 'p'));
      ASSERT_TRUE(writer->Append(RecordType::kReport, written.back()));
      if (random() % 3 == 0) writer->Seal();
      if (random() % 4 == 0) {
        for (const std::string& name : spool_.Files()) env_.Sync((spool_ / name).c_str());
        env_.Sync(spool_.path().c_str());
        sure = written.size();
      }
    }
    Cut(std::move(writer), seed);
    std::vector<std::string> left = PayloadsLeft();
    for (const std::string& payload : left) ASSERT_THAT(written, ::testing::Contains(payload)) << seed;
    for (size_t i = 0; i < sure; ++i) ASSERT_EQ(std::ranges::count(left, written[i]), 1) << seed << " " << i;
    Empty();
  }
}

TEST_F(SpoolPowerCut, ARemovalThatIsNotSureComesBackAndOneThatIsDoesNot) {
  size_t came_back = 0;
  constexpr size_t kCuts = 30;
  for (uint32_t seed = 0; seed < kCuts; ++seed) {
    auto writer = NewWriter(SyncPolicy::kNever);
    EXPECT_TRUE(writer->Append(RecordType::kReport, "sent"));
    writer->Seal();
    const std::string path = spool_ / spool_.Files().at(0);
    EXPECT_EQ(env_.Sync(path.c_str()), 0);
    EXPECT_EQ(env_.Sync(spool_.path().c_str()), 0);
    EXPECT_EQ(env_.Remove(path.c_str()), 0);
    Cut(std::move(writer), seed);
    if (std::vector<std::string> left = PayloadsLeft(); !left.empty()) {
      ++came_back;
      EXPECT_THAT(left, ElementsAre("sent"));
      EXPECT_EQ(env_.Remove(path.c_str()), 0);
    }
    EXPECT_EQ(env_.Sync(spool_.path().c_str()), 0);
    env_.CutPower(seed);
    env_.RestorePower();
    EXPECT_THAT(PayloadsLeft(), IsEmpty());
  }
  EXPECT_GT(came_back, 0u);
  EXPECT_LT(came_back, kCuts);
}

}  // namespace
}  // namespace lagwatch::report

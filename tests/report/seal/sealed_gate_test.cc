// SPDX-License-Identifier: Apache-2.0
// The gate's decisions about records that it cannot read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/upload/upload_gate.h"
#include "tests/report/upload/upload_testing.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::kDayMs;
using lagwatch::testing::kNoonMs;
using lagwatch::testing::ModelCollector;
using lagwatch::testing::NewId;
using lagwatch::testing::SealedRecord;
using policies::ReportPriority;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t Number(ReportPriority priority) { return static_cast<uint32_t>(priority); }

class SealedGateTest : public ::testing::Test {
 protected:
  void Send() {
    SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
    sender.SetPolicies([this] { return policies_; });
    while (sender.UploadOnce()) {
    }
  }
  std::vector<base::Uuid> IdsStored() const {
    std::vector<base::Uuid> ids;
    for (const SealedLabel& label : collector_.sealed) ids.push_back(label.id);
    return ids;
  }

  lagwatch::testing::ScopedSpool spool_;
  lagwatch::testing::SetClock clock_;
  lagwatch::testing::NoNames namer_;
  ModelCollector collector_;
  UploadPolicies policies_{.losses_wait_ms = 0};
};

TEST_F(SealedGateTest, TheQuotaTakesWhatMattersMostByWhatIsOutside) {
  policies_.quota = {.per_day = policies::QuotaLimits::kNoLimit, .per_cluster = 2};
  std::vector<OwnedRecord> records;
  for (int i = 0; i < 5; ++i)
    records.push_back(SealedRecord({RecordType::kReport, NewId(), 7, Number(ReportPriority::kCpu)}));
  const base::Uuid anr = NewId();
  records.push_back(SealedRecord({RecordType::kReport, anr, 7, Number(ReportPriority::kAnr)}));
  const base::Uuid other_cause = NewId();
  records.push_back(SealedRecord({RecordType::kReport, other_cause, 8, Number(ReportPriority::kCpu)}));
  spool_.Add(records);
  Send();
  EXPECT_THAT(IdsStored(), ::testing::IsSupersetOf({anr, other_cause}));
  EXPECT_EQ(collector_.sealed.size(), 3u);
  EXPECT_EQ(collector_.LossesTold(LossReason::kCauseIsFull), 4u);
  for (const auto& [id, losses] : collector_.losses) {
    EXPECT_EQ(losses.app + losses.app_version + losses.user, "");
    for (const Loss& loss : losses.losses) EXPECT_EQ(loss.cause, 7u);
  }
}

TEST_F(SealedGateTest, TheInstallationIsSampledAndTheRateIsTold) {
  policies_.sampling = {.rate_ppm = 500'000};
  size_t days_sent = 0;
  for (int day = 0; day < 40; ++day) {
    const size_t before = collector_.sealed.size();
    const int64_t made_ms = kNoonMs - day * kDayMs;
    for (int i = 0; i < 3; ++i) spool_.Add({SealedRecord({RecordType::kReport, NewId(made_ms), 1, 2})});
    Send();
    const size_t sent = collector_.sealed.size() - before;
    EXPECT_TRUE(sent == 0 || sent == 3) << sent;
    days_sent += sent / 3;
  }
  EXPECT_GT(days_sent, 0u);  // the id is random: neither happens but once in 10^12
  EXPECT_LT(days_sent, 40u);
  EXPECT_EQ(collector_.sealed_rate_ppm, 500'000u);
  EXPECT_EQ(collector_.LossesTold(LossReason::kNotSampled), 3 * (40 - days_sent));
}

TEST_F(SealedGateTest, AnEndGoesTheWayOfItsReport) {
  policies_.quota = {.per_day = policies::QuotaLimits::kNoLimit, .per_cluster = 1};
  const base::Uuid sent = NewId();
  const base::Uuid dropped = NewId();
  spool_.Add({SealedRecord({RecordType::kReport, sent, 1, Number(ReportPriority::kAnr)}),
              SealedRecord({RecordType::kReport, dropped, 1, Number(ReportPriority::kHang)})});
  spool_.Add({SealedRecord({RecordType::kHangEnd, dropped, 0, 2}),
              SealedRecord({RecordType::kHangEnd, sent, 0, 2})});
  Send();
  EXPECT_THAT(IdsStored(), ElementsAre(sent, sent));
  EXPECT_EQ(collector_.LossesTold(LossReason::kCauseIsFull), 1u);
}

TEST_F(SealedGateTest, TheReportOfAHangThatAProgramWasKilledInMattersMost) {
  policies_.quota = {.per_day = policies::QuotaLimits::kNoLimit, .per_cluster = 1};
  const base::Uuid killed = NewId();
  spool_.Add({SealedRecord({RecordType::kReport, NewId(), 1, Number(ReportPriority::kAnr)}),
              SealedRecord({RecordType::kReport, killed, 1, Number(ReportPriority::kHang)}),
              SealedRecord({RecordType::kRunEnd, killed, 0, Number(ReportPriority::kKilledInHang)})});
  Send();
  EXPECT_THAT(IdsStored(), ElementsAre(killed, killed));
}

// Their user is unknown; so a user on the allowlist is always sent.
TEST_F(SealedGateTest, ForAForcedUserAllAreSent) {
  policies_ = {.sampling = {.rate_ppm = 0}, .quota = {1, 1}, .is_forced = true, .user = "u-71"};
  for (int i = 0; i < 5; ++i) spool_.Add({SealedRecord({RecordType::kReport, NewId(), 1, 2})});
  Send();
  EXPECT_EQ(collector_.sealed.size(), 5u);
  EXPECT_EQ(collector_.sealed_rate_ppm, 0u);
  EXPECT_THAT(collector_.losses, IsEmpty());
}

// One that is older than sealing answers that all is well, and has stored nothing of them.
class OldCollector final : public Transport {
 public:
  UploadAnswer Post(std::string_view) override {
    return {.kind = UploadAnswer::Kind::kDelivered, .http_status = 200, .answered_records = 0};
  }
  void Abort() override {}
};

TEST_F(SealedGateTest, ACollectorThatDoesNotKnowThemDoesNotMakeThemGo) {
  spool_.Add({SealedRecord({RecordType::kReport, NewId(), 1, 2})});
  OldCollector old_collector;
  SpoolSender sender(&base::SystemEnv(), spool_.path(), &old_collector, &namer_, clock_);
  ASSERT_TRUE(sender.UploadOnce().has_value());
  EXPECT_EQ(sender.CountSegmentsLeft(), 1u);
  Send();
  EXPECT_EQ(collector_.sealed.size(), 1u);
}

}  // namespace
}  // namespace lagwatch::report

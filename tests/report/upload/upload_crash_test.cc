// SPDX-License-Identifier: Apache-2.0
// The sending process is killed before each of its actions on the disk and the network, one after the other;
// the next process must neither lose a report nor count one twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "tests/report/upload/upload_testing.h"
#include "tests/testing/power_cut_env.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace lagwatch::report {
namespace {

using lagwatch::testing::HangEndRecord;
using lagwatch::testing::kDayMs;
using lagwatch::testing::Killed;
using lagwatch::testing::KillEnv;
using lagwatch::testing::KillSwitch;
using lagwatch::testing::kNoonMs;
using lagwatch::testing::ModelCollector;
using lagwatch::testing::NewId;
using lagwatch::testing::PowerCutEnv;
using lagwatch::testing::ReportRecord;

// A spool that gives the gate reasons of every kind, and the expected receiver of its reports.
class Scene {
 public:
  Scene() {
    const base::Uuid sent = Make({.tag = "anr", .level = HangLevel::kAnr});
    Spool();
    Make({.tag = "refused"});
    Make({.tag = "old"}, kNoonMs - 8 * kDayMs);
    Make({.user = "u-not-sampled"});
    const base::Uuid dropped = Make({.kind = HangKind::kFrames});
    Spool();
    for (int i = 0; i < 4; ++i) Make({});
    records_.push_back(HangEndRecord(sent));
    records_.push_back(HangEndRecord(dropped));
    Spool();
    Make({.user = "u-not-sampled"});
    Spool();
    AddSwept();
    policies_ = {.sampling = {.rate_ppm = 500'000, .salt = Salt()},
                 .quota = {3, 2},
                 .retention = {},
                 .losses_wait_ms = 0};
    collector_.refused_tags = {"refused"};
  }

  // A segment that the next sweep removes.
  void AddSwept() {
    Make({.tag = "swept"});
    Spool();
    Age(kNoonMs - 8 * kDayMs);
  }
  // Sends until there is nothing left to send, unless it is killed.
  void Send(base::Env* env, KillSwitch* kill) {
    collector_.on_post = collector_.on_stored = [kill] { kill->Deed(); };
    SpoolSender sender(env, spool_.path(), &collector_, &namer_, clock_);
    sender.SetPolicies([this] { return policies_; });
    while (auto answer = sender.UploadOnce()) {
      if (answer->kind != UploadAnswer::Kind::kDelivered) throw std::runtime_error(answer->message);
    }
  }

  const std::string& path() const { return spool_.path(); }

  // Each report is in the store, or counted as lost; by cause, of which each has its own.
  void ExpectAllAccountedFor(bool has_file_times = true) const {
    std::map<uint64_t, uint64_t> told;
    for (const auto& [id, report] : collector_.reports) ++told[report.cause];
    for (const auto& [id, losses] : collector_.losses) {
      for (const Loss& loss : losses.losses) told[loss.cause] += loss.count;
    }
    EXPECT_EQ(told.size(), made_);
    for (const auto& [cause, count] : told) EXPECT_EQ(count, 1u) << std::hex << cause;
    EXPECT_EQ(collector_.LossesTold(LossReason::kRefused), 1u);
    EXPECT_GE(collector_.LossesTold(LossReason::kTooOld), has_file_times ? 2u : 1u);
    EXPECT_EQ(collector_.LossesTold(LossReason::kNotSampled), 2u);
    // The refused one took its place in the quota of three, and the last of them is for killed ones.
    EXPECT_LE(collector_.reports.size(), 3u);
    for (const HangEnd& end : collector_.ends)
      EXPECT_TRUE(collector_.reports.contains(base::ToString(end.report_id)));
    EXPECT_TRUE(spool_.Files(".seg").empty());
    EXPECT_TRUE(spool_.Files(".tmp").empty());
    EXPECT_EQ(spool_.Files(".rejected").size(), 1u);
  }

 private:
  base::Uuid Make(lagwatch::testing::SmallReport report, int64_t made_wall_ms = kNoonMs) {
    report.id = NewId(made_wall_ms);
    report.function_offset = 0x1000 + 0x10 * made_++;
    records_.push_back(ReportRecord(report));
    return report.id;
  }
  void Spool() {
    spool_.Add(records_);
    records_.clear();
  }
  // Makes the segment that was spooled last one that was written then.
  void Age(int64_t written_wall_ms) {
    const std::vector<std::string> names = spool_.Files(".seg");
    const std::chrono::sys_time<std::chrono::milliseconds> written{
        std::chrono::milliseconds(written_wall_ms)};
    std::filesystem::last_write_time(spool_ / *std::ranges::max_element(names),
                                     std::chrono::file_clock::from_sys(written));
  }
  // One that samples the one user and not the other.
  static uint64_t Salt() {
    for (policies::UserSampling sampling{.rate_ppm = 500'000};; ++sampling.salt) {
      const int64_t day = policies::DayOf(kNoonMs);
      const int64_t long_ago = policies::DayOf(kNoonMs - 8 * kDayMs);
      if (sampling.IsSampled("u-71", day) && sampling.IsSampled("u-71", long_ago) &&
          !sampling.IsSampled("u-not-sampled", day))
        return sampling.salt;
    }
  }

  lagwatch::testing::ScopedSpool spool_;
  std::vector<OwnedRecord> records_;
  size_t made_ = 0;
  lagwatch::testing::SetClock clock_;
  lagwatch::testing::NoNames namer_;
  UploadPolicies policies_;
  ModelCollector collector_;
};

TEST(UploadCrash, WithoutOneAllIsAccountedFor) {
  Scene scene;
  KillSwitch never(KillSwitch::kNever);
  scene.Send(&base::SystemEnv(), &never);
  scene.ExpectAllAccountedFor();
}

// True when it was killed before it was done.
bool SendUntilKilled(Scene* scene, KillSwitch* kill, KillEnv* env) {
#if defined(__SANITIZE_ADDRESS__)
  // The spool is built without exceptions, so what it holds when a kill is thrown through it is never freed.
  const __lsan::ScopedDisabler killed_frees_nothing;
#endif
  try {
    scene->Send(env, kill);
  } catch (const Killed&) {
  }
  return kill->is_killed();
}

bool SendUntilKilled(Scene* scene, int at, base::Env* real = &base::SystemEnv()) {
  KillSwitch kill(at);
  KillEnv env(&kill, real);
  return SendUntilKilled(scene, &kill, &env);
}

TEST(UploadCrash, AtNoPointOneLosesOrDoublesAReport) {
  KillSwitch never(KillSwitch::kNever);
  bool was_killed = true;
  int at = 0;
  for (; was_killed; ++at) {
    SCOPED_TRACE("killed before deed " + std::to_string(at));
    Scene scene;
    was_killed = SendUntilKilled(&scene, at);
    scene.Send(&base::SystemEnv(), &never);
    scene.ExpectAllAccountedFor();
  }

  EXPECT_GT(at, 20);
}

TEST(UploadCrash, NorDoTwoInARow) {
  KillSwitch never(KillSwitch::kNever);
  for (int first = 2; first < 26; first += 3) {
    for (int second = 1; second < 12; second += 2) {
      SCOPED_TRACE("killed before deeds " + std::to_string(first) + " and " + std::to_string(second));
      Scene scene;
      SendUntilKilled(&scene, first);
      SendUntilKilled(&scene, second);
      scene.Send(&base::SystemEnv(), &never);
      scene.ExpectAllAccountedFor();
    }
  }
}

// Between any two looks at the directory another program finishes a segment that the sweep takes.
TEST(UploadCrash, NorDoesOneWhileAnotherProgramWrites) {
  constexpr int kListings = 7;  // of the sweep, and of the round after it
  constexpr int kDeeds = 12;    // until both segments that the sweep takes are gone
  KillSwitch never(KillSwitch::kNever);
  for (int listing = 1; listing <= kListings; ++listing) {
    for (int deed = 0; deed <= kDeeds; ++deed) {
      SCOPED_TRACE("written after listing " + std::to_string(listing) + ", killed " + std::to_string(deed) +
                   " deeds later");
      Scene scene;
      KillSwitch kill(KillSwitch::kNever);
      KillEnv env(&kill);
      int listings = 0;
      env.on_listed = [&] {
        if (++listings != listing) return;
        scene.AddSwept();
        kill.Set(deed);
      };
      EXPECT_TRUE(SendUntilKilled(&scene, &kill, &env));
      scene.Send(&base::SystemEnv(), &never);
      scene.ExpectAllAccountedFor();
    }
  }
}

TEST(UploadCrash, NorDoesAPowerCut) {
  KillSwitch never(KillSwitch::kNever);
  bool was_cut = true;
  for (int at = 0; was_cut; ++at) {
    for (uint32_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE("cut before deed " + std::to_string(at) + ", seed " + std::to_string(seed));
      Scene scene;
      PowerCutEnv env(scene.path());
      was_cut = SendUntilKilled(&scene, at, &env);
      env.CutPower(seed);
      env.RestorePower();
      scene.Send(&env, &never);
      scene.ExpectAllAccountedFor(/*has_file_times=*/false);  // files left by the cut are written again
    }
  }
}

}  // namespace
}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
// The analyst's questions (tests/collector/query/analyst_questions_test.cc) as they are typed, against the
// collector's program: each in two commands at most.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/collector/seed/month/planted_month.h"
#include "tests/collector/seed/month/truth.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::OfApp;
using testing::OfCause;
using testing::PlantedHang;
using testing::PlantedMonth;
using testing::Process;

constexpr int kPartOfTheMonth = 20;
constexpr char kToken[] = "r_of_this_test";
constexpr size_t kMostSteps = 2;

class AnalystCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    Process seed({LAGWATCH_SEED_STORE, data_, "month", std::to_string(kPartOfTheMonth)});
    ASSERT_EQ(seed.Wait(), 0) << seed.Errors();
    collector_ = std::make_unique<Process>(std::vector<std::string>{
        LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", data_, "--admin-token", kToken});
    ASSERT_TRUE(testing::WaitUntil([&] { return collector_->Output().ends_with('\n'); }))
        << collector_->Errors();
    const std::string line = collector_->Output();
    url_ = line.substr(line.find("http://"), line.size() - line.find("http://") - 1);
  }
  void TearDown() override { EXPECT_LE(steps_, kMostSteps); }

  // Returns the output of `lagwatch` with these arguments.
  std::string Run(std::vector<std::string> arguments) {
    ++steps_;
    arguments.insert(arguments.begin(), LAGWATCH_PROGRAM);
    arguments.insert(arguments.end(), {"--endpoint", url_, "--token", kToken});
    Process process(arguments);
    process.CloseInput();
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return process.Output();
  }
  void NextQuestion() { EXPECT_LE(std::exchange(steps_, 0), kMostSteps); }
  // The last column of the cause's line.
  static std::string KeyIn(const std::string& list, const std::string& leaf) {
    const size_t at = list.find(leaf);
    EXPECT_NE(at, std::string::npos) << leaf << " is not in " << list;
    const std::string line = list.substr(at, list.find('\n', at) - at);
    return line.substr(line.rfind(' ') + 1);
  }
  static std::string Percent(double share) {
    char text[16];
    std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
    return text;
  }
  double ShareOf(const testing::HangFilter& part, const testing::HangFilter& all) const {
    return TruthOf(month_, Both(part, all)).hang_ms / TruthOf(month_, all).hang_ms;
  }

  const PlantedMonth month_{kPartOfTheMonth};
  testing::ScopedTempDirectory directory_;
  const std::string data_ = directory_ / "data";
  std::unique_ptr<Process> collector_;
  std::string url_;
  size_t steps_ = 0;
};

TEST_F(AnalystCommands, SayWhichCausesMatterWhatIsNewAndWhatIsFixed) {
  const std::string of_version = Run({"clusters", "--app", "editor", "--version", "2.4.0"});
  EXPECT_LT(of_version.find("Index::Lookup"), of_version.find("SaveFile"));
  EXPECT_LT(of_version.find("SaveFile"), of_version.find("Panel0::Draw"));
  EXPECT_THAT(of_version, Not(HasSubstr("ParseOutline")));
  NextQuestion();
  const std::string fresh = Run({"clusters", "--app", "editor", "--new-in", "2.4.0"});
  EXPECT_THAT(fresh, HasSubstr("SpellCheck::Word"));
  EXPECT_EQ(std::ranges::count(fresh, '\n'), 2) << fresh;
  NextQuestion();
  const std::string all = Run({"clusters", "--app", "editor"});
  EXPECT_THAT(all, HasSubstr("[not seen since 2.3.0] ParseOutline"));
  EXPECT_THAT(all, ContainsRegex("ParseOutline.*liboutline.so"));
  EXPECT_THAT(all, ContainsRegex("Gpu::Upload.*2\\.2\\.0 2\\.3\\.0 2\\.4\\.0 "));
  EXPECT_THAT(Run({"breakdown", "--cluster", KeyIn(all, "ParseOutline"), "--by", "version"}),
              ContainsRegex("editor +2\\.4\\.0 +0 +0 +0"));
}

TEST_F(AnalystCommands, SayWhoIsAffected) {
  const std::string key_of_gpu = KeyIn(Run({"clusters", "--loop", "wayland"}), "Gpu::Upload");
  EXPECT_THAT(Run({"breakdown", "--cluster", key_of_gpu, "--by", "distribution"}),
              AllOf(ContainsRegex("Fedora Linux 41 +100\\.0 %"), Not(HasSubstr("Debian"))));
  NextQuestion();
  const std::string list = Run({"clusters", "--app", "editor"});
  EXPECT_THAT(Run({"breakdown", "--cluster", KeyIn(list, "Backup::Copy"), "--by", "app"}),
              HasSubstr("of 1 user; the user with the most time has 100.0 % of it"));
  NextQuestion();
  const auto is_there = [](const PlantedHang& hang) {
    return PlantedMonth::KernelOf(hang.user) == PlantedMonth::kSlowKernel;
  };
  EXPECT_THAT(Run({"breakdown", "--cluster", KeyIn(list, "Journal::Flush"), "--by", "os"}),
              ContainsRegex(std::string(PlantedMonth::kSlowKernel) + " +" +
                            Percent(ShareOf(is_there, OfCause("Journal::Flush")))));
}

TEST_F(AnalystCommands, SayWhatTheLongestHangsHaveInCommon) {
  const auto is_long = [](const PlantedHang& hang) { return hang.hang_ms >= 20'000; };
  const std::string text = Run({"breakdown", "--longer-than", "20"});
  EXPECT_THAT(text, ContainsRegex("^" + std::to_string(TruthOf(month_, is_long).hangs) + " hangs"));
  EXPECT_THAT(text, ContainsRegex("TAG .*\nsync +100\\.0 %"));
  EXPECT_THAT(text, ContainsRegex("VERDICT .*\nnetwork +100\\.0 %"));
  EXPECT_THAT(text, ContainsRegex("DISTRIBUTION .*\nDebian GNU/Linux 12 \\(bookworm\\) +100\\.0 %"));
  EXPECT_EQ(Run({"breakdown", "--longer-than", "90000"}), "no hangs match\n");
}

TEST_F(AnalystCommands, SaySharesOfVerdictsAndRatesOfVersions) {
  const std::string verdicts = Run({"breakdown", "--app", "editor", "--by", "verdict"});
  for (const char* word : {"cpu", "lock", "disk", "display"}) {
    const auto is_so = [=](const PlantedHang& hang) {
      return policies::VerdictName(hang.cause->word) == std::string_view(word);
    };
    EXPECT_THAT(verdicts, ContainsRegex(std::string(word) + " +" + Percent(ShareOf(is_so, OfApp("editor")))));
  }
  NextQuestion();
  const std::string usage = Run({"usage", "--app", "editor"});
  for (const char* version : {"2.0.0", "2.1.0", "2.2.0", "2.3.0", "2.4.0"}) {
    EXPECT_THAT(usage, ContainsRegex(std::string(version) + " .* " +
                                     std::to_string(UseOf(month_, "editor", version).hangs) + " "));
  }
}

}  // namespace
}  // namespace lagwatch::tools

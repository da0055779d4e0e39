// SPDX-License-Identifier: Apache-2.0
// From a frozen program whose reports are sealed to the collector's answer, with everything real: the files
// on disk reveal nothing to others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/format/sealed.h"
#include "report/spool/spool_reader.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using report::RecordType;
using ::testing::HasSubstr;
using testing::Process;
using testing::WaitUntil;

constexpr char kKey[] = "k_test";
constexpr char kToken[] = "a_test";
constexpr char kUser[] = "user-who-is-nobodys-business";

class SealedDeliveryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Process printer({LAGWATCH_COLLECTOR_PROGRAM, "--data", directory_ / "data", "--print-seal-key"});
    ASSERT_EQ(printer.Wait(), 0) << printer.Errors();
    seal_key_ = printer.Output().substr(0, 64);
  }
  // At the first start on any free port, then on the same.
  void StartCollector(const std::string& data = "data") {
    collector_ = std::make_unique<Process>(std::vector<std::string>{LAGWATCH_COLLECTOR_PROGRAM, "--listen",
                                                                    address_, "--data", directory_ / data,
                                                                    "--key", kKey, "--admin-token", kToken});
    const std::string announcement = "listening on http://";
    ASSERT_TRUE(WaitUntil([&] { return collector_->Output().ends_with('\n'); })) << collector_->Errors();
    const std::string output = collector_->Output();
    address_ = output.substr(output.find(announcement) + announcement.size());
    address_.pop_back();
  }
  void KillCollector() { collector_.reset(); }
  std::unique_ptr<Process> StartFreezer() const {
    auto freezer = std::make_unique<Process>(
        std::vector<std::string>{LAGWATCH_FREEZER, spool_, "http://" + address_, kKey},
        std::vector<std::string>{"FREEZER_SEAL_KEY=" + seal_key_});
    EXPECT_TRUE(WaitUntil([&] { return freezer->Output() == "ready\n"; })) << freezer->Errors();
    return freezer;
  }
  // The number of records of that type in the spool; unsealed ones are a failure.
  size_t CountSealed(RecordType type) const {
    const report::SpoolReader reader(&base::SystemEnv(), spool_);
    size_t count = 0;
    auto names = reader.List(report::SpoolReader::Include::kLiveToo);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      auto segment = reader.Read(name);
      if (!segment.ok()) continue;
      for (const report::OwnedRecord& record : segment->records) {
        auto sealed = report::DecodeSealed(record.payload);
        EXPECT_TRUE(record.type == RecordType::kSealed && sealed.ok());
        count += sealed.ok() && sealed->label.type == type;
      }
    }
    return count;
  }
  void ExpectNothingToReadIn(const std::string& directory) const {
    size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (!entry.is_regular_file()) continue;
      ++files;
      std::ifstream file(entry.path());
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      for (const char* secret : {"freezer", "nobodys-business", "wait_chain", "secret-scene", "freeze",
                                 "main", "libc.so", "/usr/", "x86_64", "aarch64", "Linux", "build/"}) {
        EXPECT_EQ(bytes.find(secret), std::string::npos) << secret << " is in " << entry.path();
      }
    }
    EXPECT_GT(files, 0u);
  }
  json Collected(std::vector<std::string> question) const {
    question.insert(question.begin(), LAGWATCH_PROGRAM);
    question.insert(question.end(), {"--json", "--endpoint", "http://" + address_, "--token", kToken});
    Process process(question);
    return process.Wait() == 0 ? json::parse(process.Output()) : json::array();
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
  std::string address_ = "127.0.0.1:0";
  std::string seal_key_;
  std::unique_ptr<Process> collector_;
};

TEST_F(SealedDeliveryTest, NothingOnDiskCanBeReadAndTheCollectorReadsItAll) {
  StartCollector();
  KillCollector();
  auto freezer = StartFreezer();
  freezer->WriteInput("scene secret-scene\nfreeze 500\nhang\n");
  ASSERT_TRUE(WaitUntil([&] {
    return CountSealed(RecordType::kReport) >= 2 && CountSealed(RecordType::kHangEnd) >= 1 &&
           fs::exists(spool_ + "/ledger");
  }));
  ExpectNothingToReadIn(spool_);
  freezer->Signal(SIGKILL);
  EXPECT_EQ(freezer->Wait(), -SIGKILL);
  ExpectNothingToReadIn(spool_);
  EXPECT_FALSE(fs::is_empty(spool_ + "/runs"));

  Process reader({LAGWATCH_PROGRAM, "reports", "--spool", spool_});
  EXPECT_EQ(reader.Wait(), 0) << reader.Errors();
  EXPECT_THAT(reader.Errors(), HasSubstr("sealed records: only the collector can read them"));

  StartCollector();
  auto next_start = StartFreezer();
  ASSERT_TRUE(WaitUntil([&] { return Collected({"reports"}).size() >= 2; })) << collector_->Errors();
  next_start->WriteInput("last\nquit\n");
  EXPECT_EQ(next_start->Wait(), 0);
  // It knows its own again, but nothing of the loop and the scene.
  EXPECT_THAT(next_start->Output(), HasSubstr("last 2 signal 0 lag 1"));
  EXPECT_THAT(next_start->Output(), HasSubstr("loop '' scene ''"));

  const json reports = Collected({"reports"});
  bool has_end = false;
  for (const json& report : reports) {
    EXPECT_EQ(report["app"], "freezer");
    EXPECT_EQ(report["tag"], "freeze");
    const std::string all = Collected({"report", report["id"]}).dump();
    EXPECT_THAT(all, HasSubstr(kUser));
    EXPECT_THAT(all, HasSubstr("secret-scene"));
    EXPECT_THAT(all, HasSubstr("libc.so"));
    has_end = has_end || report["ended"] == true;
  }
  EXPECT_TRUE(has_end);
  // The end of the run that was killed in its second hang.
  EXPECT_TRUE(
      std::ranges::any_of(reports, [](const json& report) { return report["kind"] == "killed-in-hang"; }));
  EXPECT_GE(Collected({"clusters"}).size(), 1u);
}

TEST_F(SealedDeliveryTest, WithAKeyThatIsNoneNothingIsWritten) {
  for (const std::string& key : {std::string("no key"), std::string(64, '0')}) {
    Process freezer({LAGWATCH_FREEZER, spool_}, {"FREEZER_SEAL_KEY=" + key});
    EXPECT_EQ(freezer.Wait(), 1);
    EXPECT_THAT(freezer.Errors(), HasSubstr("seal_key"));
    EXPECT_FALSE(fs::exists(spool_));
  }
}

// Another collector says so of each; the reports are kept aside, sealed as they are, and counted.
TEST_F(SealedDeliveryTest, AnotherCollectorRefusesThemAndNothingIsReadable) {
  StartCollector("other_data");
  auto freezer = StartFreezer();
  freezer->WriteInput("freeze 500\nquit\n");
  EXPECT_EQ(freezer->Wait(), 0);
  EXPECT_TRUE(Collected({"reports"}).empty());
  EXPECT_THAT(collector_->Errors(), HasSubstr("sealed for another collector"));
  bool is_set_aside = false;
  for (const auto& entry : fs::directory_iterator(spool_))
    is_set_aside = is_set_aside || entry.path().extension() == ".rejected";
  EXPECT_TRUE(is_set_aside);
  ExpectNothingToReadIn(spool_);
}

// Sealing takes no lock that the program may hold.
class SealedHeldLocksTest : public SealedDeliveryTest {
 protected:
  void ExpectReportWhileHeld(const std::vector<std::string>& case_and_plugin,
                             std::vector<std::string> environment = {}) {
    std::vector<std::string> arguments = {LAGWATCH_LOCK_HOLDER, spool_};
    arguments.insert(arguments.end(), case_and_plugin.begin(), case_and_plugin.end());
    environment.push_back("LOCK_HOLDER_SEAL_KEY=" + seal_key_);
    Process program(arguments, environment);
    ASSERT_TRUE(WaitUntil([&] { return program.Output() == "held\n"; })) << program.Errors();
    EXPECT_TRUE(WaitUntil([&] { return CountSealed(RecordType::kReport) > 0; }));
    EXPECT_EQ(program.Output(), "held\n");  // so the main thread waits for the lock to this moment
    program.WriteInput("x");
    EXPECT_EQ(program.Wait(), 0) << program.Errors();
  }
};

// A sanitizer's malloc has other locks, which nothing can be made to hold.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(SealedHeldLocksTest, AReportIsSealedWhileMallocIsLocked) {
  ExpectReportWhileHeld({"malloc"}, {"MALLOC_ARENA_MAX=1", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0"});
}
#endif

TEST_F(SealedHeldLocksTest, AReportIsSealedWhileALibraryIsLoaded) {
  ExpectReportWhileHeld({"dlopen", LAGWATCH_LOCK_HOLDER_PLUGIN});
}

// OpenSSL tears itself down while a program exits, with the watchdog still at work.
TEST_F(SealedDeliveryTest, AProgramMayEndAtAnyMoment) {
  for (int i = 0; i < 10; ++i) {
    Process freezer({LAGWATCH_FREEZER, spool_}, {"FREEZER_SEAL_KEY=" + seal_key_});
    freezer.WriteInput("freeze " + std::to_string(80 + 10 * i) + "\nexit\n");
    EXPECT_EQ(freezer.Wait(), 0) << freezer.Errors();
    EXPECT_EQ(freezer.Errors(), "");
  }
}

}  // namespace
}  // namespace lagwatch

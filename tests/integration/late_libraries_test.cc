// SPDX-License-Identifier: Apache-2.0
// The libraries that a program gets with liblagwatch.so: those that only sending needs come when it sends.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Process;
using testing::WaitUntil;

class LateLibrariesTest : public ::testing::Test {
 protected:
  // With an endpoint that refuses connections, or with none.
  std::unique_ptr<Process> StartFreezer(bool has_endpoint, std::vector<std::string> environment = {}) const {
    std::vector<std::string> command = {LAGWATCH_FREEZER, spool_};
    if (has_endpoint) command.insert(command.end(), {"http://127.0.0.1:1", "k_test"});
    auto freezer = std::make_unique<Process>(command, std::move(environment));
    EXPECT_TRUE(WaitUntil([&] { return freezer->Output() == "ready\n"; })) << freezer->Errors();
    return freezer;
  }
  static std::string MapsOf(const Process& process) {
    std::ifstream maps("/proc/" + std::to_string(process.pid()) + "/maps");
    return {std::istreambuf_iterator<char>(maps), {}};
  }
  void ExpectReportsToStay() const {
    size_t segments = 0;
    for (const auto& entry : fs::directory_iterator(spool_)) segments += entry.is_regular_file();
    EXPECT_GT(segments, 0u);
  }

  testing::ScopedTempDirectory directory_;
  const std::string spool_ = directory_ / "spool";
};

TEST_F(LateLibrariesTest, AProgramThatSendsNothingLoadsNone) {
  const auto freezer = StartFreezer(false);
  const std::string maps = MapsOf(*freezer);
  for (const char* library : {"libcurl", "libcrypto", "libssl", "libz."})
    EXPECT_THAT(maps, Not(HasSubstr(library)));
  freezer->WriteInput("freeze 700\nquit\n");
  EXPECT_EQ(freezer->Wait(), 0) << freezer->Errors();
  ExpectReportsToStay();
}

TEST_F(LateLibrariesTest, TheyComeWhenThereIsSomethingToSend) {
  const auto freezer = StartFreezer(true);
  freezer->WriteInput("freeze 700\n");
  EXPECT_TRUE(WaitUntil([&] { return MapsOf(*freezer).find("libcurl") != std::string::npos; }, 60));
  freezer->WriteInput("exit\n");
  EXPECT_EQ(freezer->Wait(), 0) << freezer->Errors();
  ExpectReportsToStay();
}

TEST_F(LateLibrariesTest, SealingLoadsOpenSslAlone) {
  const auto freezer = StartFreezer(false, {"FREEZER_SEAL_KEY=" + std::string(64, '9')});
  const std::string maps = MapsOf(*freezer);
  EXPECT_THAT(maps, HasSubstr("libcrypto"));
  EXPECT_THAT(maps, Not(HasSubstr("libcurl")));
  freezer->WriteInput("freeze 700\nquit\n");
  EXPECT_EQ(freezer->Wait(), 0) << freezer->Errors();
  ExpectReportsToStay();
}

// OpenSSL reads its settings from a pipe that the test holds, so the sending thread stays in libcurl's
// set-up.
class ExitWhileSendingTest : public LateLibrariesTest {
 protected:
  ExitWhileSendingTest() {
    EXPECT_EQ(mkfifo(settings_.c_str(), 0600), 0);
    freezer_ = StartFreezer(true, {"OPENSSL_CONF=" + settings_});
    freezer_->WriteInput("freeze 700\n");
    writer_ = open(settings_.c_str(), O_WRONLY | O_CLOEXEC);  // returns when the settings are read
    freezer_->WriteInput("exit\n");
  }
  ~ExitWhileSendingTest() override { EndSetUp(); }
  void EndSetUp() {
    if (writer_ >= 0) close(writer_);
    writer_ = -1;
  }

  const std::string settings_ = directory_ / "openssl.cnf";
  std::unique_ptr<Process> freezer_;
  int writer_ = -1;
};

// The handlers of these libraries free what the thread uses.
TEST_F(ExitWhileSendingTest, TheirHandlersWaitForTheirCalls) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_NE(MapsOf(*freezer_), "");  // as it would be of an ended process
  EndSetUp();
  EXPECT_EQ(freezer_->Wait(), 0) << freezer_->Errors();
  ExpectReportsToStay();
}

TEST_F(ExitWhileSendingTest, NotForLong) {
  EXPECT_EQ(freezer_->Wait(), 0) << freezer_->Errors();
  ExpectReportsToStay();
}

// Reports stay in the spool if a library is missing or is invalid, and nothing else happens.
TEST_F(LateLibrariesTest, WithoutThemReportsStay) {
  const std::string broken = directory_ / "broken";
  fs::create_directory(broken);
  std::ofstream(broken + "/libcurl.so.4") << "no library";
  const auto freezer = StartFreezer(true, {"LD_LIBRARY_PATH=" + broken});
  freezer->WriteInput("freeze 700\nexit\n");
  EXPECT_EQ(freezer->Wait(), 0) << freezer->Errors();
  EXPECT_EQ(freezer->Errors(), "");
  ExpectReportsToStay();
}

}  // namespace
}  // namespace lagwatch

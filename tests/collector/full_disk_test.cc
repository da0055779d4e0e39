// SPDX-License-Identifier: Apache-2.0
// The program on a file system of its own that fills up.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "base/clock.h"
#include "collector/admin/audit_log.h"
#include "collector/files/disk_space.h"
#include "tests/collector/http/http_client.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using testing::EncodeBatch;
using ::testing::HasSubstr;
using testing::Process;
using testing::SampleReport;

// A tmpfs of 64 MiB, mounted for the test.
class FullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (mount("lagwatch-test", mount_point_.path().c_str(), "tmpfs", 0, "size=64m") != 0)
      GTEST_SKIP() << "no tmpfs can be mounted here: " << strerror(errno);
    is_mounted_ = true;
  }
  void TearDown() override {
    if (is_mounted_) umount2(mount_point_.path().c_str(), MNT_DETACH);
  }

  // Leaves so many bytes free; more go with a second call.
  void FillUntil(uint64_t free_bytes) {
    const DiskSpace disk(mount_point_.path(), 0);
    const int fd = open((mount_point_ / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    const uint64_t now_free = disk.FreeBytes();
    struct stat status {};
    fstat(fd, &status);
    if (now_free > free_bytes) {
      EXPECT_EQ(posix_fallocate(fd, status.st_size, static_cast<off_t>(now_free - free_bytes)), 0);
    }
    close(fd);
  }
  void Empty() { std::filesystem::remove(mount_point_ / "filler"); }

  testing::ScopedTempDirectory mount_point_;
  bool is_mounted_ = false;
};

TEST_F(FullDiskTest, TheMarkIsWhereItIsSaidToBe) {
  const DiskSpace disk(mount_point_.path(), 16 << 20);
  EXPECT_TRUE(disk.Check().ok());
  FillUntil((16 << 20) + 4096);
  EXPECT_TRUE(disk.Check().ok());
  FillUntil((16 << 20) - 4096);
  EXPECT_EQ(disk.Check().code(), base::StatusCode::kUnavailable);
  EXPECT_THAT(disk.Check().message(), HasSubstr("16 MiB (--min-free-mib)"));
  EXPECT_TRUE(DiskSpace(mount_point_.path(), 0).Check().ok());
}

TEST_F(FullDiskTest, TheAuditLogReservesWhatItsEntriesNeed) {
  AuditLog audit(mount_point_ / "audit.jsonl");
  ASSERT_TRUE(audit.Reserve().ok());
  FillUntil(0);
  audit.Add("ann", "key.add", "x");  // from what was reserved
  EXPECT_EQ(audit.Newest(10)->size(), 1u);
  FillUntil(0);
  EXPECT_EQ(audit.Reserve().code(), base::StatusCode::kUnavailable);
}

// A collector whose data are on the tmpfs.
class FullCollectorTest : public FullDiskTest {
 protected:
  void Start(const std::string& min_free_mib) {
    collector_ = std::make_unique<Process>(std::vector<std::string>{
        LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", mount_point_ / "data", "--key",
        testing::kKey, "--admin-token", "a_test", "--min-free-mib", min_free_mib});
    ASSERT_TRUE(testing::WaitUntil([&] { return collector_->Output().ends_with('\n'); }))
        << collector_->Errors();
    const std::string line = collector_->Output();
    port_ = static_cast<uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  }
  static std::string NewReport() {
    SampleReport report;
    const int64_t now_ms = base::SystemClock().WallMs();
    report.header.id = report.header.hang_id = base::CreateUuidV7(now_ms);
    report.header.start_wall_ms = now_ms;
    return EncodeBatch({report.Encode()});
  }
  Answer Ask(const char* method, const std::string& target, const std::string& body = "") {
    Client client(port_);
    client.headers = {"Authorization: Bearer a_test", "Content-Type: application/json"};
    return client.Perform(method, target, body.empty() ? nullptr : &body);
  }

  std::unique_ptr<Process> collector_;
  uint16_t port_ = 0;
};

TEST_F(FullCollectorTest, TakesNothingBelowItsMarkAnswersAndGoesOnOnceThereIsRoom) {
  Start("24");
  ASSERT_EQ(Client(port_).Post(NewReport()).status, 200);
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
  FillUntil(20 << 20);
  for (int i = 0; i < 3; ++i) {
    const Answer refused = Client(port_).Post(NewReport());
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.head, HasSubstr("Retry-After: 60\r\n"));
    EXPECT_THAT(refused.text, HasSubstr("--min-free-mib"));
  }
  Client sentry(port_);
  sentry.headers = {"X-Sentry-Auth: Sentry sentry_key=" + std::string(testing::kKey)};
  const std::string event = "{}";
  EXPECT_EQ(sentry.Perform("POST", "/api/1/store/", &event).status, 503);
  const Answer ready = Ask("GET", "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_THAT(ready.text, HasSubstr("disk"));
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/reports").json().size(), 1u);
  EXPECT_THAT(Ask("GET", "/metrics").text, HasSubstr("lagwatch_disk_free_bytes 2"));
  // The reserved space is for changes and deletions.
  EXPECT_EQ(Ask("POST", "/v1/admin/keys", R"({"name": "ann", "access": "read"})").status, 201);
  Empty();
  EXPECT_EQ(Client(port_).Post(NewReport()).status, 200);
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/reports").json().size(), 2u);
}

// With no mark at all, so that the disk is really full.
TEST_F(FullCollectorTest, ChangesNothingThatItCannotNote) {
  Start("0");
  ASSERT_EQ(Client(port_).Post(NewReport()).status, 200);
  const std::string key = Ask("GET", "/v1/clusters").json()[0]["key"];
  ASSERT_EQ(Ask("POST", "/v1/admin/keys", R"({"name": "ann", "access": "read"})").status, 201);
  const size_t entries = Ask("GET", "/v1/admin/audit").json().size();
  std::filesystem::resize_file(
      mount_point_ / "data/audit.jsonl",
      std::filesystem::file_size(mount_point_ / "data/audit.jsonl"));  // frees what it reserved
  FillUntil(0);
  EXPECT_EQ(Ask("DELETE", "/v1/admin/keys/ann").status, 503);
  EXPECT_EQ(Ask("PATCH", "/v1/admin/clusters/" + key, R"({"title": "x"})").status, 503);
  EXPECT_EQ(Ask("GET", "/v1/admin/keys").json().back()["name"], "ann");
  EXPECT_EQ(Ask("GET", "/v1/clusters/" + key).json()["title"], nullptr);
  Empty();
  EXPECT_EQ(Ask("DELETE", "/v1/admin/keys/ann").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/admin/audit").json().size(), entries + 1);
}

}  // namespace
}  // namespace lagwatch::collector

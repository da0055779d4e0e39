// SPDX-License-Identifier: Apache-2.0
#include "collector/keys/key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr int64_t kNow = 1'700'000'000'000;

std::string ContentOf(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

void Write(const std::string& path, const std::string& content) { std::ofstream(path) << content; }

class KeyFileTest : public ::testing::Test {
 protected:
  std::vector<FirstKey> Wanted() const {
    return {{Access::kProject, directory_ / "key"}, {Access::kAdmin, directory_ / "admin-token"}};
  }

  testing::ScopedTempDirectory directory_;
  KeyFile file_{directory_ / "keys.json"};
};

TEST_F(KeyFileTest, KeepsWhatAKeyMayAndNotItsText) {
  auto text = file_.Add({.name = "ci",
                         .access = Access::kRead,
                         .expires_after_ms = 1000,
                         .quota = {.reports_per_s = 2.5, .bytes_per_day = 1 << 20}},
                        kNow);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text, MatchesRegex("r_[0-9a-f]+"));
  EXPECT_THAT(ContentOf(file_.path()), Not(HasSubstr(text->substr(2))));
  struct stat status {};
  ASSERT_EQ(stat(file_.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);

  auto records = file_.Read();
  ASSERT_EQ(records->size(), 1u);
  const KeyRecord& record = records->front();
  EXPECT_EQ(record.name, "ci");
  EXPECT_EQ(record.access, Access::kRead);
  EXPECT_EQ(record.digest, DigestOf(*text));
  EXPECT_EQ(record.expires_wall_ms, kNow + 1000);
  EXPECT_EQ(record.quota.reports_per_s, 2.5);
  EXPECT_EQ(record.quota.bytes_per_day, 1u << 20);
}

TEST_F(KeyFileTest, RefusesABadOrTakenName) {
  ASSERT_TRUE(file_.Add({.name = "a"}, kNow).ok());
  for (const char* name : {"a", "", "a b", "../a", "a\n", "\xc3\xa9"})
    EXPECT_EQ(file_.Add({.name = name}, kNow).status().code(), base::StatusCode::kInvalid) << name;
  EXPECT_EQ(file_.Add({.name = std::string(65, 'x')}, kNow).status().code(), base::StatusCode::kInvalid);
  EXPECT_EQ(file_.Read()->size(), 1u);
}

TEST_F(KeyFileTest, LetsTheReplacedKeyLiveForAWhile) {
  ASSERT_TRUE(file_.Add({.name = "old"}, kNow).ok());
  ASSERT_TRUE(file_.Add({.name = "new", .replaces = "old", .overlap_ms = 5000}, kNow).ok());
  EXPECT_EQ(file_.Read()->at(0).expires_wall_ms, kNow + 5000);
  EXPECT_EQ(file_.Read()->at(1).expires_wall_ms, 0);
  ASSERT_TRUE(file_.Add({.name = "newer", .replaces = "old", .overlap_ms = 9000}, kNow).ok());
  EXPECT_EQ(file_.Read()->at(0).expires_wall_ms, kNow + 5000);  // it is not brought back
  EXPECT_EQ(file_.Add({.name = "newest", .replaces = "none"}, kNow).status().code(),
            base::StatusCode::kNotFound);
  EXPECT_EQ(file_.Read()->size(), 3u);
}

TEST_F(KeyFileTest, ForgetsARevokedKey) {
  ASSERT_TRUE(file_.Add({.name = "a"}, kNow).ok());
  EXPECT_EQ(file_.Revoke("b").code(), base::StatusCode::kNotFound);
  EXPECT_TRUE(file_.Revoke("a").ok());
  EXPECT_TRUE(file_.Read()->empty());
}

TEST_F(KeyFileTest, LosesNoKeyOfManyWhoAddAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 5; ++k)
        EXPECT_TRUE(file_.Add({.name = std::to_string(i) + "-" + std::to_string(k)}, kNow).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(file_.Read()->size(), 20u);
}

TEST_F(KeyFileTest, SaysThatItIsDamagedAndIsNotWrittenOver) {
  for (const char* content : {"", "{", "[]", "{}", R"({"keys": 1})", R"({"keys": [{"name": "a"}]})",
                              R"({"keys": [{"name": "a", "access": "god", "sha256": ""}]})"}) {
    Write(file_.path(), content);
    EXPECT_EQ(file_.Read().status().code(), base::StatusCode::kInvalid) << content;
    EXPECT_FALSE(file_.Add({.name = "b"}, kNow).ok());
    EXPECT_EQ(ContentOf(file_.path()), content);
  }
}

TEST_F(KeyFileTest, BeginsWithAProjectKeyAndAnAdminToken) {
  ASSERT_TRUE(CreateFirstKeys(file_, Wanted()).ok());
  EXPECT_THAT(ContentOf(directory_ / "key"), MatchesRegex("k_[0-9a-f]+\n"));
  EXPECT_THAT(ContentOf(directory_ / "admin-token"), MatchesRegex("a_[0-9a-f]+\n"));
  const std::string before = ContentOf(file_.path());
  ASSERT_TRUE(CreateFirstKeys(file_, Wanted()).ok());
  EXPECT_EQ(ContentOf(file_.path()), before);
}

TEST_F(KeyFileTest, TakesOverTheTextsThatWereThereBefore) {
  Write(directory_ / "key", "k_mine\n");
  Write(directory_ / "admin-token", "a_mine\n");
  ASSERT_TRUE(CreateFirstKeys(file_, Wanted()).ok());
  EXPECT_EQ(file_.Read()->at(0).digest, DigestOf("k_mine"));
  EXPECT_EQ(file_.Read()->at(1).digest, DigestOf("a_mine"));
}

TEST_F(KeyFileTest, DoesNotBringARevokedKeyBack) {
  ASSERT_TRUE(CreateFirstKeys(file_, Wanted()).ok());
  ASSERT_TRUE(file_.Revoke("first-project").ok());
  ASSERT_TRUE(CreateFirstKeys(file_, Wanted()).ok());
  ASSERT_TRUE(file_.Revoke("first-admin").ok());
  ASSERT_TRUE(CreateFirstKeys(file_, Wanted()).ok());
  EXPECT_TRUE(file_.Read()->empty());
}

}  // namespace
}  // namespace lagwatch::collector

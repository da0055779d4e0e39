// SPDX-License-Identifier: Apache-2.0
#include "report/config/config_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/report/config_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::report {
namespace {

namespace fs = std::filesystem;
using base::StatusCode;
using testing::ConfigSigner;
using testing::kHourMs;
using testing::kNowMs;

class ConfigStoreTest : public ::testing::Test {
 protected:
  ConfigStore Open() const { return Open(audience_); }
  ConfigStore Open(const ConfigAudience& audience) const {
    return {&base::SystemEnv(), spool_, signer_.public_key(), audience};
  }
  std::string path() const { return spool_ + "/" + ConfigFileName(audience_); }

  lagwatch::testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
  ConfigSigner signer_;
  ConfigAudience audience_{"editor", "u-1"};
};

TEST_F(ConfigStoreTest, KeepsWhatItAcceptsForTheNextStart) {
  EXPECT_FALSE(Open().Current(kNowMs));
  ConfigStore store = Open();
  ASSERT_TRUE(store.Accept(signer_.Envelope(7, {{"threshold_ms", 500}}), kNowMs).ok());
  EXPECT_EQ(store.Current(kNowMs)->threshold_ms, 500u);
  ASSERT_TRUE(Open().Current(kNowMs));
  EXPECT_EQ(Open().Current(kNowMs)->version, 7u);
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(spool_), {}), 1);
}

TEST_F(ConfigStoreTest, LeavesTheLastGoodOneInForce) {
  ConfigStore store = Open();
  ASSERT_TRUE(store.Accept(signer_.Envelope(7, {{"threshold_ms", 500}}), kNowMs).ok());
  EXPECT_EQ(store.Accept(signer_.Envelope(6), kNowMs).code(), StatusCode::kInvalid);
  EXPECT_EQ(store.Accept(ConfigSigner().Envelope(8), kNowMs).code(), StatusCode::kUnauthorized);
  EXPECT_EQ(store.Accept("<html>", kNowMs).code(), StatusCode::kInvalid);
  EXPECT_EQ(store.Accept(signer_.Envelope(8, {{"threshold_ms", "soon"}}), kNowMs).code(),
            StatusCode::kInvalid);
  EXPECT_EQ(store.Accept(signer_.Envelope(8, {{"expires_wall_ms", kNowMs}}), kNowMs).code(),
            StatusCode::kInvalid);
  EXPECT_EQ(store.Accept(signer_.Envelope(8, {{"user", "u-2"}}), kNowMs).code(), StatusCode::kInvalid);
  EXPECT_EQ(store.Accept(signer_.Envelope(8, {{"app", "viewer"}}), kNowMs).code(), StatusCode::kInvalid);
  EXPECT_EQ(store.Current(kNowMs)->threshold_ms, 500u);
  EXPECT_EQ(Open().Current(kNowMs)->threshold_ms, 500u);
}

TEST_F(ConfigStoreTest, TakesTheSameVersionWithALaterExpiry) {
  ConfigStore store = Open();
  ASSERT_TRUE(store.Accept(signer_.Envelope(7), kNowMs).ok());
  ASSERT_TRUE(store.Accept(signer_.Envelope(7, {{"expires_wall_ms", kNowMs + 2 * kHourMs}}), kNowMs).ok());
  EXPECT_TRUE(Open().Current(kNowMs + kHourMs));
  EXPECT_FALSE(store.Accept(signer_.Envelope(7), kNowMs).ok());
}

TEST_F(ConfigStoreTest, HasNoneOnceItHasExpired) {
  ConfigStore store = Open();
  ASSERT_TRUE(store.Accept(signer_.Envelope(7), kNowMs).ok());
  EXPECT_TRUE(store.Current(kNowMs + kHourMs - 1));
  EXPECT_FALSE(store.Current(kNowMs + kHourMs));
  EXPECT_FALSE(Open().Current(kNowMs + kHourMs));
}

// An answer from back then, replayed, holds for longer than what came after it.
TEST_F(ConfigStoreTest, TakesNothingOlderThanWhatHasExpired) {
  const std::string older = signer_.Envelope(6, {{"expires_wall_ms", kNowMs + 9 * kHourMs}});
  ConfigStore store = Open();
  ASSERT_TRUE(store.Accept(signer_.Envelope(7), kNowMs).ok());
  const int64_t later_ms = kNowMs + 2 * kHourMs;
  EXPECT_EQ(store.Accept(older, later_ms).code(), StatusCode::kInvalid);
  EXPECT_EQ(Open().Accept(older, later_ms).code(), StatusCode::kInvalid);
  EXPECT_FALSE(store.Current(later_ms));
  EXPECT_FALSE(Open().Current(later_ms));
  EXPECT_TRUE(store.Accept(signer_.Envelope(7, {{"expires_wall_ms", kNowMs + 3 * kHourMs}}), later_ms).ok());
  EXPECT_TRUE(Open().Current(later_ms));
}

TEST_F(ConfigStoreTest, TakesNothingOlderThanWhatAnotherProcessHasKept) {
  ConfigStore store = Open();
  ASSERT_TRUE(store.Accept(signer_.Envelope(6), kNowMs).ok());
  ASSERT_TRUE(Open().Accept(signer_.Envelope(8, {{"threshold_ms", 500}}), kNowMs).ok());
  EXPECT_EQ(store.Accept(signer_.Envelope(7), kNowMs).code(), StatusCode::kInvalid);
  EXPECT_EQ(store.Current(kNowMs)->threshold_ms, 500u);
  EXPECT_EQ(Open().Current(kNowMs)->version, 8u);
}

TEST_F(ConfigStoreTest, BelievesNoFileThatTheCollectorDidNotSign) {
  fs::create_directories(spool_);
  for (const std::string& content :
       {std::string(), std::string("{"), ConfigSigner().Envelope(9), signer_.Envelope(9).substr(0, 100)}) {
    std::ofstream(path()) << content;
    EXPECT_FALSE(Open().Current(kNowMs)) << content;
  }
  fs::remove(path());
  std::ofstream(directory_ / "elsewhere") << signer_.Envelope(9);
  fs::create_symlink(directory_ / "elsewhere", path());
  EXPECT_FALSE(Open().Current(kNowMs));
}

TEST_F(ConfigStoreTest, KeepsProgramsAndUsersApart) {
  ConfigStore store = Open();
  ASSERT_TRUE(store.Accept(signer_.Envelope(7), kNowMs).ok());
  EXPECT_FALSE(Open({"viewer", "u-1"}).Current(kNowMs));
  EXPECT_FALSE(Open({"editor", "u-2"}).Current(kNowMs));
  EXPECT_NE(ConfigFileName({"a", "b"}), ConfigFileName({"ab", ""}));
}

TEST_F(ConfigStoreTest, HoldsWithoutADiskUntilTheProcessEnds) {
  std::ofstream(spool_) << "a file in the way";
  ConfigStore store = Open();
  EXPECT_EQ(store.Accept(signer_.Envelope(7), kNowMs).code(), StatusCode::kIo);
  EXPECT_TRUE(store.Current(kNowMs));
}

TEST_F(ConfigStoreTest, IsNotHeldUpByWhatACrashLeft) {
  fs::create_directories(spool_);
  std::ofstream(path() + ".new") << "half";
  EXPECT_TRUE(Open().Accept(signer_.Envelope(7), kNowMs).ok());
  EXPECT_TRUE(Open().Current(kNowMs));
}

}  // namespace
}  // namespace lagwatch::report

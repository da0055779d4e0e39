// SPDX-License-Identifier: Apache-2.0
#include "collector/config/config_service.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "collector/keys/secret_file.h"
#include "report/config/remote_config.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kNowMs = 1'800'000'000'000;

class ConfigServiceTest : public ::testing::Test {
 protected:
  std::unique_ptr<ConfigService> Start() const {
    return std::make_unique<ConfigService>(path_, directory_ / "config-version", key_);
  }
  // Renamed into its place, as editors do: never seen half written.
  void Write(const std::string& content) const {
    std::ofstream(path_ + "~") << content;
    std::filesystem::rename(path_ + "~", path_);
  }
  std::optional<SignedConfig> Find(ConfigService* service, const std::string& etag = "",
                                   int64_t now_ms = kNowMs) const {
    return service->Find({"editor", "2.1", "u-1"}, etag, now_ms).value();
  }
  report::RemoteConfig Open(const SignedConfig& config) const {
    auto text = report::OpenSigned(config.envelope, key_.ToPublicKey().value());
    EXPECT_TRUE(text.ok()) << text.status().message();
    return report::ParseRemoteConfig(*text).value();
  }

  testing::ScopedTempDirectory directory_;
  std::string path_ = directory_ / "config.json";
  report::SigningKey key_ = report::SigningKey::Create().value();
};

TEST_F(ConfigServiceTest, HasNothingWithoutAFile) {
  auto service = Start();
  EXPECT_FALSE(Find(service.get()));
  EXPECT_EQ(service->CurrentVersion(), 0u);
}

TEST_F(ConfigServiceTest, SignsWhatAClientUnderstands) {
  Write(R"({"threshold_ms": 500, "allowlist": ["u-1"], "expires_after_hours": 4})");
  auto service = Start();
  auto found = Find(service.get());
  ASSERT_TRUE(found);
  const report::RemoteConfig config = Open(*found);
  EXPECT_EQ(config.threshold_ms, 500u);
  EXPECT_TRUE(config.is_forced);
  EXPECT_EQ(config.app, "editor");
  EXPECT_EQ(config.user, "u-1");
  EXPECT_EQ(config.version, service->CurrentVersion());
  EXPECT_GT(config.version, 0u);
  EXPECT_GT(config.expires_wall_ms, kNowMs + 3 * 3'600'000);
  EXPECT_LE(config.expires_wall_ms, kNowMs + 4 * 3'600'000);
}

// The file is the same one before and after.
TEST_F(ConfigServiceTest, LooksAgainAtAFileThatItCouldNotRead) {
  Write("{}");
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  auto service = Start();
  const bool is_found = Find(service.get()).has_value();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_FALSE(is_found);
  EXPECT_TRUE(Find(service.get()));
  std::filesystem::remove(path_);
  EXPECT_FALSE(Find(service.get()));
}

TEST_F(ConfigServiceTest, SaysOnceWhatStaysTheSameAndPutsTheExpiryOff) {
  Write(R"({"expires_after_hours": 4})");
  auto service = Start();
  auto first = Find(service.get());
  auto known = Find(service.get(), first->etag, kNowMs + 1);
  EXPECT_EQ(known->etag, first->etag);
  EXPECT_EQ(known->envelope, "");
  auto later = Find(service.get(), first->etag, kNowMs + 3'600'000);
  ASSERT_NE(later->envelope, "");
  EXPECT_EQ(Open(*later).version, Open(*first).version);
  EXPECT_GT(Open(*later).expires_wall_ms, Open(*first).expires_wall_ms);
}

TEST_F(ConfigServiceTest, TakesAChangeWithAHigherVersionAndNothingBad) {
  Write(R"({"threshold_ms": 500})");
  auto service = Start();
  const uint64_t first = service->CurrentVersion();
  Write(R"({"threshold_ms": 600})");
  const uint64_t second = service->CurrentVersion();
  EXPECT_GT(second, first);
  EXPECT_EQ(Open(*Find(service.get())).threshold_ms, 600u);
  for (const char* bad : {"{", R"({"threshold_ms": 1})", ""}) {
    Write(bad);
    EXPECT_EQ(Open(*Find(service.get())).threshold_ms, 600u) << bad;
    EXPECT_EQ(service->CurrentVersion(), second);
  }
  Write(R"({"threshold_ms": 700})");
  EXPECT_GT(service->CurrentVersion(), second);
  std::filesystem::remove(path_);
  EXPECT_FALSE(Find(service.get()));
}

TEST_F(ConfigServiceTest, KeepsItsVersionOverRestartsAndNeverGoesBack) {
  Write(R"({"threshold_ms": 500})");
  const uint64_t first = Start()->CurrentVersion();
  EXPECT_EQ(Start()->CurrentVersion(), first);
  // For example, a clock that was set back: the version that is kept counts.
  const uint64_t far = 99'999'999'999;
  std::ofstream(directory_ / "config-version") << far << " 0000000000000000\n";
  EXPECT_EQ(Start()->CurrentVersion(), far + 1);
  EXPECT_EQ(Start()->CurrentVersion(), far + 1);
  std::ofstream(directory_ / "config-version") << "rubbish";
  EXPECT_GE(Start()->CurrentVersion(), first);
}

TEST_F(ConfigServiceTest, AnAdoptedContentHasTheGivenVersionOverRestarts) {
  Write(R"({"threshold_ms": 500})");
  auto service = Start();
  const uint64_t version = service->CurrentVersion() + 1000;
  ASSERT_TRUE(service->Adopt(R"({"threshold_ms": 600})", version).ok());
  EXPECT_EQ(service->CurrentVersion(), version);
  EXPECT_EQ(Start()->CurrentVersion(), version);
  Write(R"({"threshold_ms": 500})");  // put back by hand
  EXPECT_GT(Start()->CurrentVersion(), version);
}

// Else the previous content would go to the fleet as a newer one.
TEST_F(ConfigServiceTest, AContentThatCouldNotBeReplacedKeepsItsVersion) {
  const std::string folder = directory_ / "etc";
  std::filesystem::create_directory(folder);
  path_ = folder + "/config.json";
  Write(R"({"threshold_ms": 500})");
  const uint64_t version = Start()->CurrentVersion();
  auto service = Start();
  // Root may write anywhere, except in a folder that is not there.
  std::filesystem::rename(folder, folder + "-away");
  for (int attempt = 0; attempt < 3; ++attempt)
    EXPECT_FALSE(service->Adopt(R"({"threshold_ms": 600})", version + 1000).ok());
  std::filesystem::rename(folder + "-away", folder);
  EXPECT_EQ(Start()->CurrentVersion(), version);
  EXPECT_EQ(Start()->CurrentVersion(), version);
  EXPECT_EQ(Open(*Find(Start().get())).threshold_ms, 500u);
}

TEST_F(ConfigServiceTest, ANameOnTheAllowlistByItsProofCannotBeAskedAbout) {
  const std::string proof = "0123456789abcdef0123456789abcdef";
  Write(R"({"allowlist": ["sha256:0123456789abcdef0123456789abcdef", "u-2"]})");
  auto service = Start();
  const auto is_forced = [&](const std::string& user, const std::string& user_proof) {
    const auto config =
        service->Find({.app = "editor", .app_version = "2.1", .user = user, .user_proof = user_proof}, "",
                      kNowMs, "a network");
    return Open(*config.value()).is_forced;
  };
  EXPECT_TRUE(is_forced("u-1", proof));
  EXPECT_FALSE(is_forced("u-1", ""));
  EXPECT_FALSE(is_forced("u-1", "sha256:" + proof));
  EXPECT_FALSE(is_forced("sha256:" + proof, ""));
  EXPECT_TRUE(is_forced("u-2", ""));  // an older program's
  for (size_t i = 0; i < ConfigService::kMostAskedUsers; ++i) is_forced("guess-" + std::to_string(i), "");
  EXPECT_FALSE(is_forced("u-3", ""));
  EXPECT_TRUE(is_forced("u-1", proof));  // a proof is no guess
  for (size_t i = 0; i < ConfigService::kMostAskedUsers; ++i) is_forced("u-1", "guess-" + std::to_string(i));
  EXPECT_FALSE(is_forced("u-1", proof));
}

TEST_F(ConfigServiceTest, MakesItsSigningKeyOnce) {
  const std::string path = directory_ / "signing-key";
  auto key = LoadOrCreateKey<report::SigningKey>(path);
  ASSERT_TRUE(key.ok()) << key.status().message();
  EXPECT_EQ(LoadOrCreateKey<report::SigningKey>(path)->ToText(), key->ToText());
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  std::ofstream(path) << "rubbish";
  EXPECT_FALSE(LoadOrCreateKey<report::SigningKey>(path).ok());
}

}  // namespace
}  // namespace lagwatch::collector

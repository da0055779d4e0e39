// SPDX-License-Identifier: Apache-2.0
#include "report/config/remote_config.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "report/config/secret_key.h"
#include "report/config/signed_document.h"

namespace lagwatch::report {
namespace {

using base::StatusCode;
using nlohmann::json;

std::string ToBase64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

class Signer {
 public:
  std::string Seal(std::string_view text) const { return key_.Seal(text).value(); }

 private:
  SigningKey key_ = SigningKey::Create().value();

 public:
  const PublicKey public_key = key_.ToPublicKey().value();
};

TEST(SigningKey, IsTheSameWhenItWasWrittenDown) {
  const SigningKey key = SigningKey::Create().value();
  auto same = SigningKey::Parse(key.ToText());
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(same->ToPublicKey().value(), key.ToPublicKey().value());
  EXPECT_EQ(OpenSigned(same->Seal("text").value(), key.ToPublicKey().value()).value(), "text");
  EXPECT_NE(SigningKey::Create()->ToText(), key.ToText());
  EXPECT_FALSE(SigningKey::Parse("beef").ok());
}

TEST(OpenSigned, YieldsWhatWasSigned) {
  const Signer signer;
  for (size_t size : {0, 1, 2, 3, 4, 1000}) {
    const std::string text(size, 'x');
    auto opened = OpenSigned(signer.Seal(text), signer.public_key);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(*opened, text);
  }
}

TEST(OpenSigned, RefusesWhatAnotherKeySigned) {
  EXPECT_EQ(OpenSigned(Signer().Seal("text"), Signer().public_key).status().code(),
            StatusCode::kUnauthorized);
}

TEST(OpenSigned, RefusesAChangedDocument) {
  const Signer signer;
  json envelope = json::parse(signer.Seal("rate 5"));
  envelope["document"] = ToBase64("rate 6");
  EXPECT_EQ(OpenSigned(envelope.dump(), signer.public_key).status().code(), StatusCode::kUnauthorized);
}

TEST(OpenSigned, SaysSoOfWhatIsNoEnvelope) {
  const Signer signer;
  const std::string good = signer.Seal("text");
  const std::string bad[] = {"",
                             "{",
                             "[]",
                             "17",
                             "{}",
                             R"({"document":"dGV4dA=="})",
                             R"({"document":1,"signature":2})",
                             R"({"document":"dGV4dA==","signature":"AAAA"})",
                             R"({"document":"%%%%","signature":"AAAA"})",
                             std::string(300'000, '['),
                             std::string(100'000, '{'),
                             good.substr(0, good.size() / 2)};
  for (const std::string& envelope : bad)
    EXPECT_EQ(OpenSigned(envelope, signer.public_key).status().code(), StatusCode::kInvalid)
        << envelope.substr(0, 40);
}

TEST(ParsePublicKey, TakesSixtyFourDigits) {
  const std::string hex = "00ff" + std::string(60, 'a');
  auto key = ParsePublicKey(hex);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ((*key)[0], 0);
  EXPECT_EQ((*key)[1], 255);
  EXPECT_EQ((*key)[31], 0xaa);
  EXPECT_EQ(base::ToHex(*key), hex);
  for (std::string bad :
       {hex.substr(1), hex + "0", std::string(64, 'g'), std::string(64, ' '), std::string()})
    EXPECT_FALSE(ParsePublicKey(bad).ok()) << bad;
}

json Good() { return {{"version", 7}, {"expires_wall_ms", 1'700'000'000'000}}; }

TEST(ParseRemoteConfig, LeavesOutWhatIsNotSaid) {
  auto config = ParseRemoteConfig(Good().dump());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->version, 7u);
  EXPECT_FALSE(config->IsExpired(1'699'999'999'999));
  EXPECT_TRUE(config->IsExpired(1'700'000'000'000));
  EXPECT_FALSE(config->is_killed);
  EXPECT_FALSE(config->is_forced);
  EXPECT_EQ(config->threshold_ms, std::nullopt);
  EXPECT_TRUE(config->capture_requests.empty());
}

TEST(ParseRemoteConfig, ReadsWhatIsSaidAndIgnoresTheRest) {
  json document = Good();
  document.update(
      {{"user_rate_ppm", 1000},
       {"threshold_ms", 500},
       {"is_killed", true},
       {"is_forced", true},
       {"from_the_future", {{"a", 1}}},
       {"capture_requests", {{{"cluster", "00ff"}, {"app_version", "2.1"}}, {{"cluster", "a"}}}}});
  auto config = ParseRemoteConfig(document.dump());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->user_rate_ppm, 1000u);
  EXPECT_EQ(config->threshold_ms, 500u);
  EXPECT_TRUE(config->is_killed && config->is_forced);
  ASSERT_EQ(config->capture_requests.size(), 2u);
  EXPECT_EQ(config->capture_requests[0].cluster, 0xffu);
  EXPECT_EQ(config->capture_requests[0].app_version, "2.1");
  EXPECT_EQ(config->capture_requests[1].interval_us, 1000u);
}

TEST(ParseRemoteConfig, HasTheProbesThatAreAskedFor) {
  const std::string hash(64, 'c');
  json document = Good();
  document["probe_requests"] = {
      {{"script", hash}, {"app", "shop"}, {"app_version", "2"}, {"user_share_ppm", 5}, {"duration_s", 9}},
      {{"script", hash}, {"user_share_ppm", 2'000'000}, {"duration_s", 0}, {"from_the_future", 1}}};
  const auto config = ParseRemoteConfig(document.dump());
  ASSERT_TRUE(config.ok()) << config.status().message();
  ASSERT_EQ(config->probe_requests.size(), 2u);
  EXPECT_EQ(config->probe_requests[0], (ProbeRequest{hash, "shop", "2", 5, 9}));
  EXPECT_EQ(config->probe_requests[1], (ProbeRequest{hash, "", "", 1'000'000, 1}));
  for (int i = 0; i < 1000; ++i) document["probe_requests"].push_back({{"script", hash}});
  EXPECT_EQ(ParseRemoteConfig(document.dump())->probe_requests.size(), ProbeRequest::kMaxRequests);
}

TEST(ParseRemoteConfig, BringsNumbersIntoTheirRange) {
  json document = Good();
  document.update({{"user_rate_ppm", 5'000'000},
                   {"threshold_ms", -3},
                   {"retention_hours", 0},
                   {"sample_interval_ms", 1e300},
                   {"reports_per_day", 3.7},
                   {"capture_requests", {{{"cluster", "1"}, {"interval_us", 1}}}}});
  auto config = ParseRemoteConfig(document.dump());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->user_rate_ppm, 1'000'000u);
  EXPECT_EQ(config->threshold_ms, 16u);
  EXPECT_EQ(config->retention_hours, 1u);
  EXPECT_EQ(config->sample_interval_ms, 1000u);
  EXPECT_EQ(config->reports_per_day, 3u);
  EXPECT_EQ(config->capture_requests[0].interval_us, 1000u);
}

TEST(ParseRemoteConfig, NamesTheKeyThatIsWrong) {
  const std::pair<const char*, json> wrong[] = {{"version", -1},
                                                {"version", "7"},
                                                {"expires_wall_ms", {}},
                                                {"threshold_ms", "500"},
                                                {"is_killed", 1},
                                                {"capture_requests", 5},
                                                {"user_rate_ppm", true},
                                                {"capture_requests", {{{"cluster", "xyz"}}}},
                                                {"probe_requests", 5},
                                                {"probe_requests", {{{"script", 1}}}},
                                                {"probe_requests", {{{"duration_s", "1"}}}},
                                                {"app", 1},
                                                {"user", json::array()}};
  for (const auto& [key, value] : wrong) {
    json document = Good();
    document[key] = value;
    auto config = ParseRemoteConfig(document.dump());
    EXPECT_EQ(config.status().code(), StatusCode::kInvalid) << document;
    EXPECT_NE(config.status().message().find(key), std::string::npos) << config.status().message();
  }
  for (const char* text : {"", "[]", "{", "null", "\xff"}) EXPECT_FALSE(ParseRemoteConfig(text).ok());
}

TEST(ParseRemoteConfig, IsNotDeeperThanItsStack) {
  const std::string deep = R"({"version": 1, "expires_wall_ms": 2, "a": )" + std::string(100'000, '[') +
                           std::string(100'000, ']') + "}";
  EXPECT_TRUE(ParseRemoteConfig(deep).ok());
}

TEST(ParseRemoteConfig, TakesSoManyCaptureRequestsAndNoMore) {
  json document = Good();
  for (int i = 0; i < 1000; ++i) document["capture_requests"].push_back({{"cluster", "1"}});
  EXPECT_EQ(ParseRemoteConfig(document.dump())->capture_requests.size(), CaptureRequest::kMaxRequests);
}

}  // namespace
}  // namespace lagwatch::report

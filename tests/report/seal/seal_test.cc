// SPDX-License-Identifier: Apache-2.0
// Sealing and opening records, against each other and against another implementation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "report/format/report.h"
#include "report/seal/record_opener.h"
#include "report/seal/record_sealer.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSecret(64, '7');
const std::string kOtherSecret(64, '6');
// By tests/report/seal/seal_oracle.py, of "what a report says".
constexpr std::string_view kSealedElsewhere =
    "080112100102030405060708090a0b0c0d0e0f1019887766554433221120032a20b795bc45da876a734d4dd92a67e4dbcefab4"
    "4bb99e8d15afb52aeae80c296a0c320caabbccdd07000000000000003a24855195e29bb5b9b30413d31d5a161b58568d8e9dd5"
    "351b6e1c43b531d2fa4a8caa699286";

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    hex += digits;
  }
  return hex;
}

SealKey KeyOf(const std::string& secret) { return SealKey::Parse(secret).value(); }

std::unique_ptr<Sealer> SealerFor(const std::string& secret) {
  return std::move(RecordSealer::Create(KeyOf(secret).ToPublicKey().value())).value();
}

SealedLabel LabelOf(RecordType type) {
  return {.type = type,
          .id = base::CreateUuidV7(1'700'000'000'000),
          .cause = 0x0123456789abcdef,
          .priority = static_cast<uint32_t>(policies::ReportPriority::kAnr)};
}

TEST(Seal, WhatIsSealedOpensWithTheCollectorsKey) {
  const std::string report = testing::SampleReport().Encode();
  const auto sealer = SealerFor(kSecret);
  const SealedLabel label = LabelOf(RecordType::kReport);
  const std::string sealed(sealer->Seal(label, report));
  EXPECT_THAT(sealed, Not(HasSubstr("/usr/bin/editor")));
  auto read = DecodeSealed(sealed);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->label.type, RecordType::kReport);
  EXPECT_EQ(read->label.id, label.id);
  EXPECT_EQ(read->label.cause, label.cause);
  EXPECT_EQ(read->label.KnownPriority(), policies::ReportPriority::kAnr);
  auto opened = RecordOpener(KeyOf(kSecret)).Open(sealed);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->type, RecordType::kReport);
  std::string expected = report;
  AppendCause(label.cause, &expected);
  EXPECT_EQ(opened->payload, expected);
}

TEST(Seal, TheSampleRateComesAlong) {
  const RecordOpener opener(KeyOf(kSecret));
  const auto sealer = SealerFor(kSecret);
  const std::string report = testing::SampleReport().Encode();
  std::string sealed(sealer->Seal(LabelOf(RecordType::kReport), report));
  AppendSampleRate(RecordType::kSealed, 50'000, &sealed);
  auto decoded = DecodeReport(opener.Open(sealed).value().payload);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->sample_rate_ppm, 50'000u);
  EXPECT_EQ(decoded->cause, 0x0123456789abcdefu);
}

TEST(Seal, RecordsOfASessionOpenInAnyOrderAndOfSeveralSessions) {
  const RecordOpener opener(KeyOf(kSecret));
  const auto one = SealerFor(kSecret);
  const auto other = SealerFor(kSecret);
  std::vector<std::string> sealed;
  for (int i = 0; i < 5; ++i) {
    for (const auto* sealer : {&one, &other})
      sealed.emplace_back((*sealer)->Seal(LabelOf(RecordType::kUsage), std::string(100, 'a' + i)));
  }
  std::set<std::string> nonces;
  for (size_t i = sealed.size(); i-- > 0;) {
    EXPECT_EQ(opener.Open(sealed[i]).value().payload, std::string(100, static_cast<char>('a' + i / 2)));
    const Sealed read = DecodeSealed(sealed[i]).value();
    nonces.insert(std::string(read.ephemeral_key) + std::string(read.nonce));
  }
  EXPECT_EQ(nonces.size(), sealed.size());
}

TEST(Seal, NoChangeOfAnyBitGoesUnnoticed) {
  const RecordOpener opener(KeyOf(kSecret));
  const std::string sealed(
      SealerFor(kSecret)->Seal(LabelOf(RecordType::kHangEnd), testing::EncodeEnd(LabelOf({}).id, 5)));
  ASSERT_TRUE(opener.Open(sealed).ok());
  for (size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string changed = sealed;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(opener.Open(changed).ok()) << "bit " << bit;
  }
  for (size_t size = 0; size < sealed.size(); ++size) EXPECT_FALSE(opener.Open(sealed.substr(0, size)).ok());
  EXPECT_TRUE(opener.Open(sealed).ok());
}

TEST(Seal, ATagAloneIsRefused) {
  const std::string sealed(SealerFor(kSecret)->Seal(LabelOf(RecordType::kReport), "what a report says"));
  Sealed parts = DecodeSealed(sealed).value();
  parts.sealed = parts.sealed.substr(0, kSealTagBytes);
  std::vector<char> bytes(1024);
  FixedBuffer buffer(bytes.data(), bytes.size());
  ASSERT_TRUE(EncodeSealed(parts, &buffer));
  const auto opened = RecordOpener(KeyOf(kSecret)).Open(std::string(buffer.content()));
  EXPECT_EQ(opened.status().code(), base::StatusCode::kInvalid) << opened.status().message();
}

TEST(Seal, AnotherCollectorCannotOpenIt) {
  const std::string sealed(SealerFor(kSecret)->Seal(LabelOf(RecordType::kReport), "anything"));
  auto opened = RecordOpener(KeyOf(kOtherSecret)).Open(sealed);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.status().message(), HasSubstr("another collector"));
}

TEST(Seal, WhatIsNotSealedIsNotOpened) {
  const RecordOpener opener(KeyOf(kSecret));
  const auto sealer = SealerFor(kSecret);
  for (const RecordType type : {RecordType::kSealed, RecordType::kLosses, static_cast<RecordType>(99)})
    EXPECT_FALSE(opener.Open(sealer->Seal(LabelOf(type), "anything")).ok());
  EXPECT_FALSE(opener.Open("").ok());
  EXPECT_FALSE(opener.Open("anything").ok());
}

// A megabyte of zeros is a kilobyte of sealed record.
TEST(Seal, TheLongestRecordIsOpenedAndNoLongerOne) {
  const auto sealer = SealerFor(kSecret);
  const std::string longest(RecordOpener::kMaxRecordBytes, '\0');
  const std::string sealed(sealer->Seal({.type = RecordType::kUsage, .id = LabelOf({}).id}, longest));
  EXPECT_LT(sealed.size(), 2000u);
  EXPECT_EQ(RecordOpener(KeyOf(kSecret)).Open(sealed).value().payload, longest);
  EXPECT_EQ(sealer->Seal(LabelOf(RecordType::kUsage), longest + "1"), "");
}

TEST(Seal, WhatDoesNotFitLeavesTheNextOnesAlone) {
  const auto sealer = SealerFor(kSecret);
  std::string noise(1 << 20, '\0');  // as long compressed
  uint64_t state = 1;
  for (char& byte : noise) byte = static_cast<char>((state = state * 6364136223846793005 + 1) >> 56);
  EXPECT_EQ(sealer->Seal(LabelOf(RecordType::kReport), noise), "");
  const std::string sealed(sealer->Seal(LabelOf(RecordType::kUsage), "small"));
  EXPECT_EQ(RecordOpener(KeyOf(kSecret)).Open(sealed).value().payload, "small");
}

// OpenSSL's allocations from now on; the next ones fail.
int allocations_left = INT_MAX;
bool TakeAllocation() { return allocations_left > 0 && allocations_left-- > 0; }
void* Allocate(size_t size, const char*, int) { return TakeAllocation() ? std::malloc(size) : nullptr; }
void* Reallocate(void* block, size_t size, const char*, int) {
  return TakeAllocation() ? std::realloc(block, size) : nullptr;
}
void Free(void* block, const char*, int) { std::free(block); }

[[noreturn]] void OpenWithLessAndLessMemory() {
  if (CRYPTO_set_mem_functions(&Allocate, &Reallocate, &Free) != 1) _exit(2);
  const std::string sealed(SealerFor(kSecret)->Seal(LabelOf(RecordType::kReport), "what a report says"));
  // Some is allocated once, by the first.
  if (!RecordOpener(KeyOf(kSecret)).Open(sealed).ok()) _exit(3);
  for (int allowed = 0;; ++allowed) {
    const RecordOpener opener(KeyOf(kSecret));
    allocations_left = allowed;
    const auto opened = opener.Open(sealed);
    allocations_left = INT_MAX;
    if (opened.status().code() == base::StatusCode::kInvalid) _exit(4);
    if (opened.ok()) _exit(allowed > 0 ? 0 : 5);
  }
}

// A client sets refused records aside; a transient error must not count as a refusal.
TEST(Seal, ARecordThatThereIsNoMemoryForIsNotRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(OpenWithLessAndLessMemory(), ::testing::ExitedWithCode(0), "");
}

TEST(Seal, KeysThatNobodyCanHaveAreRefused) {
  EXPECT_FALSE(RecordSealer::Create(PublicKey{}).ok());
  PublicKey one{};
  one[0] = 1;  // of low order, too
  EXPECT_FALSE(RecordSealer::Create(one).ok());
  EXPECT_FALSE(SealKey::Parse("7777").ok());
  EXPECT_FALSE(SealKey::Parse(std::string(64, 'x')).ok());
}

TEST(Seal, ANewKeyIsKeptAsText) {
  const SealKey key = SealKey::Create().value();
  EXPECT_EQ(SealKey::Parse(key.ToText()).value().ToPublicKey().value(), key.ToPublicKey().value());
  EXPECT_NE(SealKey::Create().value().ToText(), key.ToText());
}

TEST(Seal, AForkedChildSealsNothingMore) {
  const auto sealer = SealerFor(kSecret);
  const pid_t child = fork();
  if (child == 0) _exit(sealer->Seal(LabelOf(RecordType::kUsage), "text").empty() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(sealer->Seal(LabelOf(RecordType::kUsage), "text").empty());
}

TEST(Seal, OpensWhatAnotherImplementationSealed) {
  const auto opened = RecordOpener(KeyOf(kSecret)).Open(FromHex(kSealedElsewhere));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->type, RecordType::kReport);
  std::string expected = "what a report says";
  AppendCause(0x1122334455667788, &expected);
  EXPECT_EQ(opened->payload, expected);
}

TEST(Seal, AnotherImplementationOpensWhatIsSealed) {
  const std::string sealed(
      SealerFor(kSecret)->Seal(LabelOf(RecordType::kUsage), "what a program was used for"));
  testing::Process oracle({"/usr/bin/env", "python3", LAGWATCH_SEAL_ORACLE, "open", kSecret, Hex(sealed)});
  const int code = oracle.Wait();
  if (code == 77) GTEST_SKIP() << "python3 has no library named cryptography";
  EXPECT_EQ(code, 0) << oracle.Errors();
  EXPECT_EQ(oracle.Output(), "what a program was used for");
}

}  // namespace
}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
// Signed lists of scripts, and the results of probes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/gzip/gzip.h"
#include "base/status.h"
#include "report/config/secret_key.h"
#include "report/probes/probe_result.h"
#include "report/probes/script_allowlist.h"

namespace lagwatch::report {
namespace {

using base::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kHash(64, 'a');

ProbeResult SampleResult() {
  return {
      .script = kHash,
      .name = "slow-calls",
      .functions = 2,
      .hits = 7,
      .left_out = 1,
      .tables = {
          {"by",
           "count",
           "",
           true,
           {"tag", "stack"},
           {{.key = {R"("a\"b")", R"(["f;g","main"])"}, .count = 5}, {.key = {"null", "[]"}, .count = 2}}},
          {"mean", "avg", "ns", false, {"size"}, {{.key = {"-3"}, .count = 2, .value = 10}}},
          {"least", "min", "ns", false, {}, {{.value = 4.5}}},
          {"times", "histogram", "ns", false, {}, {{.count = 4, .buckets = {{{}, 1}, {1024, 3}}}}}}};
}

TEST(ScriptAllowlist, HasTheScriptsThatItsSignerPutThere) {
  const auto key = SigningKey::Create();
  const auto public_key = key->ToPublicKey();
  const auto document = ScriptAllowlist::DocumentOf({{"one", "f { count }\n"}, {"two", "g { count }"}});
  ASSERT_TRUE(document.ok());
  const auto list = ScriptAllowlist::Open(*key->Seal(*document), *public_key);
  ASSERT_TRUE(list.ok()) << list.status().message();
  // sha256sum's.
  const std::string hash = HashOfScript("f { count }\n");
  EXPECT_EQ(HashOfScript("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  ASSERT_NE(list->Find(hash), nullptr);
  EXPECT_EQ(list->Find(hash)->name, "one");
  EXPECT_EQ(list->Find(hash)->text, "f { count }\n");
  EXPECT_EQ(list->Find(HashOfScript("f { count }")), nullptr);
  const auto other = SigningKey::Create()->ToPublicKey();
  EXPECT_EQ(ScriptAllowlist::Open(*key->Seal(*document), *other).status().code(), StatusCode::kUnauthorized);
}

TEST(ScriptAllowlist, IsNothingElseThatTheKeySigned) {
  const auto key = SigningKey::Create();
  const auto public_key = key->ToPublicKey();
  const auto open = [&](const std::string& text) {
    return ScriptAllowlist::Open(*key->Seal(text), *public_key).status().message();
  };
  EXPECT_THAT(open(R"({"scripts": []})"), HasSubstr("no list"));
  EXPECT_THAT(open(R"({"kind": "lagwatch probe scripts"})"), HasSubstr("no list"));
  EXPECT_THAT(open("[]"), HasSubstr("no list"));
  EXPECT_THAT(open(R"({"kind": "lagwatch probe scripts", "scripts": [1]})"), HasSubstr("no object"));
  EXPECT_THAT(
      open(R"({"kind": "lagwatch probe scripts", "scripts": [{"name": "a", "text": "b", "sha256": ")" +
           kHash + R"("}]})"),
      HasSubstr("another script's"));
  EXPECT_FALSE(ScriptAllowlist::DocumentOf({{"a", "f"}, {"a", "g"}}).ok());
  EXPECT_FALSE(ScriptAllowlist::DocumentOf({{"", "f"}}).ok());
  EXPECT_FALSE(
      ScriptAllowlist::DocumentOf({{"a", std::string(ScriptAllowlist::kMaxTextBytes + 1, 'x')}}).ok());
}

TEST(ProbeResult, ComesBackAsItWasPacked) {
  const auto result = UnpackProbeResult(PackProbeResult(SampleResult()));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(*result, SampleResult());
}

TEST(ProbeResult, IsRefusedIfItIsMalformedOrTooLarge) {
  const auto refusal = [](const std::string& json) {
    return UnpackProbeResult(base::Gzip(json)).status().message();
  };
  EXPECT_FALSE(UnpackProbeResult("no gzip").ok());
  EXPECT_NE(refusal("{}"), "");
  EXPECT_NE(refusal("[1"), "");
  const std::string whole = *base::Gunzip(PackProbeResult(SampleResult()), 1 << 20);
  ASSERT_EQ(refusal(whole), "");
  const auto with = [&](const std::string& old, const std::string& replacement) {
    std::string changed = whole;
    changed.replace(changed.find(old), old.size(), replacement);
    return refusal(changed);
  };
  EXPECT_THAT(with(kHash, "x"), HasSubstr("no hash"));
  EXPECT_THAT(with("\"avg\"", "\"mode\""), HasSubstr("no known kind"));
  EXPECT_THAT(with("[-3]", "[{}]"), HasSubstr("neither a number"));
  EXPECT_THAT(with("[-3]", "[1,2]"), HasSubstr("another number of parts"));
  EXPECT_THAT(with("[-3]", "[[1]]"), HasSubstr("neither a number"));
  EXPECT_THAT(with("[-3]", "[" + std::string(100'000, '[') + std::string(100'000, ']') + "]"),
              HasSubstr("too many levels"));
  EXPECT_NE(with("slow-calls", std::string(600, 'n')), "");
  EXPECT_FALSE(UnpackProbeResult(base::Gzip(std::string(ProbeResult::kMaxUnpackedBytes + 1, ' '))).ok());
}

TEST(AddProbeTables, AddsUpRowsOfOneKey) {
  std::vector<ProbeTable> sums;
  AddProbeTables(SampleResult().tables, &sums);
  std::vector<ProbeTable> more = SampleResult().tables;
  more[0].rows[0].key[0] = "\"c\"";
  more[0].is_at_least = false;
  more[2].rows[0].value = 1;
  more[3].rows[0] = {.count = 2, .buckets = {{0, 1}, {1024, 1}}};
  AddProbeTables(more, &sums);
  ASSERT_EQ(sums.size(), 4u);
  EXPECT_TRUE(sums[0].is_at_least);
  ASSERT_EQ(sums[0].rows.size(), 3u);
  EXPECT_EQ(sums[0].rows[1].count, 4u);  // null, []
  EXPECT_EQ(sums[1].rows[0].count, 4u);
  EXPECT_EQ(sums[1].rows[0].value, 20);
  EXPECT_EQ(sums[2].rows[0].value, 1);
  EXPECT_EQ(sums[3].rows[0].count, 6u);
  EXPECT_THAT(sums[3].rows[0].buckets,
              ElementsAre(ProbeBucket{{}, 1}, ProbeBucket{0, 1}, ProbeBucket{1024, 4}));
  // Another unit is another table.
  more[2].unit = "";
  AddProbeTables(more, &sums);
  EXPECT_EQ(sums.size(), 5u);
  SortProbeRows(&sums[0]);
  EXPECT_EQ(sums[0].rows[0].key[0], "\"c\"");
  EXPECT_THAT(FoldedProbeStacks(sums), HasSubstr("main;f:g 10\n"));
  EXPECT_THAT(FoldedProbeStacks(sums), HasSubstr("(no stack) 6\n"));
}

}  // namespace
}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
// Signed lists of scripts, and the results of probes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <limits>

#include "base/gzip/gzip.h"
#include "base/status.h"
#include "report/config/secret_key.h"
#include "report/probes/probe_result.h"
#include "report/probes/probe_sums.h"
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
  EXPECT_THAT(ScriptAllowlist::DocumentOf({{"a", "f { count }  # caf\xe9"}}).status().message(),
              HasSubstr("UTF-8"));
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
  EXPECT_THAT(with("\"size\"", '"' + std::string(600, 'n') + '"'), HasSubstr("too long"));
  EXPECT_THAT(with("[\"size\"]", R"({"a":"size"})"), HasSubstr("no array"));
  EXPECT_FALSE(UnpackProbeResult(base::Gzip(std::string(ProbeResult::kMaxUnpackedBytes + 1, ' '))).ok());
}

TEST(ProbeResult, HasNoNumbersThatCannotBe) {
  const std::string whole = *base::Gunzip(PackProbeResult(SampleResult()), 1 << 20);
  const auto with = [&](const std::string& old, const std::string& replacement) {
    std::string changed = whole;
    changed.replace(changed.find(old), old.size(), replacement);
    return UnpackProbeResult(base::Gzip(changed)).status().message();
  };
  for (const char* count :
       {"-1", "1e30", "5.0", "true", "9007199254740993", "18446744073709551616", "null"}) {
    EXPECT_NE(with("\"hits\":7", std::string("\"hits\":") + count), "") << count;
    EXPECT_NE(with("\"count\":5", std::string("\"count\":") + count), "") << count;
    EXPECT_NE(with("\"count\":3", std::string("\"count\":") + count), "") << count;  // of a bucket
  }
  EXPECT_EQ(with("\"hits\":7", "\"hits\":9007199254740992"), "");
  for (const char* value : {"1e999", "true", "\"1\"", "[]"})
    EXPECT_NE(with("\"value\":10", std::string("\"value\":") + value), "") << value;
  for (const char* from : {"1e300", "1.5", "true", "9223372036854775808"})
    EXPECT_NE(with("\"from\":1024", std::string("\"from\":") + from), "") << from;
  EXPECT_EQ(with("\"from\":1024", "\"from\":9223372036854775807"), "");
}

TEST(ProbeResult, IsReadWithoutItsTables) {
  const auto header = UnpackProbeHeader(PackProbeResult(SampleResult()));
  ASSERT_TRUE(header.ok()) << header.status().message();
  ProbeResult expected = SampleResult();
  expected.tables.clear();
  EXPECT_EQ(*header, expected);
}

std::vector<ProbeTable> SumOf(std::initializer_list<std::vector<ProbeTable>> results) {
  ProbeSums sums;
  for (const auto& tables : results) sums.Add(tables);
  return sums.Take();
}

TEST(ProbeSums, AddUpRowsOfOneKey) {
  std::vector<ProbeTable> more = SampleResult().tables;
  more[0].rows[0].key[0] = "\"c\"";
  more[0].is_at_least = false;
  more[2].rows[0].value = 1;
  more[3].rows[0] = {.count = 2, .buckets = {{0, 1}, {1024, 1}}};
  std::vector<ProbeTable> of_other_unit{more[2]};
  of_other_unit[0].unit = "";
  const std::vector<ProbeTable> sums = SumOf({SampleResult().tables, more, of_other_unit});
  ASSERT_EQ(sums.size(), 5u);
  EXPECT_TRUE(sums[0].is_at_least);
  ASSERT_EQ(sums[0].rows.size(), 3u);
  EXPECT_EQ(sums[0].rows[0].count, 5u);
  EXPECT_EQ(sums[0].rows[2].key[0], "null");
  EXPECT_EQ(sums[0].rows[2].count, 4u);
  EXPECT_EQ(sums[1].rows[0].count, 4u);
  EXPECT_EQ(sums[1].rows[0].value, 20);
  EXPECT_EQ(sums[2].rows[0].value, 1);
  EXPECT_EQ(sums[3].rows[0].count, 6u);
  EXPECT_THAT(sums[3].rows[0].buckets,
              ElementsAre(ProbeBucket{{}, 1}, ProbeBucket{0, 1}, ProbeBucket{1024, 4}));
  EXPECT_EQ(sums[4].unit, "");
  EXPECT_THAT(FoldedProbeStacks(sums), HasSubstr("main;f:g 5\n"));
  EXPECT_THAT(FoldedProbeStacks(sums), HasSubstr("(no stack) 4\n"));
}

TEST(ProbeSums, LeaveOutValuesThatAreNoNumbersAndSaySo) {
  const auto table = [](const char* kind, std::optional<double> value) {
    return std::vector<ProbeTable>{{kind, kind, "", false, {}, {{.count = 2, .value = value}}}};
  };
  for (const char* kind : {"sum", "min", "max", "avg"}) {
    const auto sums = SumOf({table(kind, std::nullopt), table(kind, 8), table(kind, std::nullopt)});
    EXPECT_EQ(sums[0].rows[0].value, 8) << kind;
    EXPECT_EQ(sums[0].rows[0].count, 2u) << kind;
    EXPECT_TRUE(sums[0].is_at_least) << kind;
    EXPECT_EQ(SumOf({table(kind, std::nullopt)})[0].rows[0].value, std::nullopt) << kind;
  }
  constexpr double kHuge = 1.7e308;
  EXPECT_EQ(SumOf({table("sum", kHuge), table("sum", kHuge)})[0].rows[0].value,
            std::numeric_limits<double>::max());
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(SumOfCounts(kMost - 1, 2), kMost);
  EXPECT_EQ(SumOfCounts(3, 4), 7u);
}

double CpuMsOf(const std::function<void()>& work) {
  const auto begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) * 1e3 / CLOCKS_PER_SEC;
}

TEST(ProbeSums, TakeAResultAsFastAsTheOneBefore) {
  const auto result_of = [](size_t number) {
    ProbeTable table{"by", "count", "", false, {"path"}, {}};
    for (size_t i = 0; i < 10; ++i)
      table.rows.push_back({.key = {std::to_string(10 * number + i)}, .count = 1});
    return std::vector<ProbeTable>{table};
  };
  ProbeSums sums;
  size_t results = 0;
  const auto add_some = [&] {
    for (int i = 0; i < 100; ++i) sums.Add(result_of(results++));
  };
  const double first_ms = CpuMsOf(add_some);
  while (results < 800) add_some();
  const double last_ms = CpuMsOf(add_some);
  EXPECT_LT(last_ms, 4 * first_ms + 1);  // it was 17 times the time
  EXPECT_EQ(sums.Take()[0].rows.size(), 9'000u);
}

TEST(ProbeSums, HaveAnEnd) {
  const auto rows_from = [](size_t first, size_t part_bytes) {
    ProbeTable table{"by", "count", "", false, {"path"}, {}};
    for (size_t i = first; i < first + ProbeResult::kMaxRows; ++i)
      table.rows.push_back(
          {.key = {'"' + std::to_string(i) + std::string(part_bytes, 'x') + '"'}, .count = 1});
    return table;
  };
  ProbeSums sums;
  for (size_t i = 0; i <= ProbeSums::kMaxRows; i += ProbeResult::kMaxRows) sums.Add({rows_from(i, 0)});
  sums.Add({rows_from(0, 0)});  // rows that are there are added up nevertheless
  std::vector<ProbeTable> tables = sums.Take();
  ASSERT_EQ(tables[0].rows.size(), ProbeSums::kMaxRows);
  EXPECT_TRUE(tables[0].is_at_least);
  EXPECT_EQ(tables[0].rows[ProbeResult::kMaxRows - 1].count, 2u);
  EXPECT_EQ(tables[0].rows[ProbeResult::kMaxRows].count, 1u);

  constexpr size_t kPartBytes = 16'000;
  for (size_t i = 0; i * kPartBytes <= ProbeSums::kMaxBytes; i += ProbeResult::kMaxRows)
    sums.Add({rows_from(i, kPartBytes)});
  tables = sums.Take();
  EXPECT_LT(tables[0].rows.size() * kPartBytes, ProbeSums::kMaxBytes);
  EXPECT_TRUE(tables[0].is_at_least);

  for (size_t i = 0; i < 2 * ProbeSums::kMaxTables; ++i)
    sums.Add({{std::to_string(i), "count", "", false, {}, {}}});
  EXPECT_EQ(sums.Take().size(), ProbeSums::kMaxTables);

  ProbeTable histogram{"h", "histogram", "", false, {}, {{.count = 1, .buckets = {{0, 1}}}}};
  for (int64_t i = 0; i < 1'000; ++i) {
    histogram.rows[0].buckets[0].from = i;
    sums.Add({histogram});
  }
  tables = sums.Take();
  EXPECT_EQ(tables[0].rows[0].buckets.size(), ProbeResult::kMaxBuckets);
  EXPECT_TRUE(tables[0].is_at_least);
}

}  // namespace
}  // namespace lagwatch::report

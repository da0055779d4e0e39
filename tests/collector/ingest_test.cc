// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "collector/ingest/opened_records.h"
#include "collector/ingest/report_limits.h"
#include "report/format/packed_batch.h"
#include "report/seal/record_sealer.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::EncodeBatch;
using testing::EncodeEnd;
using ::testing::HasSubstr;
using testing::MemoryCollector;
using testing::SampleReport;

TEST(Ingest, CountsAReportOnceHoweverOftenItComes) {
  MemoryCollector collector;
  SampleReport report;
  EXPECT_EQ(collector.Submit({report}).accepted, 1);
  IngestResult again = collector.Submit({report, report});
  EXPECT_EQ(again.accepted, 0);
  EXPECT_EQ(again.duplicates, 2);
  EXPECT_EQ(collector.Get("/v1/reports").size(), 1u);
}

TEST(Ingest, RefusesAMalformedRecordAlone) {
  MemoryCollector collector;
  auto result = collector.ingest.Submit(EncodeBatch({SampleReport().Encode(), "no report"}, {"no end"}));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->accepted, 1);
  EXPECT_EQ(result->rejected, 2);
}

TEST(Ingest, RefusesABatchOfNothingButMalformedRecords) {
  MemoryCollector collector;
  EXPECT_EQ(collector.ingest.Submit(EncodeBatch({"no report"})).status().code(), base::StatusCode::kInvalid);
  EXPECT_EQ(collector.ingest.Submit("no batch").status().code(), base::StatusCode::kInvalid);
}

// A client newer than the collector must neither lose them nor send the same again for ever.
TEST(Ingest, KeepsRecordsOfUnknownTypes) {
  MemoryCollector collector;
  std::string batch;
  report::AppendToBatch({static_cast<report::RecordType>(77), "from a newer version"}, &batch);
  auto result = collector.ingest.Submit(batch);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->accepted, 1);
  EXPECT_EQ(collector.ingest.Submit(batch)->duplicates, 1);
  std::vector<std::string> kept;
  ASSERT_TRUE(collector.store
                  ->ForEachUnknownRecord(
                      [&](const report::OwnedRecord& record) { kept.emplace_back(record.payload); })
                  .ok());
  EXPECT_THAT(kept, ElementsAre("from a newer version"));
}

TEST(Ingest, RefusesAnEndlessUnknownRecord) {
  MemoryCollector collector;
  std::string batch;
  const std::string endless(kMaxUnknownBytes + 1, 'x');
  report::AppendToBatch({static_cast<report::RecordType>(77), endless}, &batch);
  EXPECT_EQ(collector.ingest.Submit(batch).status().code(), base::StatusCode::kInvalid);
}

TEST(Ingest, TellsWhatBecameOfEachRecordInOrder) {
  using enum RecordResult::Kind;
  MemoryCollector collector;
  const SampleReport first, second;
  collector.Submit({first});
  auto result = collector.ingest.Submit(EncodeBatch({"no report", first.Encode(), second.Encode()},
                                                    {EncodeEnd(second.header.id, 5), "no end"}));
  ASSERT_TRUE(result.ok());
  std::vector<RecordResult::Kind> kinds;
  for (const RecordResult& record : result->records) kinds.push_back(record.kind);
  EXPECT_THAT(kinds, ElementsAre(kRejected, kDuplicate, kStored, kStored, kRejected));
  EXPECT_THAT(result->records[0].why, HasSubstr("the report"));
  EXPECT_THAT(result->records[4].why, HasSubstr("the hang's end"));
  EXPECT_EQ(result->rejected, 2);
}

// The records of the packed batch stand in its place.
TEST(Ingest, StoresAPackedBatchAsIfItCamePlain) {
  using enum RecordResult::Kind;
  MemoryCollector collector;
  const SampleReport first, second{.stack = {"Other", "main"}};
  const std::string payloads[] = {first.Encode(), second.Encode()};
  const std::string packed = report::PackBatch(std::vector<report::Record>{
      {report::RecordType::kReport, payloads[0]}, {report::RecordType::kReport, "no report"}});
  std::string batch;
  report::AppendToBatch({report::RecordType::kHangEnd, EncodeEnd(second.header.id, 5)}, &batch);
  report::AppendToBatch({report::RecordType::kPacked, packed}, &batch);
  report::AppendToBatch({report::RecordType::kReport, payloads[1]}, &batch);
  const IngestResult result = collector.ingest.Submit(batch).value();
  std::vector<RecordResult::Kind> kinds;
  for (const RecordResult& record : result.records) kinds.push_back(record.kind);
  EXPECT_THAT(kinds, ElementsAre(kStored, kStored, kRejected, kStored));

  MemoryCollector plain;
  plain.Submit({first});
  const std::string path = "/v1/reports/" + base::ToString(first.header.id);
  EXPECT_EQ(collector.Get(path), plain.Get(path));
}

TEST(Ingest, RefusesADamagedPackedBatchAsAWhole) {
  MemoryCollector collector;
  std::string batch = EncodeBatch({SampleReport().Encode()});
  report::AppendToBatch({report::RecordType::kPacked, "no packed batch"}, &batch);
  EXPECT_EQ(collector.ingest.Submit(batch).status().code(), base::StatusCode::kInvalid);
}

// The sealed form of a report.
report::Record Sealed(report::Sealer* sealer, const base::Uuid& id, const std::string& payload,
                      std::string* storage) {
  *storage = sealer->Seal({.type = report::RecordType::kReport, .id = id, .cause = 9}, payload);
  report::AppendSampleRate(report::RecordType::kSealed, 50'000, storage);
  return {report::RecordType::kSealed, *storage};
}

TEST(Ingest, TakesSealedReportsLikeOthersAndRefusesAloneWhatItCannotOpen) {
  const report::SealKey key = report::SealKey::Create().value();
  const report::RecordOpener opener(key);
  auto store = std::move(SqliteStore::Open(":memory:")).value();
  Ingest ingest(store.get(), Clusterer::Create("").value(), &opener);
  auto sealer = std::move(report::RecordSealer::Create(key.ToPublicKey().value())).value();
  SampleReport sample;
  sample.header.id = sample.header.hang_id = base::CreateUuidV7(1'700'000'000'000);
  std::string batch;
  std::string sealed;
  report::AppendToBatch(Sealed(sealer.get(), sample.header.id, sample.Encode(), &sealed), &batch);
  report::AppendToBatch(Sealed(sealer.get(), sample.header.id, "no report", &sealed), &batch);
  sealed[sealed.size() / 2] ^= 1;
  report::AppendToBatch({report::RecordType::kSealed, sealed}, &batch);
  report::AppendToBatch({report::RecordType::kReport, sample.Encode()}, &batch);
  auto result = ingest.Submit(batch);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->accepted, 1);
  EXPECT_EQ(result->duplicates, 1);  // the same in plain
  EXPECT_EQ(result->rejected, 2);
  EXPECT_THAT(result->records[1].why, HasSubstr("the report"));
  EXPECT_THAT(result->records[2].why, HasSubstr("damaged"));
  const auto stored = report::DecodeReport(store->FindReport(sample.header.id).value()->payload);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored.value().sample_rate_ppm, 50'000u);
  EXPECT_EQ(stored.value().cause, 9u);
}

TEST(Ingest, RefusesSealedRecordsWithoutAKey) {
  MemoryCollector collector;
  auto sealer =
      std::move(report::RecordSealer::Create(report::SealKey::Create().value().ToPublicKey().value()))
          .value();
  std::string batch = EncodeBatch({SampleReport().Encode()});
  std::string sealed;
  report::AppendToBatch(Sealed(sealer.get(), base::CreateUuidV7(1), SampleReport().Encode(), &sealed),
                        &batch);
  auto result = collector.ingest.Submit(batch);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->accepted, 1);
  EXPECT_EQ(result->rejected, 1);
  EXPECT_THAT(result->records[1].why, HasSubstr("sealed"));
}

// A small request must not take all memory.
TEST(Ingest, RefusesABatchWhoseSealedRecordsInflateToTooMuch) {
  const report::SealKey key = report::SealKey::Create().value();
  const report::RecordOpener opener(key);
  auto store = std::move(SqliteStore::Open(":memory:")).value();
  Ingest ingest(store.get(), Clusterer::Create("").value(), &opener);
  auto sealer = std::move(report::RecordSealer::Create(key.ToPublicKey().value())).value();
  const std::string longest(report::RecordOpener::kMaxRecordBytes, '\0');
  std::string sealed;
  std::string batch;
  for (size_t i = 0; i <= OpenedRecords::kMaxBytes / longest.size(); ++i)
    report::AppendToBatch(Sealed(sealer.get(), base::CreateUuidV7(1), longest, &sealed), &batch);
  EXPECT_EQ(ingest.Submit(batch).status().code(), base::StatusCode::kTooLarge);
}

// Records that cannot be opened cost time and leave no memory allocated.
TEST(Ingest, RefusesABatchOfTooManySealedRecordsThatCannotBeOpened) {
  const report::RecordOpener opener(report::SealKey::Create().value());
  auto store = std::move(SqliteStore::Open(":memory:")).value();
  Ingest ingest(store.get(), Clusterer::Create("").value(), &opener);
  auto status_of = [&](size_t records) {
    std::string batch;
    for (size_t i = 0; i < records; ++i)
      report::AppendToBatch({report::RecordType::kSealed, "not sealed"}, &batch);
    return ingest.Submit(batch).status().code();
  };
  EXPECT_EQ(status_of(200), base::StatusCode::kInvalid);  // as many as clients send at once
  EXPECT_EQ(status_of(OpenedRecords::kMaxBytes / OpenedRecords::kBytesOfAFailedOne + 1),
            base::StatusCode::kTooLarge);
}

TEST(Ingest, RefusesARunEndWithTextsOverTheLimit) {
  MemoryCollector collector;
  report::RunEnd end{.session_id = base::CreateUuidV7(1), .scene = std::string(2000, 'x')};
  std::string batch;
  report::AppendToBatch({report::RecordType::kRunEnd, report::EncodeRunEnd(end)}, &batch);
  report::AppendToBatch({report::RecordType::kRunEnd, "no end"}, &batch);
  EXPECT_EQ(collector.ingest.Submit(batch).status().code(), base::StatusCode::kInvalid);
}

TEST(Ingest, AcceptsAnEmptyBatch) {
  MemoryCollector collector;
  EXPECT_EQ(collector.Submit({}).accepted, 0);
}

TEST(Ingest, ClustersByTheInnermostFramesAfterTheWaits) {
  MemoryCollector collector;
  collector.Submit(
      {{.stack = {"__lll_lock_wait", "pthread_mutex_lock", "_ZN5Index6LookupEi", "OnKey", "Loop", "main"}}});
  Json clusters = collector.Get("/v1/clusters");
  ASSERT_EQ(clusters.size(), 1u);
  EXPECT_THAT(clusters[0]["frames"], ElementsAre("Index::Lookup", "OnKey"));
  EXPECT_THAT(clusters[0]["children"][0]["frames"], ElementsAre("Index::Lookup", "OnKey", "Loop"));
}

// One source, as three compilers and versions of them name it.
TEST(Ingest, ClonesOfAFunctionAreOneCause) {
  MemoryCollector collector;
  collector.Submit(
      {{.stack = {"_ZL4scanPKc", "parse", "_ZN6editor4OpenEv", "main"}},
       {.stack = {"_ZL4scanPKc.isra.0", "parse.constprop.0.cold", "_ZN6editor4OpenB2v1Ev", "main"}},
       {.stack = {"_ZL4scanPKc.__uniq.2012480205", "parse.llvm.77", "_ZN6editor4OpenB2v2Ev.cold.1",
                  "main.localalias"}}});
  Json clusters = collector.Get("/v1/clusters");
  ASSERT_EQ(clusters.size(), 1u);
  EXPECT_THAT(clusters[0]["frames"], ElementsAre("scan", "parse"));
  ASSERT_EQ(clusters[0]["children"].size(), 1u);
  EXPECT_THAT(clusters[0]["children"][0]["frames"], ElementsAre("scan", "parse", "editor::Open"));
}

TEST(Ingest, TwoPlacesInOneUnnamedFunctionAreOneFrame) {
  MemoryCollector collector;
  collector.Submit({{.stack = {"@0x4000", "@0x5000", "Run"}}});
  Json clusters = collector.Get("/v1/clusters");
  EXPECT_THAT(clusters[0]["frames"], ElementsAre("editor+0x4000", "editor+0x5000"));
  EXPECT_EQ(clusters[0]["via"], "Run");
}

TEST(Ingest, NamesTheCallerOnlyWhenTheClusterHasNoNameOfItsOwn) {
  MemoryCollector collector;
  collector.Submit({{.stack = {"@0x4000", "Named", "Run"}}});
  EXPECT_TRUE(collector.Get("/v1/clusters")[0]["via"].is_null());
}

TEST(Ingest, AReportWithoutFramesHasAClusterToo) {
  MemoryCollector collector;
  EXPECT_EQ(collector.Submit({{.stack = {}}}).accepted, 1);
  EXPECT_EQ(collector.Get("/v1/clusters")[0]["frames"], Json::array());
}

TEST(Ingest, RefusesAReportThatUnfoldsIntoTooManyFrames) {
  MemoryCollector collector;
  std::vector<std::string> deep(500, "@0x4000");
  auto refused = collector.ingest.Submit(EncodeBatch({SampleReport{.samples = {500, deep}}.Encode()}));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr(std::to_string(kMaxShownFrames)));
}

// In memory each entry is many times what it is in the request.
TEST(Ingest, RefusesAReportWithEndlessLists) {
  MemoryCollector collector;
  SampleReport report;
  auto answer_of = [&](const std::string& encoded) {
    return collector.ingest.Submit(EncodeBatch({encoded})).status().message();
  };
  const report::PastDispatchView dispatch{.tag = "tick", .age_ns = 1};
  const report::Fact fact{.name = "fact", .text = "value"};
  report.history.resize(kMaxHistory, dispatch);
  report.facts.resize(kMaxFacts - 2, fact);  // it has two of its own
  EXPECT_EQ(answer_of(report.Encode()), "");
  report.history.resize(kMaxHistory + 1, dispatch);
  EXPECT_THAT(answer_of(report.Encode()), HasSubstr("past dispatches"));
  report.history.clear();
  report.facts.resize(kMaxFacts + 1, fact);
  EXPECT_THAT(answer_of(report.Encode()), HasSubstr("facts"));
  const report::Symbol symbol{.name = "f"};
  std::string many_names = SampleReport().Encode();
  for (size_t i = 0; i <= kMaxSymbols; ++i) report::AppendSymbol(symbol, &many_names);
  EXPECT_THAT(answer_of(many_names), HasSubstr("symbols"));
}

// One text, the payload of each of many records.
TEST(Ingest, RefusesASmallRequestThatUnfoldsIntoALargeOne) {
  MemoryCollector collector;
  const std::string text(100'000, '\xff');  // no message, and so carried as it is
  const std::string packed =
      report::PackBatch(std::vector<report::Record>(100, {report::RecordType::kReport, text}));
  std::string batch;
  report::AppendToBatch({report::RecordType::kPacked, packed}, &batch);
  EXPECT_THAT(collector.ingest.Submit(batch).status().message(), HasSubstr("more than one request may"));
}

TEST(Ingest, RefusesEndlessHeaderTexts) {
  MemoryCollector collector;
  std::string text(kMaxTextBytes + 1, 'x');
  SampleReport report;
  report.header.app = text;
  EXPECT_FALSE(collector.ingest.Submit(EncodeBatch({report.Encode()})).ok());
}

// Whatever comes, the collector lives on and can show what it took.
TEST(Ingest, SurvivesMutatedBatches) {
  MemoryCollector collector;
  SampleReport report{.samples = {{"A", "B"}, {"_ZN5Index6LookupEi"}}, .threads = {{"worker", {"C"}}}};
  std::string valid = EncodeBatch({report.Encode()}, {EncodeEnd(report.header.id, 4'000'000'000)});
  std::mt19937 random(1);
  int survivors = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string batch = valid;
    for (unsigned i = random() % 8; i < 8; ++i) batch[random() % batch.size()] = static_cast<char>(random());
    if (random() % 4 == 0) batch.resize(random() % batch.size());
    survivors += collector.ingest.Submit(batch).ok();
  }
  EXPECT_GT(survivors, 0);
  for (const Json& shown : collector.Get("/v1/reports", "limit=50")) {
    EXPECT_EQ(collector.Get("/v1/reports/" + shown["id"].get<std::string>())["id"], shown["id"]);
  }
}

}  // namespace
}  // namespace lagwatch::collector

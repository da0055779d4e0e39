// SPDX-License-Identifier: Apache-2.0
#include "report/format/packed_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <sstream>

#include "report/format/losses.h"
#include "report/format/packed/known_texts.h"
#include "report/format/packed/message.h"
#include "tests/report/report_testing.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EncodeEnd;
using lagwatch::testing::FullReport;
using lagwatch::testing::IdOf;
using lagwatch::testing::SampleReport;
using ::testing::HasSubstr;

// Fields of a record, those of nested messages among them, in an order that does not depend on the writer.
std::string Canonical(RecordType type, std::string_view payload) {
  std::string bytes;
  packed::WriteMessage(packed::ParseMessage(*packed::SpecOf(type, kPackedVersion), payload), SIZE_MAX,
                       &bytes);
  return bytes;
}

std::vector<Record> ViewsOf(const std::vector<OwnedRecord>& records) {
  std::vector<Record> views;
  for (const OwnedRecord& record : records) views.push_back({record.type, record.payload});
  return views;
}

void ExpectRoundTrip(const std::vector<OwnedRecord>& records, uint32_t version) {
  auto unpacked = UnpackBatch(PackBatch(ViewsOf(records), version));
  ASSERT_TRUE(unpacked.ok()) << unpacked.status().message();
  ASSERT_EQ(unpacked->size(), records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    const RecordType type = records[i].type;
    ASSERT_EQ((*unpacked)[i].type, type);
    if (packed::SpecOf(type, kPackedVersion) == nullptr) {
      EXPECT_EQ((*unpacked)[i].payload, records[i].payload);
    } else {
      EXPECT_EQ(Canonical(type, (*unpacked)[i].payload), Canonical(type, records[i].payload))
          << "record " << i;
    }
  }
}

void ExpectRoundTrip(const std::vector<OwnedRecord>& records) {
  for (uint32_t version = 1; version <= kPackedVersion; ++version) ExpectRoundTrip(records, version);
}

std::string EncodedLosses() {
  return EncodeLosses(
      {.id = IdOf("losses-012345678"),
       .app = "editor",
       .app_version = "2.3.1",
       .user = "u-71",
       .begin_wall_ms = 1'700'000'000'000,
       .end_wall_ms = 1'700'000'003'000,
       .losses = {{LossReason::kCauseIsFull, 77, 3, 50'000}, {LossReason::kTooOld, 78, 1, 0}}});
}

// One record of every type, with every field.
std::vector<OwnedRecord> FullRecords() {
  std::string report = FullReport();
  AppendSampleRate(RecordType::kReport, 50'000, &report);
  AppendCause(0x1234567890abcdef, &report);
  return {{RecordType::kReport, report},
          {RecordType::kHangEnd, EncodeEnd(IdOf("id-0123456789abc"), 3'000'000'000)},
          {RecordType::kRunEnd, EncodeRunEnd(lagwatch::testing::FullRunEnd())},
          {RecordType::kFrameSlice, lagwatch::testing::FullFrameSlice()},
          {RecordType::kUsage, lagwatch::testing::EncodeUsage(lagwatch::testing::FullUsage())},
          {RecordType::kLosses, EncodedLosses()}};
}

TEST(PackedBatch, GivesBackEveryFieldOfEveryRecord) {
  const std::vector<OwnedRecord> records = FullRecords();
  ExpectRoundTrip(records);
  // As readers see it: the names of a module's functions in their order, too.
  const Report before = DecodeReport(records[0].payload).value();
  const auto unpacked = UnpackBatch(PackBatch(ViewsOf(records))).value();
  const Report after = DecodeReport(unpacked[0].payload).value();
  EXPECT_EQ(after.cause, 0x1234567890abcdefu);
  ASSERT_EQ(after.symbols.size(), 1u);
  EXPECT_EQ(after.symbols[0].name, before.symbols[0].name);
  EXPECT_EQ(after.stacks[0].frames[0].function_offset, 0x1200u);
}

size_t UnknownBytes(const packed::Message& message) {
  size_t bytes = message.unknown.size();
  for (const packed::Value& value : message.values) {
    const auto* children = std::get_if<packed::Messages>(&value);
    if (children == nullptr) continue;
    for (const packed::Message& child : *children) bytes += UnknownBytes(child);
  }
  return bytes;
}

TEST(PackedBatch, TheNewestVersionKnowsEveryField) {
  for (const OwnedRecord& record : FullRecords()) {
    const packed::MessageSpec& spec = *packed::SpecOf(record.type, kPackedVersion);
    EXPECT_EQ(UnknownBytes(packed::ParseMessage(spec, record.payload)), 0u) << Number(record.type);
  }
}

// Packed before there was a second version.
TEST(PackedBatch, ReadsBatchesOfTheFirstVersion) {
  for (const char* name : {"every_record", "one_stall"}) {
    const std::string packed =
        lagwatch::testing::ReadFile(std::string(LAGWATCH_CORPUS_DIR "/packed_batch/") + name);
    const auto records = UnpackBatch(packed);
    ASSERT_TRUE(records.ok()) << name << ": " << records.status().message();
    const auto report = std::ranges::find(*records, RecordType::kReport, &OwnedRecord::type);
    ASSERT_NE(report, records->end()) << name;
    EXPECT_FALSE(DecodeReport(report->payload).value().samples.empty()) << name;
  }
}

TEST(PackedBatch, GivesBackManyReportsThatShareStacks) {
  std::vector<OwnedRecord> records;
  for (int i = 0; i < 30; ++i) {
    SampleReport report{
        .stack = {"Leaf" + std::to_string(i % 3), "Caller", "Loop", "main"},
        .samples = {{"Other", "Loop", "main"}, {"Caller", "Loop", "main"}, {}},
        .threads = {{"worker", {"@0x9000", "Wait", "start_thread"}}},
        .history = {{.tag = "paint", .age_ns = 90, .wall_ns = 20}, {.tag = "key", .age_ns = 30}}};
    records.push_back({RecordType::kReport, report.Encode()});
    records.push_back({RecordType::kHangEnd, EncodeEnd(report.header.id, 3'000'000'000 + i)});
  }
  ExpectRoundTrip(records);
  std::string plain;
  for (const OwnedRecord& record : records) AppendToBatch({record.type, record.payload}, &plain);
  EXPECT_LT(PackBatch(ViewsOf(records)).size() * 3, plain.size());
}

TEST(PackedBatch, GivesBackNothingForNothing) { ExpectRoundTrip({}); }

TEST(PackedBatch, CarriesWhatIsNoRecordAsItIs) {
  const std::string bad_id = std::string("\x0a\x03") + "abc";  // a report's id of 3 bytes
  const std::vector<OwnedRecord> records = {{RecordType::kReport, "no report"},
                                            {RecordType::kReport, bad_id},
                                            {RecordType::kHangEnd, std::string(40, '\xff')},
                                            {static_cast<RecordType>(77), "from a newer version"},
                                            {static_cast<RecordType>(9999), ""}};
  auto unpacked = UnpackBatch(PackBatch(ViewsOf(records)));
  ASSERT_TRUE(unpacked.ok()) << unpacked.status().message();
  EXPECT_EQ(*unpacked, records);
}

// --- what only a newer version knows

constexpr uint32_t kNewField = 500;

void AddUnknown(std::string* bytes) {
  protozero::pbf_writer writer(*bytes);
  writer.add_string(kNewField, "unheard of");
  writer.add_uint64(kNewField + 1, 7);
  writer.add_fixed32(kNewField + 2, 8);
}

// The encoded message, with unknown fields in it and in all messages in it.
std::string WithUnknown(const packed::MessageSpec& spec, std::string_view bytes) {
  std::string extended;
  protozero::pbf_writer writer(extended);
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  const char* begin = bytes.data();
  while (reader.next()) {
    const packed::MessageSpec* nested = nullptr;
    for (const packed::FieldSpec& field : spec.fields) {
      if (field.number == reader.tag()) nested = field.message;
    }
    if (nested != nullptr) {
      const auto number = reader.tag();
      auto view = reader.get_view();
      writer.add_message(number, WithUnknown(*nested, {view.data(), view.size()}));
    } else {
      reader.skip();
      extended.append(begin, reader.data().data());
    }
    begin = reader.data().data();
  }
  AddUnknown(&extended);
  return extended;
}

TEST(PackedBatch, CarriesUnknownFieldsOfEveryMessage) {
  std::vector<OwnedRecord> records = FullRecords();
  size_t unknown_count = 0;
  for (OwnedRecord& record : records) {
    record.payload = WithUnknown(*packed::SpecOf(record.type, kPackedVersion), record.payload);
    for (size_t at = record.payload.find("unheard of"); at != std::string::npos; ++unknown_count) {
      at = record.payload.find("unheard of", at + 1);
    }
  }
  EXPECT_GT(unknown_count, 25u);
  ExpectRoundTrip(records);
  // Of a report with all of its kinds of messages, too, what is known is read as before.
  auto unpacked = UnpackBatch(PackBatch(ViewsOf(records))).value();
  EXPECT_TRUE(DecodeReport(unpacked[0].payload).ok());
}

TEST(PackedBatch, CarriesUnknownValuesOfEnums) {
  std::string report = FullReport();
  constexpr uint32_t kKind = 14;
  constexpr uint32_t kLevel = 28;
  protozero::pbf_writer(report).add_enum(kKind, 1234);
  protozero::pbf_writer(report).add_enum(kLevel, -5);
  const std::vector<OwnedRecord> records = {{RecordType::kReport, report}};
  ExpectRoundTrip(records);
  const auto unpacked = UnpackBatch(PackBatch(ViewsOf(records))).value();
  const Report decoded = DecodeReport(unpacked[0].payload).value();
  EXPECT_EQ(static_cast<int32_t>(decoded.kind), 1234);
  EXPECT_EQ(static_cast<int32_t>(decoded.level), -5);
}

TEST(PackedBatch, GivesBackTheLargestNumbers) {
  std::string end = EncodeEnd(IdOf("id-0123456789abc"), 0);
  constexpr uint32_t kDurationNs = 2;
  constexpr uint32_t kBeginWallMs = 6;
  constexpr uint32_t kEndWallMs = 7;
  protozero::pbf_writer(end).add_uint64(kDurationNs, UINT64_MAX);
  std::string usage = lagwatch::testing::EncodeUsage(lagwatch::testing::FullUsage());
  protozero::pbf_writer(usage).add_uint64(kBeginWallMs, UINT64_MAX);
  protozero::pbf_writer(usage).add_uint64(kEndWallMs, uint64_t{1} << 63);
  ExpectRoundTrip({{RecordType::kHangEnd, end}, {RecordType::kUsage, usage}});
}

// --- stacks that need care

std::string ReportOf(const std::vector<Frame>& frames, uint32_t module_count) {
  char bytes[4096];
  FixedBuffer buffer(bytes, sizeof bytes);
  ReportEncoder encoder(&buffer);
  ReportHeader header;
  header.id = IdOf("id-0123456789abc");
  encoder.SetHeader(header);
  for (uint32_t i = 0; i < module_count; ++i) encoder.AddModule("/lib/one", "build", 0x1000);
  encoder.SetExpensiveStack(encoder.AddStack(frames, Completeness::kComplete));
  return std::string(buffer.content());
}

TEST(PackedBatch, KeepsTwoEqualModulesApart) {
  ExpectRoundTrip({{RecordType::kReport, ReportOf({{0, 0x10, 0x8}, {1, 0x10, 0x8}}, 2)}});
}

TEST(PackedBatch, CarriesAFrameOfAModuleThatIsNotThere) {
  ExpectRoundTrip({{RecordType::kReport, ReportOf({{7, 0x10, 0x8}}, 1)}});
}

TEST(PackedBatch, KeepsAFunctionThatBeginsAfterItsFrame) {
  ExpectRoundTrip({{RecordType::kReport, ReportOf({{0, 0x10, 0x80}, {0, UINT64_MAX, 1}}, 1)}});
}

TEST(PackedBatch, KeepsNamesThatReportsDoNotAgreeOn) {
  const std::string report = ReportOf({{0, 0x18, 0x10}, {0, 0x20, 0}}, 1);
  auto named = [&](std::string_view name) {
    std::string bytes = report;
    AppendSymbol({0, 0x10, std::string(name)}, &bytes);
    return OwnedRecord{RecordType::kReport, bytes};
  };
  ExpectRoundTrip({named("one"), named("other"), {RecordType::kReport, report}, named("one")});
}

void AddColumns(const packed::MessageSpec& spec, std::vector<size_t>* columns) {
  for (const packed::FieldSpec& field : spec.fields) {
    columns->insert(columns->end(), {field.column, field.column + 1});
    if (field.message != nullptr) AddColumns(*field.message, columns);
  }
  columns->push_back(spec.unknown_column);
}

TEST(PackedBatch, HasAColumnForEveryField) {
  std::vector<size_t> columns(packed::kBatchColumnCount);
  std::iota(columns.begin(), columns.end(), 0);
  AddColumns(packed::TablesSpec(), &columns);
  for (RecordType type : packed::PackedTypes()) AddColumns(*packed::SpecOf(type, kPackedVersion), &columns);
  std::ranges::sort(columns);
  EXPECT_EQ(std::ranges::adjacent_find(columns), columns.end());
  EXPECT_EQ(columns.back() + 1, packed::ColumnCount());
}

// --- what docs/report_format.md says

TEST(PackedBatch, ThePageListsEveryKnownText) {
  const std::string page = lagwatch::testing::ReadFile(LAGWATCH_REPORT_FORMAT_FILE);
  for (std::string_view text : packed::kKnownTexts) EXPECT_THAT(page, HasSubstr(text));
}

// The bytes of the page's example: the pairs of hexadecimal digits that its lines begin with.
std::string ExampleOfThePage() {
  std::istringstream page(lagwatch::testing::ReadFile(LAGWATCH_REPORT_FORMAT_FILE));
  std::string line, bytes;
  while (std::getline(page, line) && line != "### An example") {
  }
  while (std::getline(page, line) && !line.starts_with("#")) {
    if (!line.starts_with("    ")) continue;
    std::istringstream words(line.substr(0, line.find("  ", 4)));
    for (std::string word; words >> word;) bytes.push_back(static_cast<char>(std::stoi(word, nullptr, 16)));
  }
  return bytes;
}

TEST(PackedBatch, ThePagesExampleIsRight) {
  const std::string run_end = EncodeRunEnd({.session_id = IdOf("id-0123456789abc"), .loop = "canvas"});
  const std::string hang_end = EncodeEnd(IdOf("id-0123456789abc"), 3'000'000'000);
  const std::vector<OwnedRecord> records = {{RecordType::kRunEnd, run_end}, {RecordType::kHangEnd, hang_end}};
  EXPECT_EQ(ExampleOfThePage(), PackBatch(ViewsOf(records), 1));
  EXPECT_EQ(UnpackBatch(ExampleOfThePage()).value(), records);
}

// --- hostile input

TEST(PackedBatch, RefusesANewerVersion) {
  std::string packed;
  protozero::pbf_writer(packed).add_uint32(1, kPackedVersion + 1);
  auto unpacked = UnpackBatch(packed);
  ASSERT_FALSE(unpacked.ok());
  EXPECT_THAT(unpacked.status().message(), HasSubstr("version"));
}

TEST(PackedBatch, RefusesOneInItself) {
  std::string packed = PackBatch(std::vector<Record>{{RecordType::kPacked, ""}});
  EXPECT_FALSE(UnpackBatch(packed).ok());
}

TEST(PackedBatch, KeepsToItsLimits) {
  const std::vector<OwnedRecord> records = FullRecords();
  const std::string packed = PackBatch(ViewsOf(records));
  size_t payload_bytes = 0;
  const std::vector<OwnedRecord> unpacked = UnpackBatch(packed).value();
  for (const OwnedRecord& record : unpacked) payload_bytes += record.payload.size();
  EXPECT_FALSE(UnpackBatch(packed, {.record_count = records.size() - 1}).ok());
  EXPECT_TRUE(UnpackBatch(packed, {.record_count = records.size()}).ok());
  EXPECT_FALSE(UnpackBatch(packed, {.payload_bytes = payload_bytes - 1}).ok());
  EXPECT_FALSE(UnpackBatch(packed, {.number_count = 100}).ok());
}

// One text of 100 kB, named by 10,000 records: 1 GB.
TEST(PackedBatch, DoesNotUnfoldASmallBodyIntoGigabytes) {
  const std::string text(100'000, 'x');
  std::string end;
  constexpr uint32_t kScene = 9;
  protozero::pbf_writer(end).add_string(kScene, text);
  const std::vector<Record> records(10'000, {RecordType::kRunEnd, end});
  const std::string packed = PackBatch(records);
  EXPECT_LT(packed.size(), 1u << 20);
  auto unpacked = UnpackBatch(packed);
  ASSERT_FALSE(unpacked.ok());
  EXPECT_THAT(unpacked.status().message(), HasSubstr("more than one request may"));
}

TEST(PackedBatch, LimitsHoldForAllPackedBatchesOfABodyTogether) {
  const std::vector<OwnedRecord> records = FullRecords();
  const std::string packed = PackBatch(ViewsOf(records));
  std::string body;
  for (int i = 0; i < 3; ++i) AppendToBatch({RecordType::kPacked, packed}, &body);
  EXPECT_EQ(ReadBatch(body)->size(), 3 * records.size());
  EXPECT_FALSE(ReadBatch(body, {.record_count = 3 * records.size() - 1}).ok());
}

TEST(PackedBatch, SurvivesMutation) {
  const std::string valid = PackBatch(ViewsOf(FullRecords()));
  std::mt19937 random(1);
  int survivors = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string mutated = valid;
    for (unsigned i = random() % 8; i < 8; ++i)
      mutated[random() % mutated.size()] = static_cast<char>(random());
    if (random() % 8 == 0) mutated.resize(random() % mutated.size());
    auto unpacked = UnpackBatch(mutated, {.payload_bytes = 1 << 20, .number_count = 100'000});
    survivors += unpacked.ok();
    if (!unpacked.ok()) {
      EXPECT_NE(unpacked.status().message(), "");
    }
  }
  EXPECT_GT(survivors, 0);
}

}  // namespace
}  // namespace lagwatch::report

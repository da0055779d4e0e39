// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>
#include <utility>

#include "report/format/packed/columns.h"
#include "report/format/packed/frame_tables.h"
#include "report/format/packed/known_texts.h"
#include "report/format/packed/layout.h"
#include "report/format/packed/walk.h"
#include "report/format/packed_batch.h"
#include "report/format/protozero_checked.h"

namespace lagwatch::report {
namespace {

using namespace packed;

// Filled by WalkMessage(), written by VisitColumns().
class CellWriter {
 public:
  CellWriter() {
    for (std::string_view text : kKnownTexts) text_places_.emplace(text, text_places_.size() + 1);
  }

  void Number(size_t column, uint64_t predicted, const uint64_t* number) {
    columns_[column].push_back(*number - predicted);
  }
  void Text(size_t column, const std::string_view* text) { columns_[column].push_back(PlaceOf(*text)); }
  void Unknown(size_t column, const std::string* bytes) { columns_[column].push_back(PlaceOf(*bytes)); }
  void Id(size_t column, const std::string_view* id);
  void Count(size_t column, const size_t* count) { columns_[column].push_back(*count); }

  void Column(size_t column, size_t, bool is_signed) { AppendColumn(columns_[column], is_signed, &bytes_); }
  size_t Counts(size_t column, size_t) {
    size_t sum = 0;
    for (uint64_t count : columns_[column]) sum += count;
    AppendColumn(columns_[column], /*is_signed=*/false, &bytes_);
    return sum;
  }
  void CountedColumn(size_t column, bool is_signed) {
    protozero::add_varint_to_buffer(&bytes_, columns_[column].size());
    AppendColumn(columns_[column], is_signed, &bytes_);
  }

  const std::string& texts() const { return texts_; }
  const std::string& ids() const { return ids_; }
  const std::string& bytes() const { return bytes_; }

 private:
  // 0 for the empty one, else its place plus 1: known ones first.
  uint64_t PlaceOf(std::string_view text);

  std::vector<std::vector<uint64_t>> columns_ = std::vector<std::vector<uint64_t>>(ColumnCount());
  std::map<std::string, uint64_t, std::less<>> text_places_;
  std::map<std::string, uint64_t, std::less<>> id_places_;
  std::vector<std::optional<uint64_t>> last_ids_ = std::vector<std::optional<uint64_t>>(ColumnCount());
  uint64_t last_id_time_ = 0;
  std::string texts_;
  std::string ids_;
  std::string bytes_;
};

uint64_t CellWriter::PlaceOf(std::string_view text) {
  if (text.empty()) return 0;
  if (auto found = text_places_.find(text); found != text_places_.end()) return found->second;
  texts_.append(text);
  columns_[kTextLengths].push_back(text.size());
  return text_places_.emplace(text, text_places_.size() + 1).first->second;
}

void CellWriter::Id(size_t column, const std::string_view* id) {
  std::vector<uint64_t>& codes = columns_[column];
  if (id->empty()) return codes.push_back(kNoId);
  auto [place, is_new] = id_places_.try_emplace(std::string(*id), id_places_.size());
  std::optional<uint64_t>& last = last_ids_[column];
  if (is_new) {
    uint64_t time = 0;
    for (char byte : id->substr(0, kIdTimeBytes)) time = time << 8 | static_cast<uint8_t>(byte);
    columns_[kIdTimes].push_back(time - std::exchange(last_id_time_, time));
    ids_.append(id->substr(kIdTimeBytes));
    codes.push_back(kNewId);
  } else if (last == place->second) {
    codes.push_back(kSameId);
  } else if (place->second == id_places_.size() - 1) {
    codes.push_back(kNewestId);
  } else {
    codes.push_back(kFirstIdPlace + place->second);
  }
  last = place->second;
}

// The records taken apart; those that cannot be, or need not, are absent.
std::vector<std::optional<Message>> ParseAll(std::span<const Record> records, uint32_t version) {
  std::vector<std::optional<Message>> messages(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    const MessageSpec* spec = SpecOf(records[i].type, version);
    if (spec == nullptr) continue;
    try {
      messages[i] = ParseMessage(*spec, records[i].payload);
    } catch (const SchemaError&) {
    } catch (const protozero::exception&) {
    }
  }
  return messages;
}

FrameTables TakeTables(std::span<const Record> records, std::vector<std::optional<Message>>* messages) {
  FrameTables tables;
  auto for_each_report = [&](auto take) {
    for (size_t i = 0; i < records.size(); ++i) {
      if (records[i].type == RecordType::kReport && (*messages)[i]) take(&*(*messages)[i]);
    }
  };
  for_each_report([&](Message* report) { tables.Take(report); });
  for_each_report([&](Message* report) { tables.TakeSymbols(report); });
  return tables;
}

}  // namespace

std::string PackBatch(std::span<const Record> records, uint32_t version) {
  std::vector<std::optional<Message>> messages = ParseAll(records, version);
  const FrameTables frame_tables = TakeTables(records, &messages);

  CellWriter cells;
  Predictor predictor;
  Message tables = frame_tables.ToMessage();
  WalkMessage(&tables, 0, &predictor, &cells);
  std::map<RecordType, size_t> counts;
  for (size_t i = 0; i < records.size(); ++i) {
    const uint64_t type = uint64_t{Number(records[i].type)} * 2 + (messages[i] ? 0 : 1);
    cells.Number(kRecordTypes, 0, &type);
    if (messages[i]) {
      WalkMessage(&*messages[i], 0, &predictor, &cells);
      ++counts[records[i].type];
    } else {
      cells.Text(kPlainPayloads, &records[i].payload);
    }
  }
  cells.CountedColumn(kTextLengths, false);
  cells.CountedColumn(kIdTimes, true);
  cells.CountedColumn(kRecordTypes, false);
  cells.CountedColumn(kPlainPayloads, false);
  VisitColumns(TablesSpec(), 1, &cells);
  for (RecordType type : PackedTypes()) {
    if (counts[type] != 0) VisitColumns(*SpecOf(type, version), counts[type], &cells);
  }

  std::string packed;
  protozero::pbf_writer writer(packed);
  writer.add_uint32(Number(PackedBatchField::kVersion), version);
  writer.add_bytes(Number(PackedBatchField::kTexts), cells.texts());
  writer.add_bytes(Number(PackedBatchField::kIds), cells.ids());
  writer.add_bytes(Number(PackedBatchField::kColumns), cells.bytes());
  return packed;
}

}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <memory_resource>
#include <utility>

#include "report/format/guarded_read.h"
#include "report/format/packed/columns.h"
#include "report/format/packed/encoded_fields.h"
#include "report/format/packed/frame_tables.h"
#include "report/format/packed/known_texts.h"
#include "report/format/packed/layout.h"
#include "report/format/packed/walk.h"
#include "report/format/packed_batch.h"

namespace lagwatch::report {
namespace {

using namespace packed;

// Of all that is packed into one body.
struct Budget {
  size_t records;
  size_t payload_bytes;
  size_t numbers;

  static void Spend(size_t count, size_t* left) {
    if (count > *left) throw SchemaError{"it holds more than one request may"};
    *left -= count;
  }
};

// Read by VisitColumns() and WalkMessage().
class CellReader {
 public:
  CellReader(std::string_view columns, Budget* budget) : bytes_(columns), budget_(budget) {}

  void Column(size_t column, size_t count, bool is_signed) {
    Budget::Spend(count, &budget_->numbers);
    columns_[column] = ColumnReader(count, is_signed, &bytes_);
  }
  size_t Counts(size_t column, size_t count) {
    Column(column, count, /*is_signed=*/false);
    return columns_[column].Sum(budget_->numbers);
  }
  size_t CountedColumn(size_t column, bool is_signed);
  void SetTexts(std::string_view bytes);
  void SetIds(std::string_view bytes);
  bool is_at_end() const { return bytes_.empty(); }

  void Number(size_t column, uint64_t predicted, uint64_t* number) {
    *number = predicted + columns_[column].Next();
  }
  void Text(size_t column, std::string_view* text);
  void Unknown(size_t column, std::string* bytes);
  void Id(size_t column, std::string_view* id);
  void Count(size_t column, size_t* count) { *count = columns_[column].Next(); }
  size_t bytes_left() const { return budget_->payload_bytes; }

 private:
  std::string_view bytes_;
  Budget* budget_;
  std::vector<ColumnReader> columns_ = std::vector<ColumnReader>(ColumnCount());
  std::vector<std::string_view> texts_{std::begin(kKnownTexts), std::end(kKnownTexts)};
  std::deque<std::string> ids_;  // keeps what views show in its place
  size_t ids_seen_ = 0;
  std::vector<size_t> last_ids_ = std::vector<size_t>(ColumnCount());
};

// Reads the number of values of a column.
size_t CellReader::CountedColumn(size_t column, bool is_signed) {
  const char* at = bytes_.data();
  const uint64_t count = protozero::decode_varint(&at, bytes_.data() + bytes_.size());
  bytes_.remove_prefix(static_cast<size_t>(at - bytes_.data()));
  Column(column, count, is_signed);
  return count;
}

void CellReader::SetTexts(std::string_view bytes) {
  for (size_t left = CountedColumn(kTextLengths, false); left > 0; --left) {
    const uint64_t length = columns_[kTextLengths].Next();
    if (length > bytes.size()) throw SchemaError{"a text is cut short"};
    texts_.push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
}

void CellReader::SetIds(std::string_view bytes) {
  uint64_t time = 0;
  for (size_t left = CountedColumn(kIdTimes, true); left > 0; --left) {
    if (bytes.size() < kIdRestBytes) throw SchemaError{"an id is cut short"};
    time += columns_[kIdTimes].Next();
    std::string& id = ids_.emplace_back();
    for (size_t i = kIdTimeBytes; i-- > 0;) id.push_back(static_cast<char>(time >> (8 * i)));
    id.append(bytes.substr(0, kIdRestBytes));
    bytes.remove_prefix(kIdRestBytes);
  }
}

void CellReader::Text(size_t column, std::string_view* text) {
  const uint64_t place = columns_[column].Next();
  if (place > texts_.size()) throw SchemaError{"a text is not there"};
  *text = place == 0 ? std::string_view() : texts_[place - 1];
}

void CellReader::Unknown(size_t column, std::string* bytes) {
  std::string_view text;
  Text(column, &text);
  // Copied: it counts before it is written.
  Budget::Spend(text.size(), &budget_->payload_bytes);
  *bytes = text;
}

void CellReader::Id(size_t column, std::string_view* id) {
  const uint64_t code = columns_[column].Next();
  if (code == kNoId) return;
  size_t& last = last_ids_[column];
  if (code == kNewId) {
    last = ids_seen_++;
  } else if (code == kNewestId) {
    last = ids_seen_ - 1;
  } else if (code >= kFirstIdPlace) {
    last = code - kFirstIdPlace;
  }
  if (last >= ids_.size()) throw SchemaError{"an id is not there"};
  *id = ids_[last];
}

class Unpacker {
 public:
  explicit Unpacker(Budget* budget) : budget_(budget) {}

  void Unpack(std::string_view packed, std::vector<OwnedRecord>* records);

 private:
  void ReadColumns(CellReader* cells);

  Budget* budget_;
  uint32_t version_ = 0;
  std::vector<std::pair<RecordType, bool>> types_;  // and whether it is carried as it is
};

struct PackedViews {
  uint32_t version = 0;
  std::string_view texts;
  std::string_view ids;
  std::string_view columns;
};

PackedViews ReadViews(std::string_view packed) {
  PackedViews views;
  protozero::pbf_message<PackedBatchField> message(packed.data(), packed.size());
  auto view = [&] {
    auto bytes = message.get_view();
    return std::string_view(bytes.data(), bytes.size());
  };
  while (message.next()) {
    switch (message.tag()) {
      case PackedBatchField::kVersion:
        views.version = message.get_uint32();
        break;
      case PackedBatchField::kTexts:
        views.texts = view();
        break;
      case PackedBatchField::kIds:
        views.ids = view();
        break;
      case PackedBatchField::kColumns:
        views.columns = view();
        break;
      default:
        message.skip();
    }
  }
  if (views.version == 0 || views.version > kPackedVersion)
    throw SchemaError{"its version is not known here"};
  return views;
}

void Unpacker::Unpack(std::string_view packed, std::vector<OwnedRecord>* records) {
  const PackedViews views = ReadViews(packed);
  version_ = views.version;
  CellReader cells(views.columns, budget_);
  cells.SetTexts(views.texts);
  cells.SetIds(views.ids);
  ReadColumns(&cells);

  Predictor predictor;
  std::pmr::monotonic_buffer_resource tables_memory;
  Message tables_message(&TablesSpec(), &tables_memory);
  WalkMessage(&tables_message, 0, &predictor, &cells);
  const FrameTables tables(&tables_message);
  constexpr size_t kUsualReportBytes = 256 << 10;  // taken apart
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kUsualReportBytes);
  std::string payload;
  FieldEncoder encoder(&predictor, &cells, &payload);
  for (auto [type, is_plain] : types_) {
    OwnedRecord& record = records->emplace_back(OwnedRecord{type, {}});
    if (is_plain) {
      cells.Unknown(kPlainPayloads, &record.payload);
      continue;
    }
    payload.clear();
    size_t first_place = 0;
    if (type == RecordType::kReport) {
      // The tables have a part of these.
      first_place = report_place::kHasTableSymbols + 1;
      std::pmr::monotonic_buffer_resource memory(buffer.get(), kUsualReportBytes);
      Message message(SpecOf(type, version_), &memory);
      WalkFields(&message, first_place, 0, &predictor, &cells);
      tables.Restore(&message, &budget_->numbers);
      WriteFields(message, first_place, budget_->payload_bytes, &payload);
    }
    encoder.Append(*SpecOf(type, version_), first_place, 0);
    record.payload = payload;
    Budget::Spend(record.payload.size(), &budget_->payload_bytes);
  }
}

// All of them: each is found only by the end of the one before.
void Unpacker::ReadColumns(CellReader* cells) {
  const size_t record_count = cells->CountedColumn(kRecordTypes, false);
  Budget::Spend(record_count, &budget_->records);
  std::map<RecordType, size_t> counts;
  for (size_t i = 0; i < record_count; ++i) {
    uint64_t code = 0;
    cells->Number(kRecordTypes, 0, &code);
    constexpr uint64_t kLargestType = (1u << 29) - 1;  // as a field's number
    if (code / 2 == 0 || code / 2 > kLargestType) throw SchemaError{"a record has no type"};
    const auto type = static_cast<RecordType>(code / 2);
    const bool is_plain = code % 2 != 0;
    if (type == RecordType::kPacked || (!is_plain && SpecOf(type, version_) == nullptr)) {
      throw SchemaError{"a record is not of a type that can be packed"};
    }
    types_.emplace_back(type, is_plain);
    if (!is_plain) ++counts[type];
  }
  cells->CountedColumn(kPlainPayloads, false);
  VisitColumns(TablesSpec(), 1, cells);
  for (RecordType type : PackedTypes()) {
    if (counts[type] != 0) VisitColumns(*SpecOf(type, version_), counts[type], cells);
  }
  if (!cells->is_at_end()) throw SchemaError{"there is more after its end"};
}

Budget BudgetOf(const UnpackLimits& limits) {
  return {limits.record_count, limits.payload_bytes, limits.number_count};
}

}  // namespace

base::Result<std::vector<OwnedRecord>> UnpackBatch(std::string_view packed, const UnpackLimits& limits) {
  return Guarded("the packed batch", [&] {
    std::vector<OwnedRecord> records;
    Budget budget = BudgetOf(limits);
    Unpacker(&budget).Unpack(packed, &records);
    return records;
  });
}

base::Result<std::vector<OwnedRecord>> ReadBatch(std::string_view batch, const UnpackLimits& limits) {
  auto split = SplitBatch(batch);
  if (!split.ok()) return split.status();
  return Guarded("the packed batch", [&] {
    std::vector<OwnedRecord> records;
    Budget budget = BudgetOf(limits);
    for (const Record& record : *split) {
      if (record.type == RecordType::kPacked) {
        Unpacker(&budget).Unpack(record.payload, &records);
      } else {
        Budget::Spend(1, &budget.records);
        records.push_back({record.type, std::string(record.payload)});
      }
    }
    return records;
  });
}

}  // namespace lagwatch::report

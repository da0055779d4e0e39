// SPDX-License-Identifier: Apache-2.0
// Writes and reads the fields that field_tables.h lists, by the types of their members. Internal to
// report/format.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "policies/exit_reason.h"
#include "policies/usage.h"
#include "report/format/field_tables.h"
#include "report/format/guarded_read.h"
#include "report/format/losses.h"

namespace lagwatch::report {

template <typename Buffer>
using Writer = protozero::basic_pbf_writer<Buffer>;

// proto3 leaves out what is empty or zero.
template <typename Buffer>
void Put(Writer<Buffer>* writer, pbf_tag_type field, std::string_view text) {
  if (!text.empty()) writer->add_bytes(field, text.data(), text.size());
}
template <typename Buffer, std::unsigned_integral Number>
void Put(Writer<Buffer>* writer, pbf_tag_type field, Number number) {
  if (number != 0) writer->add_uint64(field, number);
}
// No measure is less than nothing.
template <typename Buffer, std::signed_integral Measure>
void Put(Writer<Buffer>* writer, pbf_tag_type field, Measure measure) {
  Put(writer, field, static_cast<uint64_t>(std::max<Measure>(measure, 0)));
}
template <typename Buffer>
void Put(Writer<Buffer>* writer, pbf_tag_type field, char letter) {
  if (letter != '\0') writer->add_bytes(field, &letter, 1);
}
template <typename Buffer>
void Put(Writer<Buffer>* writer, pbf_tag_type field, const base::Uuid& id) {
  if (id != base::Uuid{}) writer->add_bytes(field, id.as_bytes().data(), id.as_bytes().size());
}
template <typename Buffer, typename Value>
requires std::is_enum_v<Value>
void Put(Writer<Buffer>* writer, pbf_tag_type field, Value value) {
  Put(writer, field, static_cast<uint64_t>(value));
}
template <typename Buffer, typename Number>
void Put(Writer<Buffer>* writer, pbf_tag_type field, PlusOne<Number> less) {
  Put(writer, field, static_cast<std::make_unsigned_t<std::remove_const_t<Number>>>(less.number + 1));
}
template <typename Buffer, typename Value>
void Put(Writer<Buffer>* writer, pbf_tag_type field, Always<Value> value) {
  const auto number = static_cast<int64_t>(value.number);
  writer->add_uint64(field, static_cast<uint64_t>(std::is_unsigned_v<std::remove_const_t<Value>>
                                                      ? number
                                                      : std::max<int64_t>(number, 0)));
}
template <typename Buffer, typename Number>
void Put(Writer<Buffer>* writer, pbf_tag_type field, Fixed<Number> value) {
  if (value.number != 0) writer->add_fixed64(field, value.number);
}
template <typename Buffer, typename Number>
void Put(Writer<Buffer>* writer, pbf_tag_type field, Signed<Number> value) {
  if (value.number != 0) writer->add_int64(field, value.number);
}
template <typename Buffer, typename Text>
void Put(Writer<Buffer>* writer, pbf_tag_type field, Bytes<Text> bytes) {
  Put(writer, field, std::string_view(bytes.text));
}
template <typename Buffer, size_t kCount>
void Put(Writer<Buffer>* writer, pbf_tag_type field, const std::array<uint64_t, kCount>& counts) {
  protozero::detail::packed_field_varint<Buffer, uint64_t> packed(*writer, field);
  for (const uint64_t count : counts) packed.add_element(count);
}
// Up to the last bucket that is not empty.
template <typename Buffer>
void Put(Writer<Buffer>* writer, pbf_tag_type field, const policies::DurationHistogram& histogram) {
  size_t count = histogram.counts.size();
  while (count > 0 && histogram.counts[count - 1] == 0) --count;
  if (count == 0) return;
  protozero::detail::packed_field_varint<Buffer, uint64_t> packed(*writer, field);
  for (size_t i = 0; i < count; ++i) packed.add_element(histogram.counts[i]);
}

template <typename Buffer, HasFields Part>
void Put(Writer<Buffer>* writer, pbf_tag_type field, const std::vector<Part>& parts);

template <typename Table, typename Part, typename Buffer>
void WriteFields(Table table, const Part& part, Writer<Buffer>* writer) {
  table(part, [writer](const Field& field, const auto& member) {
    Put(writer, field.number, member);
    return false;
  });
}

template <typename Buffer, HasFields Part>
void Put(Writer<Buffer>* writer, pbf_tag_type field, const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    Writer<Buffer> item(*writer, field);
    WriteFields(MessageOf<Part>::kTable, part, &item);
  }
}

inline void Read(protozero::pbf_reader* message, std::string& text) { text = message->get_string(); }
inline void Read(protozero::pbf_reader* message, uint64_t& number) { number = message->get_uint64(); }
inline void Read(protozero::pbf_reader* message, uint32_t& number) { number = message->get_uint32(); }
inline void Read(protozero::pbf_reader* message, bool& is_so) { is_so = message->get_bool(); }
inline void Read(protozero::pbf_reader* message, int32_t& number) {
  number = static_cast<int32_t>(message->get_uint32());
}
inline void Read(protozero::pbf_reader* message, int64_t& measure) {
  measure = static_cast<int64_t>(std::min<uint64_t>(message->get_uint64(), INT64_MAX));
}
inline void Read(protozero::pbf_reader* message, char& letter) {
  const auto text = message->get_view();
  if (text.size() == 1) letter = *text.data();
}
inline void Read(protozero::pbf_reader* message, base::Uuid& id) { id = ReadUuid(message); }
template <typename Value>
requires std::is_enum_v<Value>
void Read(protozero::pbf_reader* message, Value& value) { value = static_cast<Value>(message->get_enum()); }
// A reason that is not known here is read as kUnknown.
inline void Read(protozero::pbf_reader* message, policies::ExitReason& reason) {
  const int32_t number = message->get_enum();
  const bool is_known = number >= 0 && number <= policies::kLastExitReason;
  reason = is_known ? static_cast<policies::ExitReason>(number) : policies::ExitReason::kUnknown;
}
inline void Read(protozero::pbf_reader* message, policies::SuppressedReason& reason) {
  const int32_t number = message->get_enum();
  const bool is_known = number >= 0 && static_cast<size_t>(number) < policies::kSuppressedReasons;
  reason = is_known ? static_cast<policies::SuppressedReason>(number) : policies::SuppressedReason::kUnknown;
}
inline void Read(protozero::pbf_reader* message, LossReason& reason) {
  const int32_t number = message->get_enum();
  const bool is_known = number >= 0 && number <= kLastLossReason;
  reason = is_known ? static_cast<LossReason>(number) : LossReason::kUnknown;
}
inline void Read(protozero::pbf_reader* message, PlusOne<uint32_t> less) {
  less.number = message->get_uint32() - 1;
}
inline void Read(protozero::pbf_reader* message, PlusOne<int64_t> less) {
  less.number = static_cast<int64_t>(message->get_uint64() - 1);
}
template <typename Value>
void Read(protozero::pbf_reader* message, Always<Value> value) {
  Read(message, value.number);
}
inline void Read(protozero::pbf_reader* message, Fixed<uint64_t> value) {
  value.number = message->get_fixed64();
}
template <typename Text>
void Read(protozero::pbf_reader* message, Bytes<Text> bytes) {
  Read(message, bytes.text);
}
inline void Read(protozero::pbf_reader* message, Signed<int64_t> value) {
  value.number = message->get_int64();
}
// Fills from the front; what is more than there is room for is skipped.
template <size_t kCount>
void Read(protozero::pbf_reader* message, std::array<uint64_t, kCount>& counts) {
  size_t index = 0;
  for (const uint64_t value : message->get_packed_uint64()) {
    if (index < kCount) counts[index++] = value;
  }
}
// Of a newer version's longer one, what is beyond is added to the last bucket.
inline void Read(protozero::pbf_reader* message, policies::DurationHistogram& histogram) {
  histogram = {};
  size_t bucket = 0;
  for (const uint64_t count : message->get_packed_uint64())
    histogram.counts[std::min(bucket++, histogram.counts.size() - 1)] += count;
}

void Read(protozero::pbf_reader* message, Stack& stack);
template <HasFields Part>
void Read(protozero::pbf_reader* message, Part& part);
template <typename Part, typename Table>
void Read(protozero::pbf_reader* message, Within<Part, Table> within);
template <typename Part>
requires requires { MessageOf<Part>::kName; }
void Read(protozero::pbf_reader* message, std::vector<Part>& parts) { Read(message, parts.emplace_back()); }

// Reads the field that `message` is at; false if the table does not have it.
template <typename Table, typename Part>
bool TryReadField(const Table& table, protozero::pbf_reader* message, Part* part) {
  return table(*part, [message](const Field& field, auto&& member) {
    if (message->tag() != field.number) return false;
    Read(message, member);
    return true;
  });
}

template <typename Table, typename Part>
void ReadFields(const Table& table, protozero::pbf_reader message, Part* part) {
  while (message.next()) {
    if (!TryReadField(table, &message, part)) message.skip();
  }
}

template <HasFields Part>
void Read(protozero::pbf_reader* message, Part& part) {
  ReadFields(MessageOf<Part>::kTable, message->get_message(), &part);
}
template <typename Part, typename Table>
void Read(protozero::pbf_reader* message, Within<Part, Table> within) {
  ReadFields(within.table, message->get_message(), &within.part);
}

// A record whose fields are all in `table`.
template <typename Record, typename Table>
Record ReadRecord(const Table& table, std::string_view bytes) {
  Record record;
  ReadFields(table, protozero::pbf_reader(bytes.data(), bytes.size()), &record);
  return record;
}

template <typename Table, typename Record>
std::string WriteRecord(const Table& table, const Record& record) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  WriteFields(table, record, &writer);
  return bytes;
}

}  // namespace lagwatch::report

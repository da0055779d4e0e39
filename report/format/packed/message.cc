// SPDX-License-Identifier: Apache-2.0
#include "report/format/packed/message.h"

#include <cstring>

#include "base/uuid.h"
#include "report/format/protozero_checked.h"

namespace lagwatch::report::packed {
namespace {

void AddEmptyValue(Shape shape, std::pmr::vector<Value>* values) {
  std::pmr::memory_resource* memory = values->get_allocator().resource();
  switch (shape) {
    case Shape::kNumber:
      values->emplace_back(uint64_t{0});
      return;
    case Shape::kText:
    case Shape::kFixed64:
    case Shape::kId:
      values->emplace_back(std::string_view());
      return;
    case Shape::kNumbers:
      values->emplace_back(std::in_place_type<Numbers>, memory);
      return;
    case Shape::kMessage:
    case Shape::kMessages:
      values->emplace_back(std::in_place_type<Messages>, memory);
      return;
  }
}

// The place of field `number`, or the count of places.
size_t PlaceOf(const MessageSpec& spec, pbf_tag_type number) {
  size_t place = 0;
  while (place < spec.fields.size() && spec.fields[place].number != number) ++place;
  return place;
}

std::string_view ToView(protozero::data_view view) { return {view.data(), view.size()}; }

// protozero reads a number from other wire types, too.
void RequireWireType(Shape shape, protozero::pbf_wire_type wire_type) {
  using protozero::pbf_wire_type;
  const pbf_wire_type expected = shape == Shape::kNumber    ? pbf_wire_type::varint
                                 : shape == Shape::kFixed64 ? pbf_wire_type::fixed64
                                                            : pbf_wire_type::length_delimited;
  RequireSchema(wire_type == expected);
}

void ReadField(const FieldSpec& field, protozero::pbf_reader* reader, Value* value) {
  RequireWireType(field.shape, reader->wire_type());
  switch (field.shape) {
    case Shape::kNumber:
      *value = reader->get_uint64();
      return;
    case Shape::kText:
      *value = ToView(reader->get_view());
      return;
    case Shape::kFixed64: {
      const std::string_view rest = ToView(reader->data());
      const bool is_absent = reader->get_fixed64() == 0;
      *value = is_absent ? std::string_view() : rest.substr(0, sizeof(uint64_t));
      return;
    }
    case Shape::kId:
      *value = ToView(reader->get_view());
      if (std::get<std::string_view>(*value).size() != sizeof(base::Uuid))
        throw SchemaError{"an id is not 16 bytes"};
      return;
    case Shape::kNumbers: {
      auto& numbers = std::get<Numbers>(*value);
      // Readers do not agree on what two of them mean.
      if (!numbers.empty()) throw SchemaError{"packed numbers come twice"};
      for (uint64_t number : reader->get_packed_uint64()) numbers.push_back(number);
      return;
    }
    case Shape::kMessage:
    case Shape::kMessages: {
      auto& messages = std::get<Messages>(*value);
      if (field.shape == Shape::kMessage && !messages.empty())
        throw SchemaError{"a single message comes twice"};
      messages.push_back(ParseMessage(*field.message, ToView(reader->get_view())));
      return;
    }
  }
}

void WriteText(const FieldSpec& field, std::string_view text, std::string* bytes) {
  if (text.empty()) return;
  protozero::pbf_writer writer(*bytes);
  if (field.shape != Shape::kFixed64) return writer.add_bytes(field.number, text.data(), text.size());
  if (text.size() != sizeof(uint64_t)) throw SchemaError{"a fixed64 is not 8 bytes"};
  uint64_t number;
  std::memcpy(&number, text.data(), sizeof number);
  writer.add_fixed64(field.number, number);
}

// In place; not as protozero would, which leaves out a nested message that turns out empty.
void WriteChild(const Message& child, pbf_tag_type number, size_t limit_bytes, std::string* bytes) {
  constexpr auto kLengthDelimited = static_cast<uint32_t>(protozero::pbf_wire_type::length_delimited);
  protozero::add_varint_to_buffer(bytes, uint64_t{number} << 3 | kLengthDelimited);
  const size_t length_at = bytes->size();
  bytes->push_back(0);  // most are shorter than 128 bytes
  WriteMessage(child, limit_bytes, bytes);
  const size_t length = bytes->size() - length_at - 1;
  char varint[protozero::max_varint_length];
  const int varint_size = protozero::add_varint_to_buffer(varint, length);
  bytes->replace(length_at, 1, varint, static_cast<size_t>(varint_size));
}

}  // namespace

Message::Message(const MessageSpec* message_spec, std::pmr::memory_resource* memory)
    : spec(message_spec), values(memory) {
  values.reserve(spec->fields.size());
  for (const FieldSpec& field : spec->fields) AddEmptyValue(field.shape, &values);
}

Message ParseMessage(const MessageSpec& spec, std::string_view bytes) {
  Message message(&spec);
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  const char* begin = bytes.data();
  while (reader.next()) {
    const size_t place = PlaceOf(spec, reader.tag());
    if (place < spec.fields.size()) {
      ReadField(spec.fields[place], &reader, &message.values[place]);
    } else {
      reader.skip();
      message.unknown.append(begin, reader.data().data());
    }
    begin = reader.data().data();
  }
  return message;
}

void WriteMessage(const Message& message, size_t limit_bytes, std::string* bytes) {
  WriteFields(message, message.values.size(), limit_bytes, bytes);
  if (bytes->size() > limit_bytes || message.unknown.size() > limit_bytes - bytes->size())
    throw SchemaError{"it holds more than one request may"};
  bytes->append(message.unknown);
}

void WriteFields(const Message& message, size_t end_place, size_t limit_bytes, std::string* bytes) {
  constexpr size_t kLargestHeadBytes = 16;  // of a tag and a length or number
  auto make_room_for = [&](size_t count) {
    if (bytes->size() > limit_bytes || count > limit_bytes - bytes->size()) {
      throw SchemaError{"it holds more than one request may"};
    }
  };
  for (size_t place = 0; place < end_place; ++place) {
    const FieldSpec& field = message.spec->fields[place];
    const Value& value = message.values[place];
    if (field.number == 0) continue;
    make_room_for(kLargestHeadBytes);
    if (const auto* number = std::get_if<uint64_t>(&value)) {
      if (*number != 0) protozero::pbf_writer(*bytes).add_uint64(field.number, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      make_room_for(text->size());
      WriteText(field, *text, bytes);
    } else if (const auto* numbers = std::get_if<Numbers>(&value)) {
      make_room_for(numbers->size());
      protozero::pbf_writer(*bytes).add_packed_uint64(field.number, numbers->begin(), numbers->end());
    } else {
      for (const Message& child : std::get<Messages>(value)) {
        make_room_for(kLargestHeadBytes);
        WriteChild(child, field.number, limit_bytes, bytes);
      }
    }
  }
}

}  // namespace lagwatch::report::packed

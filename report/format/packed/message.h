// SPDX-License-Identifier: Apache-2.0
// A record taken apart by its MessageSpec, and put together again. Fields that the spec does not know are
// kept as they came. Context: background.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/format/packed/message_spec.h"

namespace lagwatch::report::packed {

struct Message;
using Numbers = std::pmr::vector<uint64_t>;
using Messages = std::pmr::vector<Message>;
// By its field's shape: kNumber; kText, kFixed64 and kId (as bytes); kNumbers; kMessage and kMessages.
using Value = std::variant<uint64_t, std::string_view, Numbers, Messages>;

struct Message {
  // Its values are kept in `memory`, which must outlive it.
  explicit Message(const MessageSpec* message_spec,
                   std::pmr::memory_resource* memory = std::pmr::new_delete_resource());
  bool operator==(const Message&) const = default;

  std::pmr::memory_resource* memory() const { return values.get_allocator().resource(); }

  uint64_t& number(size_t place) { return std::get<uint64_t>(values[place]); }
  std::string_view& text(size_t place) { return std::get<std::string_view>(values[place]); }
  Numbers& numbers(size_t place) { return std::get<Numbers>(values[place]); }
  Messages& messages(size_t place) { return std::get<Messages>(values[place]); }

  const MessageSpec* spec;
  std::pmr::vector<Value> values;  // by place in the spec
  std::string unknown;             // fields that the spec does not have, encoded
};

// Borrows `bytes`. Throws SchemaError or a protozero exception for what could not be put together again so
// that every reader reads the same: such a record is carried as it is.
Message ParseMessage(const MessageSpec& spec, std::string_view bytes);

// Appends the encoded message to `bytes`. Throws SchemaError when that would make it
// longer than `limit_bytes`.
void WriteMessage(const Message& message, size_t limit_bytes, std::string* bytes);
// The same, of the fields before `end_place` alone.
void WriteFields(const Message& message, size_t end_place, size_t limit_bytes, std::string* bytes);

}  // namespace lagwatch::report::packed

// SPDX-License-Identifier: Apache-2.0
// The tables of fields (report/format/field_tables.h), of enumerations and of columns as data, for documents.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lagwatch::tools {

using Json = nlohmann::ordered_json;

struct FieldRow {
  uint32_t number = 0;
  std::string type;          // in lagwatch.proto: "repeated Sample"
  std::string name;          // likewise
  std::string help;          // likewise
  char letter = ' ';         // of its column in a packed batch; of a message 's' or 'm'
  bool is_plus_one = false;  // on the wire it is larger by one
  std::string json;  // its key; with a dot, that in an object; empty if it is written by hand or not at all
  Json schema;       // of its value in JSON, in the notation of collector/openapi_source.json
};
struct MessageRow {
  std::string name;
  std::vector<FieldRow> fields;  // in the order of their numbers
};
const std::vector<MessageRow>& Messages();
// Throws std::runtime_error if there is none.
const MessageRow& MessageOf(const std::string& name);

struct EnumValue {
  int number;
  std::string name;    // in JSON
  std::string schema;  // in lagwatch.proto
  std::string help;
};
struct EnumRow {
  std::string name;  // in lagwatch.proto
  std::vector<EnumValue> values;
};
// All but the verdict's.
const std::vector<EnumRow>& Enums();
// Throws std::runtime_error if there is none.
const EnumRow& EnumOf(const std::string& name);

// The fields in JSON of the rows "Report" and "Trace" of the collector's store.
std::vector<FieldRow> ColumnsOf(const std::string& name);

}  // namespace lagwatch::tools

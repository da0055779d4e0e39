// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "collector/query/json/json_text.h"

namespace lagwatch::collector {
namespace {

using Line = std::map<std::string, std::string>;

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + '"';
}

std::string CellOf(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
    text.insert(0, 1, '\'');
  return text.find_first_of("\",\r\n") == std::string::npos ? text : Quoted(text);
}

bool IsListOfTexts(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& item) { return item.is_string(); });
}

std::string Joined(const Json& texts) {
  std::string joined;
  for (const Json& text : texts) joined += (joined.empty() ? "" : " < ") + text.get<std::string>();
  return joined;
}

void AddCells(const std::string& prefix, const Json& object, std::vector<std::string>* columns, Line* line) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_object()) {
      AddCells(name + ".", value, columns, line);
      continue;
    }
    if (value.is_array() && !IsListOfTexts(value)) continue;
    if (std::ranges::find(*columns, name) == columns->end()) columns->push_back(name);
    (*line)[name] = value.is_null()     ? ""
                    : value.is_string() ? CellOf(value.get<std::string>())
                    : value.is_array()  ? CellOf(Joined(value))
                                        : value.dump();
  }
}

}  // namespace

std::string CsvText(const Json& array) {
  std::vector<std::string> columns;
  std::vector<Line> lines;
  // Invalid UTF-8 is replaced as in JSON.
  for (const Json& object : Json::parse(JsonText(array)))
    AddCells("", object, &columns, &lines.emplace_back());
  std::string text;
  for (size_t i = 0; i < columns.size(); ++i) text += (i == 0 ? "" : ",") + CellOf(columns[i]);
  text += columns.empty() ? "" : "\r\n";
  for (Line& line : lines) {
    for (size_t i = 0; i < columns.size(); ++i) text += (i == 0 ? "" : ",") + line[columns[i]];
    text += "\r\n";
  }
  return text;
}

}  // namespace lagwatch::collector

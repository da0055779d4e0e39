// SPDX-License-Identifier: Apache-2.0
// The columns of packed batches: those of fields that are new are added to the newest version.
#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "report/format/packed/message_spec.h"
#include "tools/schema/documents.h"
#include "tools/schema/messages.h"

namespace lagwatch::tools {
namespace {

// The message of a line "1.21: …", by the numbers of record types and fields.
const MessageRow* MessageAt(const std::string& path) {
  static const std::map<int, std::string> kRecords = {{1, "Report"},     {2, "HangEnd"}, {3, "RunEnd"},
                                                      {4, "FrameSlice"}, {5, "Usage"},   {6, "Losses"}};
  std::istringstream numbers(path);
  int number = 0;
  numbers >> number;
  const MessageRow* message = &MessageOf(kRecords.at(number));
  for (char point = 0; numbers >> point >> number;) {
    const auto field = std::ranges::find(message->fields, static_cast<uint32_t>(number), &FieldRow::number);
    const std::string type = field->type.substr(field->type.find_last_of(' ') + 1);
    if (type == "Stack") return nullptr;
    message = &MessageOf(type);
  }
  return message;
}

// `line` with columns for the fields that it lacks.
std::string Completed(const std::string& line) {
  const size_t colon = line.find(':');
  const MessageRow* message = line.starts_with("tables") ? nullptr : MessageAt(line.substr(0, colon));
  if (message == nullptr) return line;
  std::string completed = line;
  for (const FieldRow& field : message->fields) {
    const std::string number = std::to_string(field.number);
    std::istringstream words(line.substr(colon + 1));
    bool is_there = false;
    for (std::string word; words >> word;)
      is_there |= word.substr(0, word.find_first_not_of("0123456789")) == number;
    if (is_there) continue;
    if (field.letter == 's' || field.letter == 'm')
      throw std::runtime_error("message_spec.cc needs a line for " + message->name + "." + field.name);
    if (completed.find('|') == std::string::npos) completed += " |";
    completed += " " + number + (field.letter == ' ' ? "" : std::string(1, field.letter));
  }
  return completed;
}

std::string ColumnsText() {
  std::istringstream lines{std::string(report::packed::kColumnsText.substr(1))};
  std::string text = "\n";
  for (std::string line; std::getline(lines, line);) text += Completed(line) + "\n";
  return text;
}

// The lines of the columns' text that are about the tables, or the others, as code.
std::string CodeLines(bool of_tables) {
  std::string code = "\n";
  std::istringstream lines(ColumnsText());
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.starts_with("tables") == of_tables) code += "    " + line + "\n";
  return code + "\n";
}

std::string Columns(const std::string& before) {
  return WithPart(before, "kColumnsText = R\"(", ")\";", ColumnsText());
}

std::string ReportFormatPage(const std::string& before) {
  const std::string page =
      WithPart(before, "<!-- columns -->\n", "<!-- end of columns -->", CodeLines(false));
  return WithPart(page, "<!-- tables -->\n", "<!-- end of tables -->", CodeLines(true));
}

}  // namespace

std::vector<Document> FormatDocuments() {
  return {{"report/format/packed/message_spec.cc", "report/format/field_tables.h", Columns},
          {"docs/report_format.md", "report/format/packed/message_spec.cc", ReportFormatPage}};
}

}  // namespace lagwatch::tools

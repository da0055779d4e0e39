// SPDX-License-Identifier: Apache-2.0
// lagwatch.proto, as far as its messages and enumerations have tables, and the fields in docs/privacy.md.
#include <cctype>
#include <string>

#include "tools/schema/documents.h"
#include "tools/schema/messages.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kSchemaColumns = 120;

// A line of the schema with its comment: behind it if there is room, else in lines of its own before it.
std::string Commented(const std::string& line, const std::string& comment) {
  if (comment.empty()) return "  " + line + "\n";
  const std::string behind = "  " + line + "  // " + comment;
  if (behind.size() <= kSchemaColumns) return behind + "\n";
  return Wrapped(comment, "  // ", "  // ") + "\n  " + line + "\n";
}

std::string CommentOf(const FieldRow& field) {
  if (!field.is_plus_one) return field.help;
  return field.help + (field.help.empty() ? "" : "; ") + "larger by 1, 0: none";
}

std::string MessagesAndEnums(const std::string& before) {
  std::string text = before;
  for (const MessageRow& message : Messages()) {
    std::string body;
    for (const FieldRow& field : message.fields) {
      body += Commented(field.type + " " + field.name + " = " + std::to_string(field.number) + ";",
                        CommentOf(field));
    }
    text = WithPart(text, "message " + message.name + " {\n", "}\n", body);
  }
  for (const EnumRow& row : Enums()) {
    std::string body;
    for (const EnumValue& value : row.values)
      body += Commented(value.schema + " = " + std::to_string(value.number) + ";", value.help);
    text = WithPart(text, "enum " + row.name + " {\n", "}\n", body);
  }
  return text;
}

// Each place "<!-- fields NAME -->" … "<!-- end of fields -->" gets the names of the message's fields.
std::string PrivacyPage(const std::string& before) {
  std::string page = before;
  for (const MessageRow& message : Messages()) {
    const std::string begin = "<!-- fields " + message.name + " -->";
    if (before.find(begin) == std::string::npos) continue;
    std::string names;
    for (const FieldRow& field : message.fields) names += (names.empty() ? "`" : ", `") + field.name + "`";
    page = WithPart(page, begin, "<!-- end of fields -->", names);
  }
  return page;
}

// "killed-in-hang" as a member's name in TypeScript.
std::string Quoted(const std::string& name) {
  return name.find('-') == std::string::npos ? name : "\"" + name + "\"";
}

std::string ExitWords(const std::string&) {
  std::string text =
      "// SPDX-License-Identifier: Apache-2.0\n"
      "// The reasons that a run of a program ended for. Written by lagwatch-schema from "
      "policies/report_enums.def.\n\n"
      "export const kExits: Readonly<Record<string, string>> = {\n";
  for (EnumValue value : EnumOf("ExitReason").values) {
    value.help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(value.help[0])));
    text += "  " + Quoted(value.name) + ": \"" + value.help + "\",\n";
  }
  return text + "};\n";
}

}  // namespace

std::vector<Document> ProtoDocuments() {
  return {{"report/format/lagwatch.proto", "report/format/field_tables.h or policies/report_enums.def",
           MessagesAndEnums},
          {"docs/privacy.md", "report/format/field_tables.h", PrivacyPage},
          {"collector/web/src/parts/exit_words.ts", "policies/report_enums.def", ExitWords}};
}

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
// The options as types of the packages for other languages.
#include <cctype>
#include <string>

#include "tools/schema/documents.h"
#include "tools/schema/option_rows.h"

namespace lagwatch::tools {
namespace {

constexpr const char* kTable = "policies/options/options.def";

bool IsText(const OptionRow& row) { return row.c_type == "const char*"; }

// Those that are functions or pointers of the program are left out.
bool IsValue(const OptionRow& row) {
  return IsText(row) || row.c_type == "uint32_t" || row.c_type == "int32_t";
}

std::string Meaning(const OptionRow& row) {
  std::string text = PlainText(row.help);
  if (row.is_switch) return text;
  text += " Default: " + PlainText(row.standard);
  if (!row.range.empty()) text += "; " + PlainText(row.range);
  return text + ".";
}

std::string PythonOptions(const std::string&) {
  std::string text =
      "# SPDX-License-Identifier: Apache-2.0\n"
      "# Written by lagwatch-schema from policies/options/options.def.\n"
      "from typing import TypedDict\n\nclass Options(TypedDict, total=False):\n"
      "    \"\"\"The options of start(). Values outside of their range are clamped to it.\"\"\"\n";
  for (const OptionRow& row : OptionRows()) {
    if (!IsValue(row)) continue;
    const char* type = IsText(row) ? "str" : row.is_switch ? "bool" : "int";
    text += "\n    " + row.name + ": " + type + "\n" +
            Wrapped(Meaning(row) + "\"\"\"", "    \"\"\"", "    ") + "\n";
  }
  return text;
}

// "thresholdMs" of "threshold_ms".
std::string CamelCase(const std::string& name) {
  std::string camel;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_' && i + 1 < name.size())
      camel += static_cast<char>(std::toupper(static_cast<unsigned char>(name[++i])));
    else
      camel += name[i];
  }
  return camel;
}

std::string NodeOptions(const std::string&) {
  std::string text =
      "// SPDX-License-Identifier: Apache-2.0\n"
      "// Written by lagwatch-schema from policies/options/options.def.\n\n"
      "/** The options of start(). Values outside of their range are clamped to it. */\n"
      "export interface Options {\n";
  for (const OptionRow& row : OptionRows()) {
    if (!IsValue(row)) continue;
    const char* type = IsText(row) ? "string" : row.is_switch ? "boolean" : "number";
    text += Wrapped(Meaning(row) + " */", "  /** ", "   * ") + "\n  " + CamelCase(row.name) + "?: " + type +
            ";\n";
  }
  return text + "}\n";
}

}  // namespace

std::vector<Document> BindingDocuments() {
  return {{"sdk/python/lagwatch/_options.pyi", kTable, PythonOptions},
          {"sdk/node/options.d.ts", kTable, NodeOptions}};
}

}  // namespace lagwatch::tools

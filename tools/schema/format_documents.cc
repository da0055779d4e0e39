// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "report/format/packed/message_spec.h"
#include "tools/schema/documents.h"

namespace lagwatch::tools {
namespace {

// The lines of the columns' text that are about the tables, or the others, as code.
std::string CodeLines(bool of_tables) {
  std::string lines = "\n";
  std::string_view text = report::packed::kColumnsText;
  for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && line.starts_with("tables") == of_tables) lines.append("    ").append(line) += '\n';
  }
  return lines + "\n";
}

std::string ReportFormatPage(const std::string& before) {
  const std::string page =
      WithPart(before, "<!-- columns -->\n", "<!-- end of columns -->", CodeLines(false));
  return WithPart(page, "<!-- tables -->\n", "<!-- end of tables -->", CodeLines(true));
}

}  // namespace

std::vector<Document> FormatDocuments() {
  return {{"docs/report_format.md", "report/format/packed/message_spec.cc", ReportFormatPage}};
}

}  // namespace lagwatch::tools

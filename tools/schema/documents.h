// SPDX-License-Identifier: Apache-2.0
// The documents that are made from tables.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::tools {

struct Document {
  const char* path;   // in the repository
  const char* table;  // likewise
  std::function<std::string(const std::string&)>
      make;  // from the text before, which some keep around their tables
};
// From policies/options/options.def, from policies/verdict.def, from report/format/field_tables.h with
// policies/report_enums.def, from the columns of packed batches, from collector/openapi_source.json, and from
// tools/schema/exit_codes.def.
std::vector<Document> OptionDocuments();
std::vector<Document> BindingDocuments();
std::vector<Document> VerdictDocuments();
std::vector<Document> ProtoDocuments();
std::vector<Document> FormatDocuments();
std::vector<Document> ApiDocuments(const std::string& repository);
std::vector<Document> CommandDocuments();

// Replaces what stands between the first `begin` in `text` and the first `end` after it. Throws
// std::runtime_error if they are missing.
std::string WithPart(const std::string& text, std::string_view begin, std::string_view end,
                     const std::string& part);

// `text` in lines of up to 107 characters, which begin with `first` or `next`; without a newline at its end.
std::string Wrapped(const std::string& text, std::string first, const std::string& next);

}  // namespace lagwatch::tools

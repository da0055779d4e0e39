// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include "policies/verdict.h"
#include "tools/schema/documents.h"

namespace lagwatch::tools {
namespace {

struct WordRow {
  int number;
  std::string name;
  std::string schema;
  std::string did;
  std::string evidence;
  std::string light;
  std::string dark;
};
const WordRow kWords[] = {
#define VERDICT_WORD(number, enumerator, name, schema, did, evidence, light, dark) \
  {number, name, #schema, did, evidence, light, dark},
#include "policies/verdict.def"
};

struct ShareRow {
  int field;
  std::string member;
  std::string word;
  std::string row;
};
const ShareRow kShares[] = {
#define TIME_SHARE(field, member, enumerator, label, row) \
  {field, #member, policies::VerdictName(policies::VerdictWord::enumerator), row},
#include "policies/verdict.def"
};

// `rows`, each as `text` of it.
template <typename Rows, typename Text>
std::string Joined(const Rows& rows, Text text) {
  std::string all;
  for (const auto& row : rows) all += text(row);
  return all;
}

template <typename Rows, typename Member>
std::vector<std::ranges::range_value_t<Rows>> Sorted(const Rows& rows, Member by) {
  std::vector<std::ranges::range_value_t<Rows>> sorted(std::begin(rows), std::end(rows));
  std::ranges::sort(sorted, {}, by);
  return sorted;
}

std::string Schema(const std::string& before) {
  return WithPart(before, "enum VerdictWord {\n", "}\n",
                  Joined(Sorted(kWords, &WordRow::number), [](const WordRow& word) {
                    return "  " + word.schema + " = " + std::to_string(word.number) + ";\n";
                  }));
}

std::string DetectionPage(const std::string& before) {
  return WithPart(before, "<!-- verdicts -->\n", "<!-- end of verdicts -->",
                  "\n| word | it … | evidence |\n|---|---|---|\n" + Joined(kWords, [](const WordRow& word) {
                    return "| `" + word.name + "` | " + word.did + " | " + word.evidence + " |\n";
                  }) + "\n");
}

std::string Colors(const std::string& before) {
  return WithPart(before, "  /* Verdicts, written by lagwatch-schema from policies/verdict.def. */\n", "}\n",
                  Joined(kWords, [](const WordRow& word) {
                    return "  --verdict-" + word.name + ": light-dark(" + word.light + ", " + word.dark +
                           ");\n";
                  }));
}

// "name-lookup" as a member's name in TypeScript.
std::string Key(const std::string& word) {
  return word.find('-') == std::string::npos ? word : "\"" + word + "\"";
}

std::string PageLists(const std::string&) {
  return "// SPDX-License-Identifier: Apache-2.0\n"
         "// The words of a verdict, and the shares of time. Written by lagwatch-schema from "
         "policies/verdict.def.\n\n"
         "export const kVerdicts: Readonly<Record<string, string>> = {\n" +
         Joined(kWords,
                [](const WordRow& word) { return "  " + Key(word.name) + ": \"It " + word.did + "\",\n"; }) +
         "};\n\n"
         "// Each with the word that it speaks for, and its member of a report's verdict.\n"
         "export const kTimeShares = [\n" +
         Joined(kShares,
                [](const ShareRow& share) {
                  return "  [\"" + share.row + "\", \"" + share.word + "\", \"" + share.member + "_ms\"],\n";
                }) +
         "] as const;\n";
}

}  // namespace

std::vector<Document> VerdictDocuments() {
  constexpr const char* kTable = "policies/verdict.def";
  return {{"report/format/lagwatch.proto", kTable, Schema},
          {"docs/detection.md", kTable, DetectionPage},
          {"collector/web/src/style/tokens.css", kTable, Colors},
          {"collector/web/src/parts/verdict_words.ts", kTable, PageLists}};
}

}  // namespace lagwatch::tools

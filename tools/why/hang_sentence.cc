// SPDX-License-Identifier: Apache-2.0
#include "tools/why/hang_sentence.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "policies/fact_names.h"
#include "policies/verdict.h"
#include "tools/read/report_parts.h"
#include "tools/read/table.h"
#include "tools/why/wait_words.h"

namespace lagwatch::tools {
namespace {

using policies::VerdictWord;

VerdictWord WordOf(const Json& report) {
  const std::string word = Text(report.at("verdict"), "word");
#define VERDICT_WORD(number, enumerator, name, ...) \
  if (word == (name)) return VerdictWord::enumerator;
#include "policies/verdict.def"
  return VerdictWord::kUnknown;
}

// The occupation of the last owner of the chain of waits, by the kernel's letter for its state.
std::string LastDoes(const Json& report) {
  const Json& waits = report.at("waits");
  const Json owner = waits.empty() ? Json() : waits.back().at("owner");
  if (!owner.is_object() || owner.contains("process")) return "";
  for (const Json& thread : report.at("threads")) {
    if (thread.at("tid") != owner.at("tid")) continue;
    const std::string state = Text(thread, "state");
    return state == "R" ? "runs" : state == "D" ? "waits for a disk or a device" : "";
  }
  return "";
}

std::string ReportedDuration(const Json& report) {
  const bool is_at_least = report.at("facts").contains(policies::kAtLeastFact);
  return (is_at_least ? "at least " : "") + ShortDuration(report.at("duration_ms").get<double>());
}

// " (loop ui, dispatch key)"
std::string LoopWords(const Json& report) {
  const std::string loop = Text(report, "loop");
  const std::string tag = Text(report, "tag");
  const std::string words = (loop.empty() ? "" : "loop " + loop) + (loop.empty() || tag.empty() ? "" : ", ") +
                            (tag.empty() ? "" : "dispatch " + tag);
  return words.empty() ? "" : " (" + words + ")";
}

// The first lines of a stack, and the number of those that follow.
std::string FirstLines(const std::string& lines, size_t most) {
  size_t end = 0;
  for (size_t i = 0; i < most && end < lines.size(); ++i) end = lines.find('\n', end) + 1;
  const auto left = std::count(lines.begin() + static_cast<std::ptrdiff_t>(end), lines.end(), '\n');
  return lines.substr(0, end) + (left == 0 ? "" : "  … (" + std::to_string(left) + " more)\n");
}

}  // namespace

std::string HangSentence(const Json& report) {
  constexpr std::string_view kWaited = "waited";
  constexpr std::string_view kWas = "was ";
  const Json& facts = report.at("facts");
  const std::string place = PlaceWords(report);
  const std::string subject =
      ThreadWords(report.at("tid").get<int64_t>(), Text(report, "loop"), report.at("pid").get<int64_t>());
  if (const std::string chain = ChainWords(report, LastDoes(report)); !chain.empty())
    return subject + " has waited" + place + " for " + chain;
  const VerdictWord word = WordOf(report);
  if (word == VerdictWord::kCpu) return subject + " has computed without a pause" + place;
  if (word == VerdictWord::kDisk) return subject + " has waited" + place + " for " + DiskWords("", "", facts);
  const std::string did(DidWords(word));
  const std::string other = CandidateWords(facts);
  if (did.starts_with(kWaited))
    return subject + " has waited" + place + did.substr(kWaited.size()) + FactPeerWords(facts) +
           (other.empty() ? "" : "; " + other);
  return subject + (did.starts_with(kWas) ? " " : " has ") + did + (place.empty() ? "" : "," + place);
}

std::string GuiltyFunction(const Json& report) {
  for (const Json& frame : report.at("expensive_stack"))
    if (frame.value("own", false)) return Text(frame, "function");
  const Json cause = report.value("cause", Json::array());
  return cause.empty() ? "" : cause[0].get<std::string>();
}

std::string HangBlock(const Json& report) {
  constexpr size_t kMostFrames = 8;
  const std::string version = Text(report, "version");
  const bool has_ended = report.at("ended").get<bool>();
  const std::string stack = StackLines(report.at("expensive_stack"), Text(report, "expensive_completeness"),
                                       "  ", StackStyle::kFolded);
  return PrintableLines(Text(report, "app") + (version.empty() ? "" : " " + version) + " (pid " +
                        report.at("pid").dump() + ") " +
                        (has_ended ? "did not respond for " : "has not responded for ") +
                        ReportedDuration(report) + LoopWords(report) + "\n" +  //
                        "  " + HangSentence(report) + "\n" +                   //
                        "  verdict  " + VerdictText(report.at("verdict"), report.at("facts")) + "\n" +
                        FirstLines(stack, kMostFrames) +  //
                        "  report   lagwatch report " + Text(report, "id") + "\n");
}

}  // namespace lagwatch::tools

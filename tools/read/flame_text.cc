// SPDX-License-Identifier: Apache-2.0
// A report's flame graph as text, and its time by files and packages.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/read/report_parts.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

// A function of the samples, with those that it called.
struct FlameNode {
  std::string function;
  bool is_own = false;
  double ms = 0;
  std::vector<FlameNode> callees = {};
};

// Of a deeper stack the outermost functions: no picture of text shows more.
constexpr size_t kMostLevels = 500;

void AddStack(const Json& stack, double ms, FlameNode* root) {
  FlameNode* at = root;
  root->ms += ms;
  const size_t end = stack.size() - std::min(stack.size(), kMostLevels);
  for (size_t i = stack.size(); i-- > end;) {
    const Json* frame = &stack[i];
    std::string function = Text(*frame, "function");
    auto callee = std::ranges::find(at->callees, function, &FlameNode::function);
    if (callee == at->callees.end())
      callee =
          at->callees.insert(callee, {.function = std::move(function), .is_own = frame->value("own", false)});
    callee->ms += ms;
    at = &*callee;
  }
}

class FlameText {
 public:
  FlameText(double total_ms, bool is_folded) : total_ms_(total_ms), is_folded_(is_folded) {}

  // Left heavy: the longest callee first. Callees of less than kLeastShare are counted.
  void Add(FlameNode* node, const std::string& indent) {
    std::ranges::stable_sort(node->callees, std::greater(), &FlameNode::ms);
    int few = 0;
    for (FlameNode& callee : node->callees) {
      if (callee.ms < kLeastShare * total_ms_ || lines_ >= kMostLines) {
        ++few;
        continue;
      }
      // Of a call that leads to nothing of the program's own, its name and its share say all.
      const bool is_foreign = is_folded_ && !HasOwn(callee);
      AddLine(callee, indent, is_folded_ && !callee.is_own && !is_foreign);
      if (is_foreign) continue;
      const bool is_all = callee.callees.size() == 1 && callee.callees.front().ms > 0.999 * callee.ms;
      Add(&callee, is_all ? indent : indent + "  ");
    }
    if (few > 0 && lines_ < kMostLines) {
      EndFold();
      text_ += std::string(20, ' ') + indent + "… " + std::to_string(few) + " more\n";
    }
  }

  std::string Take() {
    EndFold();
    return std::move(text_);
  }

 private:
  static constexpr double kLeastShare = 0.02;
  static constexpr int kMostLines = 60;

  static bool HasOwn(const FlameNode& node) {
    return node.is_own || std::ranges::any_of(node.callees, HasOwn);
  }

  void AddLine(const FlameNode& node, const std::string& indent, bool is_counted) {
    if (is_counted) {
      ++folded_;
      folded_indent_ = indent;
      return;
    }
    EndFold();
    ++lines_;
    text_ += Format("  %5.1f %%  %8s  ", 100 * node.ms / total_ms_, ShortDuration(node.ms).c_str()) + indent +
             node.function + "\n";
  }

  void EndFold() {
    if (folded_ > 0)
      text_ += std::string(20, ' ') + folded_indent_ + "… (" + std::to_string(folded_) +
               (folded_ == 1 ? " frame" : " frames") + " of libraries and the system)\n";
    folded_ = 0;
  }

  double total_ms_;
  bool is_folded_;
  std::string text_;
  int lines_ = 0;
  int folded_ = 0;
  std::string folded_indent_;
};

}  // namespace

std::string FlameLines(const Json& report, StackStyle style) {
  const Json& samples = report.at("samples");
  FlameNode root;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double until_ms = i + 1 < samples.size() ? samples[i + 1].at("age_ms").get<double>() : 0;
    const double ms = samples[i].at("age_ms").get<double>() - until_ms;
    if (ms > 0 && !samples[i].at("stack").empty()) AddStack(samples[i].at("stack"), ms, &root);
  }
  const bool is_one_stack = std::ranges::all_of(
      samples, [&](const Json& sample) { return sample.at("stack") == samples.front().at("stack"); });
  if (root.ms <= 0 || is_one_stack) return "";
  FlameText text(root.ms, style == StackStyle::kFolded);
  text.Add(&root, "");
  return "\nFlame graph (the outermost first)\n" + text.Take();
}

std::string PackageText(const Json& report) {
  constexpr size_t kMost = 3;
  std::vector<std::string> parts;
  const Json packages = report.value("packages", Json::array());
  // A program may be called by another name than its file's; a plug-in is a library.
  if (packages.size() == 1) {
    const auto package = packages[0].at("package").get<std::string>();
    if (package.find(".so") == package.npos && package.find(".dylib") == package.npos) return "";
  }
  for (const Json& share : packages) {
    if (parts.size() < kMost)
      parts.push_back(Format("%.0f %% in ", 100 * share.at("share").get<double>()) + Text(share, "package"));
  }
  return Join(parts, ", ");
}

}  // namespace lagwatch::tools

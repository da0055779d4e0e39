// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "tools/read/endpoint.h"
#include "tools/read/output.h"
#include "tools/read/table.h"
#include "tools/trace/data/name_frames.h"
#include "tools/trace/data/trace_file.h"
#include "tools/trace/trace_commands.h"
#include "trace/model/tree_comparison.h"

namespace lagwatch::tools {
namespace {

int RefuseToCompare(const std::string& message) {
  std::cerr << "lagwatch: trace compare: " << Printable(message) << "\n";
  return 2;
}

std::string MsText(int64_t ns, const char* format = "%.1f") {
  char text[32];
  std::snprintf(text, sizeof text, format, static_cast<double>(ns) / static_cast<double>(base::kNsPerMs));
  return text;
}

std::string TextOf(const std::vector<trace::ComparedNode>& nodes, size_t lines) {
  Table table({{"BEFORE", Table::Align::kRight},
               {"AFTER", Table::Align::kRight},
               {"CHANGE-MS", Table::Align::kRight},
               {"CALLS", Table::Align::kRight},
               {"CALLS", Table::Align::kRight},
               {"FUNCTION", Table::Align::kLeft, true}});
  for (const trace::ComparedNode& node : nodes) {
    if (lines-- == 0) break;
    table.AddRow({MsText(node.before.total_ns), MsText(node.after.total_ns),
                  MsText(node.after.total_ns - node.before.total_ns, "%+.1f"),
                  std::to_string(node.before.calls), std::to_string(node.after.calls),
                  std::string(2 * size_t{node.depth}, ' ') + node.name});
  }
  return table.ToText(TerminalWidth());
}

Json JsonOf(const std::vector<trace::ComparedNode>& nodes) {
  const auto side = [](const trace::ComparedNode::Side& sums) {
    return Json{{"calls", sums.calls}, {"total_ns", sums.total_ns}};
  };
  Json all = Json::array();
  for (const trace::ComparedNode& node : nodes)
    all.push_back({{"depth", node.depth},
                   {"id", node.id == 0 ? Json() : Json(base::ToHex(node.id))},
                   {"name", node.name},
                   {"before", side(node.before)},
                   {"after", side(node.after)}});
  return all;
}

}  // namespace

int CompareTraces(const CompareOptions& options) {
  auto namer = FrameNamer::Create(options.asks_debuginfod);
  if (!namer.ok()) return RefuseToCompare(namer.status().message());
  trace::Trace traces[2];
  const std::string* const inputs[] = {&options.before, &options.after};
  for (size_t i = 0; i < std::size(inputs); ++i) {
    auto read = ReadTraceFile(*inputs[i]);
    if (!read.ok()) return RefuseToCompare(read.status().message());
    traces[i] = std::move(read).value();
    (*namer)->Name(&traces[i]);
  }
  for (const std::string& note : (*namer)->TakeNotes()) Fail(note);
  const auto nodes = trace::CompareCallTrees(traces[0], traces[1]);
  if (options.is_json) return Print(JsonOf(nodes).dump(2) + "\n");
  return PrintOnScreen(TextOf(nodes, options.lines), options.screen, PaintTables);
}

}  // namespace lagwatch::tools

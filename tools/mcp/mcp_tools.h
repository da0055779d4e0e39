// SPDX-License-Identifier: Apache-2.0
// The tools of `lagwatch mcp`: what the reading commands answer, for agents. Context: background.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "tools/mcp/mcp_server.h"
#include "tools/mcp/source_lines.h"
#include "tools/read/report_source.h"

namespace lagwatch::tools {

struct McpContext {
  // Opens the source of the reports; called for each request.
  std::function<base::Result<std::unique_ptr<ReportSource>>()> open_source;
  SourceLines source_lines;
};

// `context` must outlive the tools.
std::vector<McpTool> McpTools(const McpContext* context);

// Text of reports and of programs, between marks that it cannot contain, and said to be data: names of
// functions, dispatches and users come from the programs that are watched.
std::string AsData(const std::string& text);

}  // namespace lagwatch::tools

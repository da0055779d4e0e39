// SPDX-License-Identifier: Apache-2.0
// Loads the JVM agent into a JVM that the command line starts. Context: background.
#pragma once

#include <lagwatch/options.h>

#include <filesystem>
#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// Whether the program is a JVM's launcher, and the agent is there to be loaded. `program` may be a symbolic
// link.
bool IsJava(const std::string& program);

// The environment variable by which a JVM takes options besides its command line's.
inline constexpr char kJavaOptionsVariable[] = "JAVA_TOOL_OPTIONS";

// The agent's own options.
struct AgentFlags {
  bool with_children = false;  // JVMs that this one starts load the agent, too
  bool is_watched = true;
  bool forbids_probes = false;
  std::string probe_directory{};  // of `lagwatch run --probe`, in this process; empty: none
};

// Its value for a JVM that loads the agent with these options; what it is now is kept. Errors: kInvalid if an
// option contains a blank or a comma: the variable cannot carry them.
base::Result<std::string> JavaToolOptions(const Options& options, const AgentFlags& flags);

// The agent's library; empty if it is not installed.
std::filesystem::path FindAgent();

// The agent's options for these, as the agent takes them. Errors: kInvalid as above.
base::Result<std::string> AgentOptionTexts(const Options& options, const AgentFlags& flags);

}  // namespace lagwatch::tools

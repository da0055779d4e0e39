// SPDX-License-Identifier: Apache-2.0
// The agent's options, as the JVM passes them: -agentpath:liblagwatch_jvm.so=NAME=VALUE,NAME=VALUE
#pragma once

#include <lagwatch/c.h>

#include <string>
#include <vector>

namespace lagwatch::sdk::jvm {

struct AgentOptions {
  lw_options options;            // its texts are in `texts`
  bool watches_children = true;  // else JVMs that this one starts do not get the agent by the environment
  bool is_strict = false;        // an option that cannot be read stops the JVM
  bool is_stop = false;          // `lagwatch detach`: the JVM is not watched any more
  bool opens_probes = false;     // `lagwatch probe`: nothing is watched; `lagwatch run --probe`
  int probe_pid = 0;             // of `lagwatch run --probe`: the JVM that is meant, not one that it starts
  std::string probe_directory;   // of the socket for consoles
  bool forbids_probes = false;   // for good
  bool is_watched = true;        // else only the rest of the options counts
  std::string answer_file;       // of `lagwatch attach`, which reads there why the JVM is not watched
  std::vector<std::string> texts;
};

// Reads options of lw_options_set(), `children`, `strict`, `stop`, `watched`, `probes`, `probe_pid`,
// `no_probes` and `answer`. Options that cannot be read are left out; returns a message about the first one,
// empty if there is none. `text` may be null. Context: background.
std::string ParseAgentOptions(const char* text, AgentOptions* options);

}  // namespace lagwatch::sdk::jvm

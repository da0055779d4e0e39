// SPDX-License-Identifier: Apache-2.0
// The console of an armed probe script: reads and shows what it counts, until the end. Context: background.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "tools/probe/asked_commands.h"
#include "tools/probe/probe_view.h"
#include "tools/probe/service_client.h"

namespace lagwatch::tools {

struct ConsoleOptions {
  int64_t for_ns = 0;  // 0: until a signal comes or the program ends
  bool is_json = false;
  bool is_folded = false;       // at the end, stacks for a flame graph in place of tables
  std::string statsd;           // HOST:PORT; empty: none
  std::string prometheus_file;  // empty: none
  std::string perfetto_file;    // likewise
  bool leaves = false;          // the probes stay at the end
};

// Has the first SIGINT, SIGTERM or SIGHUP end the console; the second one ends this program.
void CatchEndSignals();

// Whether the results can be sent and written to where they are wanted, before anything is armed. Errors:
// kInvalid, kNotFound, kIo.
base::Status CheckSinks(const ConsoleOptions& options);

// Shows the program `id` of the process until the end, disarms it, and prints a summary on stderr. Returns
// the command's exit code.
int RunConsole(ServiceClient* client, uint32_t id, ProbeView* view, AskedCommands* asked,
               const ConsoleOptions& options);

}  // namespace lagwatch::tools

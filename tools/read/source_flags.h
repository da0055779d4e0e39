// SPDX-License-Identifier: Apache-2.0
// The options of reading commands that select the source of their reports. Context: background.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "tools/commands.h"
#include "tools/read/report_source.h"

namespace CLI {
class App;
}

namespace lagwatch::tools {

struct SourceFlags {
  std::string endpoint;
  std::string token;
  std::string ca_file;
  std::string spool;
  bool debuginfod = false;
  LoadRecords load_records;
  std::string symbol_worker;  // as for AddReadCommands
};

// Declares --endpoint, --token, --ca-file and --spool. `flags` must outlive the parsing.
void AddSourceFlags(CLI::App* command, SourceFlags* flags);
// Declares --debuginfod, of commands that name frames. Without it no server learns what is looked at.
void AddDebuginfodFlag(CLI::App* command, SourceFlags* flags);

// Empty: a spool is read. Flags before the environment, a collector before a spool.
std::string EndpointOf(const SourceFlags& flags);
std::string SpoolOf(const SourceFlags& flags);
// Errors: as OpenSpool; the default spool need not exist.
base::Result<std::unique_ptr<ReportSource>> OpenSource(const SourceFlags& flags);

}  // namespace lagwatch::tools

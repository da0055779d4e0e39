// SPDX-License-Identifier: Apache-2.0
// Runs the probes that a collector asks for in its config: scripts of a signed list on this machine, in the
// program that `lagwatch run` or `lagwatch attach` watches, one at a time, each request once. Their tables,
// or the reason why they do not run, go to the spool as a TraceRecord. docs/design/probes.md. Context:
// background. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "policies/scrubbing.h"
#include "report/config/remote_config.h"
#include "report/probes/probe_result.h"
#include "report/probes/script_allowlist.h"
#include "tools/fleet/fleet_run.h"

namespace lagwatch::tools {

struct FleetSettings {
  std::string list_file;  // the allowlist; empty: no probe is run for a collector
  std::string list_key;   // 64 hexadecimal digits: the public key of its signer
  std::string spool_directory;
  pid_t run_pid = 0;
  std::string app;
  std::string app_version;
  std::string user;
};

class FleetProber {
 public:
  // `read_config` returns the config in force, or none, and is called by Step().
  using ReadConfig = std::function<std::optional<report::RemoteConfig>()>;
  FleetProber(FleetSettings settings, ReadConfig read_config);

  // Begins, reads and ends probes. To be called about twice a second. Looking up functions takes seconds for
  // large programs.
  void Step();
  // The program has ended: writes what was counted.
  void Finish();
  bool is_running() const { return run_ != nullptr; }

 private:
  bool IsMeant(const report::ProbeRequest& request, const report::RemoteConfig& config) const;
  base::Result<report::AllowedScript> ScriptOf(const report::ProbeRequest& request) const;
  // The process to probe, and its session; none if it is not there yet.
  bool FindProcess();
  void Begin(const report::ProbeRequest& request);
  void End();
  void Write(const report::ProbeResult& result, int64_t begin_wall_ms, int64_t duration_ns);

  const FleetSettings settings_;
  const ReadConfig read_config_;
  const policies::Scrubber scrubber_;
  const std::string drawn_by_;  // a share of users is drawn by it: the user, or the machine and the user's id
  const int64_t start_ns_;
  std::vector<report::ProbeRequest> done_;  // those of the present config that were begun or refused
  pid_t pid_ = 0;
  base::Uuid session_id_{};
  report::ProbeRequest request_;  // of run_
  std::unique_ptr<FleetRun> run_;
  int64_t run_begin_ns_ = 0;
  int64_t run_begin_wall_ms_ = 0;
};

}  // namespace lagwatch::tools

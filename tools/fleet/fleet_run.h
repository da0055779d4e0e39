// SPDX-License-Identifier: Apache-2.0
// One script of the allowlist, armed in one process until its end. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "policies/scrubbing.h"
#include "probe/language/tree.h"
#include "report/probes/probe_result.h"
#include "report/probes/script_allowlist.h"
#include "tools/probe/probe_view.h"
#include "tools/probe/process_functions.h"
#include "tools/probe/service_client.h"

namespace lagwatch::tools {

// Errors: kInvalid for a script that does more than count: what it prints, dumps or traces stays with a
// console.
base::Status CheckCountsOnly(const probe::Program& program);
base::Status CheckCountsOnly(const probe::ScriptTree& script);

// A table as it is sent: texts of keys are scrubbed, and addresses without a name, of
// code and of data, are left out.
report::ProbeTable FleetTableOf(const probe::Aggregate& aggregate, const probe::AggregateResult& result,
                                const probe::AddressNamer& namer, const policies::Scrubber& scrubber);

// A reason without the numbers and names of processes, which differ from client to client.
std::string WithoutProcess(std::string reason);

class FleetRun {
 public:
  // Errors: the reason why the script cannot run in that process, in which nothing has changed then.
  static base::Result<std::unique_ptr<FleetRun>> Arm(pid_t pid, const report::AllowedScript& script);
  // Disarms, unless that is done.
  ~FleetRun();
  FleetRun(const FleetRun&) = delete;
  FleetRun& operator=(const FleetRun&) = delete;

  // Reads what was counted so far. False once nothing more will come: the process has ended, the script has
  // turned itself off, or another command has disarmed it. Waits up to `wait_ms` for data of a process that
  // ends.
  bool Read(int wait_ms);
  void Disarm();
  // As last read.
  report::ProbeResult Result(const policies::Scrubber& scrubber);

 private:
  static base::Result<std::unique_ptr<FleetRun>> TryArm(pid_t pid, const report::AllowedScript& script);
  FleetRun(report::AllowedScript script, ServiceClient client, ProcessFunctions functions);

  void Take(const sdk::ReadAnswer& answer);
  // Whether the process has sent the last data, because it ends or another console has disarmed the script.
  bool TakeLast();

  const report::AllowedScript script_;
  ServiceClient client_;
  ProcessFunctions functions_;
  std::unique_ptr<ProbeView> view_;  // borrows functions_
  uint32_t id_ = 0;                  // 0: not armed
  size_t functions_armed_ = 0;
  sdk::ReadAnswer numbers_;
};

}  // namespace lagwatch::tools

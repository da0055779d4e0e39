// SPDX-License-Identifier: Apache-2.0
// A process of a case: writes reports and sends the spool, until it is done or killed.
#pragma once

#include <cstdint>
#include <string>

#include "tests/faults/case_plan.h"
#include "tests/faults/shared_case.h"

namespace lagwatch::faults {

// Faults that the suite introduces on purpose, to check that it notices them.
enum class Sabotage { kNone, kForgottenLedger, kHastyRemoval };

struct ClientContext {
  const CasePlan* plan;
  const RunPlan* run;
  SharedCase* shared;
  std::string directory;  // of the spool
  std::string ca_path;    // for the certificates that a client knows
  uint16_t port;          // of the collector, for Way::kHttp
  int socket;             // to the collector, for Way::kPipe
  Sabotage sabotage;
};

// In a child of its own. Returns the process's exit status; what is wrong is in shared->problem.
int RunClient(const ClientContext& context, const ProcessPlan& process);
// Sends until nothing is left, by a way that is in order.
int RunLastClient(const ClientContext& context);

}  // namespace lagwatch::faults

// SPDX-License-Identifier: Apache-2.0
// Arms a probe script in a process, for a console or for a collector. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/status.h"
#include "sdk/probe/probe_messages.h"
#include "tools/probe/process_functions.h"
#include "tools/probe/script.h"
#include "tools/probe/service_client.h"
#include "tools/rules/rule_options.h"

namespace lagwatch::tools {

bool HasJavaSites(const std::vector<sdk::ProbeSiteAt>& sites);
// Connects to the process, which loads the library, or the agent for Java, if it does not serve consoles yet.
// Errors: those of ServiceClient.
base::Result<ServiceClient> OpenFor(pid_t pid, const std::vector<sdk::ProbeSiteAt>& sites);
// The process's functions, with those that the `servers` (borrowed, or null) know, and the rules for its
// program. Errors: kNotFound; kInvalid for bad rules.
base::Result<ProcessFunctions> FunctionsOf(pid_t pid, const RuleOptions& options,
                                           collector::SymbolSource* servers = nullptr);
base::Result<sdk::ListAnswer> ListOf(ServiceClient* client);
// The functions that have the probe.
size_t CountArmed(const sdk::ArmAnswer& armed);

}  // namespace lagwatch::tools

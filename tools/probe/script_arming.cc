// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/script_arming.h"

#include <algorithm>
#include <utility>

#include "tools/probe/rule_files.h"
#include "tools/run/jvm_attach.h"

namespace lagwatch::tools {

bool HasJavaSites(const std::vector<sdk::ProbeSiteAt>& sites) {
  return std::ranges::any_of(sites, [](const auto& each) { return each.role == sdk::SiteRole::kJavaMethod; });
}

base::Result<ServiceClient> OpenFor(pid_t pid, const std::vector<sdk::ProbeSiteAt>& sites) {
  const bool is_of_java = HasJavaSites(sites);
  if (!is_of_java && !HasAgent(pid)) return ServiceClient::Open(pid);
  auto client = ServiceClient::OpenJvm(pid);
  // A JVM that takes no requests may still be probed by its native functions.
  const bool has_answered = client.ok() || client.status().code() == base::StatusCode::kUnavailable;
  return has_answered || is_of_java ? std::move(client) : ServiceClient::Open(pid);
}

base::Result<ProcessFunctions> FunctionsOf(pid_t pid, const RuleOptions& options,
                                           collector::SymbolSource* servers) {
  auto functions = LAGWATCH_TRY(ProcessFunctions::Of(pid));
  functions.SetServers(servers);
  const auto rules = LAGWATCH_TRY(RulesFor(options, functions.modules().front().seen_path()));
  functions.SetRules(ResolveFiles(rules, &functions.modules()));
  return functions;
}

base::Result<sdk::ListAnswer> ListOf(ServiceClient* client) {
  return client->Ask<sdk::ListAnswer>(sdk::ProbeMessageKind::kList, sdk::NoFields{},
                                      sdk::ProbeMessageKind::kListed);
}

size_t CountArmed(const sdk::ArmAnswer& armed) {
  size_t count = 0;
  for (const sdk::SiteResult& each : armed.sites) count += each.is_armed ? each.functions : 0;
  return count;
}

}  // namespace lagwatch::tools

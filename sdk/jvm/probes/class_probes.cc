// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/class_probes.h"

#include <algorithm>
#include <utility>

#include "sdk/jvm/probes/inner_places.h"

namespace lagwatch::sdk::jvm {
void SiteOutcome::Refuse(const std::string& name, const std::string& reason) {
  if (refused++ == 0) why = name + ": " + reason;
}

std::string SiteOutcome::Text() const {
  if (methods == 0 && !why_no_place.empty()) return why_no_place;
  return refused == 1 ? why : why + "; and " + std::to_string(refused - 1) + " more";
}

void ClassProbes::Add(const FoundMethod& method, const SiteState* site, Bytecode original) {
  auto known =
      std::ranges::find_if(methods_, [&](const Method& each) { return each.method.id == method.id; });
  if (known == methods_.end()) {
    methods_.push_back({.method = method, .original = std::move(original), .sites = {}});
    known = std::prev(methods_.end());
  }
  known->sites.push_back({site});
}

bool ClassProbes::HasMethod(jmethodID method) const {
  return std::ranges::any_of(methods_, [&](const Method& each) { return each.method.id == method; });
}

bool ClassProbes::Remove(std::span<const SiteState* const> sites) {
  const auto is_gone = [&](const Site& each) { return std::ranges::find(sites, each.state) != sites.end(); };
  size_t removed = 0;
  for (Method& method : methods_) removed += std::erase_if(method.sites, is_gone);
  return removed != 0;
}

std::string ClassProbes::Plan(const SiteCodes& codes) const {
  std::string plan;
  for (const Method& method : methods_) {
    for (const Site& site : method.sites) {
      const SiteCode& code = codes.at(site.state);
      plan += (plan.empty() ? "" : "\n") + method.method.name + " " + method.method.descriptor + " " +
              std::to_string(method.original.size()) + " " + std::to_string(code.id) + " " +
              std::to_string(code.values) + " " + code.kinds;
    }
  }
  return plan;
}

bool ClassProbes::RefuseNew(const std::string& method, const std::string& reason, Outcomes* outcomes) {
  bool has_any = false;
  for (Method& each : methods_) {
    if (!method.empty() && each.method.name + each.method.descriptor != method) continue;
    for (const Site& site : each.sites) {
      if (!site.is_new) continue;
      (*outcomes)[site.state].Refuse(name_ + "::" + each.method.name, reason);
      has_any = true;
    }
    std::erase_if(each.sites, [](const Site& site) { return site.is_new; });
  }
  return has_any;
}

bool ClassProbes::HasNewInnerSites() const {
  return std::ranges::any_of(methods_, [](const Method& method) {
    return std::ranges::any_of(
        method.sites, [](const Site& site) { return site.is_new && IsInnerPlace(*site.state->probe); });
  });
}

void ClassProbes::RefuseWithoutPlace(std::string_view reasons, Outcomes* outcomes) {
  for (Method& method : methods_) {
    std::erase_if(method.sites, [&](const Site& site) {
      const std::string_view reason = reasons.substr(0, reasons.find('\n'));
      reasons.remove_prefix(std::min(reason.size() + 1, reasons.size()));
      if (reason.empty() || !site.is_new) return false;
      std::string& why = (*outcomes)[site.state].why_no_place;
      if (why.empty()) why = name_ + "::" + method.method.name + ": " + std::string(reason);
      return true;
    });
  }
}

void ClassProbes::AcceptAll(Outcomes* outcomes) {
  for (Method& method : methods_) {
    for (Site& site : method.sites) {
      if (std::exchange(site.is_new, false)) ++(*outcomes)[site.state].methods;
    }
  }
}

}  // namespace lagwatch::sdk::jvm

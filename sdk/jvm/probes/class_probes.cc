// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/class_probes.h"

#include <algorithm>
#include <utility>

#include "sdk/jvm/probes/inner_places.h"
#include "sdk/jvm/probes/tool_text.h"

namespace lagwatch::sdk::jvm {
namespace {

bool IsSame(const FoundMethod& a, const FoundMethod& b) {
  return a.name == b.name && a.descriptor == b.descriptor;
}

}  // namespace

void SiteOutcome::Refuse(const std::string& name, const std::string& reason) {
  if (refused++ == 0) why = name + ": " + reason;
}

std::string SiteOutcome::Text() const {
  if (methods == 0 && !why_no_place.empty()) return why_no_place;
  return refused == 1 ? why : why + "; and " + std::to_string(refused - 1) + " more";
}

void ClassProbes::Add(const FoundMethod& method, const SiteState* site, Bytecode original) {
  auto known =
      std::ranges::find_if(methods_, [&](const Method& each) { return IsSame(each.method, method); });
  if (known == methods_.end()) {
    methods_.push_back({.method = method, .original = std::move(original), .sites = {}});
    known = std::prev(methods_.end());
  }
  known->sites.push_back({site});
}

bool ClassProbes::HasMethod(const FoundMethod& method) const {
  return std::ranges::any_of(methods_, [&](const Method& each) { return IsSame(each.method, method); });
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

bool ClassProbes::RefuseMessage(const std::string& message, Outcomes* outcomes) {
  const size_t line = message.find('\n');
  const bool is_of_method = line != std::string::npos;
  return RefuseNew(is_of_method ? message.substr(0, line) : "",
                   is_of_method ? message.substr(line + 1) : message, outcomes);
}

bool ClassProbes::KeepOnly(const SiteCodes& codes) {
  size_t removed = 0;
  for (Method& method : methods_)
    removed += std::erase_if(method.sites, [&](const Site& site) { return !codes.contains(site.state); });
  return removed != 0;
}

void ClassProbes::BecomeLoaded(jvmtiEnv* tools, jweak weak, jclass type) {
  type_ = weak;
  jint count = 0;
  jmethodID* ids = nullptr;
  if (tools->GetClassMethods(type, &count, &ids) != JVMTI_ERROR_NONE) return;
  for (const jmethodID id : std::span(ids, static_cast<size_t>(count))) {
    char* name = nullptr;
    char* descriptor = nullptr;
    if (tools->GetMethodName(id, &name, &descriptor, nullptr) != JVMTI_ERROR_NONE) continue;
    const FoundMethod method{
        .id = id, .name = TakeToolText(tools, name), .descriptor = TakeToolText(tools, descriptor)};
    for (Method& each : methods_) {
      if (IsSame(each.method, method)) each.method.id = id;
    }
  }
  tools->Deallocate(reinterpret_cast<unsigned char*>(ids));
}

void ClassProbes::AcceptAll(Outcomes* outcomes) {
  for (Method& method : methods_) {
    for (Site& site : method.sites) {
      if (std::exchange(site.is_new, false)) ++(*outcomes)[site.state].methods;
    }
  }
}

}  // namespace lagwatch::sdk::jvm

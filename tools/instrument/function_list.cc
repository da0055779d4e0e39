// SPDX-License-Identifier: Apache-2.0
#include "tools/instrument/function_list.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>

#include "stack/elf/elf_file.h"
#include "tools/probe/debug_types.h"
#include "tools/probe/process_functions.h"
#include "trace/instrument/listing/module_image.h"
#include "trace/instrument/patchable_module.h"
#include "trace/instrument/probes/function_prober.h"
#include "trace/instrument/rules/function_names.h"
#include "trace/model/functions.h"

namespace lagwatch::tools {
namespace {

constexpr char kNoRoom[] = "built without -fpatchable-function-entry";
constexpr char kOtherNops[] = "its nops are fewer or others than the patcher knows";
constexpr char kNoTable[] = "no function begins there in the module's unwind table";

// Whether its functions call the hooks of -finstrument-functions.
bool HasHooks(const std::string& path) {
  const auto file = stack::ElfFile::Open(path);
  const auto names = file ? file->ReadSection(".dynstr") : std::nullopt;
  constexpr std::string_view kHook("\0__cyg_profile_func_enter\0", 26);
  return names && names->bytes.find(kHook) != std::string::npos;
}

std::map<uint64_t, std::string> PatchRefusals(const trace::ModuleImage& image, const std::string& path) {
  std::map<uint64_t, std::string> refusals;
  trace::PatchableModule module = trace::DescribeModule(image.info());
  module.path = path;
  trace::FindSites(image.info(), &module);
  for (const trace::PatchSite& site : module.sites)
    refusals[site.function - image.load_bias()] = site.shape == trace::NopShape::kNone ? kOtherNops
                                                  : trace::CanPatch()                  ? ""
                                                                      : "this processor's code";
  return refusals;
}

std::map<uint64_t, std::string> ProbeRefusals(const trace::ModuleImage& image) {
  std::map<uint64_t, std::string> refusals;
  for (const trace::ProbedFunction& each : trace::FunctionProber::ListModule(image.info(), true)) {
    const bool can = each.result.reason == trace::ProbeReason::kNone;
    refusals[each.function - image.load_bias()] =
        can ? std::string() : std::string(trace::ProbeReasonText(each.result.reason));
  }
  return refusals;
}

std::string RefusalAt(const std::map<uint64_t, std::string>& refusals, uint64_t offset, const char* none) {
  const auto found = refusals.find(offset);
  return found == refusals.end() ? none : found->second;
}

void Name(const std::string& path, ListedFunction* function) {
  if (function->symbol.empty()) {
    char offset[24];
    std::snprintf(offset, sizeof offset, "+0x%" PRIx64, function->offset);
    function->name = path.substr(path.rfind('/') + 1) + offset;
    return;
  }
  const auto names = trace::FunctionNames::Of(function->symbol);
  function->name = names.whole;
  function->plain_name = names.plain;
  function->id = trace::StableFunctionId(path, names.whole);
}

}  // namespace

base::Result<FunctionList> ListFunctionsOf(const std::string& path, const trace::InstrumentRules& rules) {
  const auto image = LAGWATCH_TRY(trace::ModuleImage::Map(path));
  ProcessModule module(getpid(), path, 0);
  const auto files = DebugTypes(nullptr).SourceFiles(&module);
  const auto patch_refusals = PatchRefusals(image, path);
  const auto probe_refusals = ProbeRefusals(image);
  FunctionList list{.path = path,
                    .build_id = module.build_id(),
                    .has_hooks = HasHooks(path),
                    .has_debug_information = !files.empty(),
                    .functions = {}};
  std::map<uint64_t, std::string> symbols;
  for (const ModuleFunction& function : module.functions()) symbols.emplace(function.offset, function.name);
  for (const auto* refusals : {&patch_refusals, &probe_refusals})
    for (const auto& [offset, refusal] : *refusals) symbols.emplace(offset, "");
  for (const auto& [offset, symbol] : symbols) {
    ListedFunction function{.offset = offset, .symbol = symbol};
    const auto file = files.find(offset);
    if (file != files.end()) function.source_file = file->second;
    Name(path, &function);
    const auto decision = rules.Decide({.module = path,
                                        .build_id = list.build_id,
                                        .offset = offset,
                                        .symbol = symbol,
                                        .source_file = function.source_file});
    function.is_taken = decision.is_taken;
    if (decision.rule != nullptr) function.line = decision.rule->line;
    if (decision.rule != nullptr) function.rule = decision.rule->text;
    function.patch_refusal = RefusalAt(patch_refusals, offset, kNoRoom);
    function.probe_refusal = RefusalAt(probe_refusals, offset, kNoTable);
    list.functions.push_back(std::move(function));
  }
  return list;
}

std::vector<uint64_t> DirectCallees(const std::string& path, const FunctionList& list,
                                    const std::vector<uint64_t>& offsets) {
  std::vector<uint64_t> callees;
  const auto image = trace::ModuleImage::Map(path);
  if (!image.ok()) return callees;
  for (const uint64_t offset : offsets) {
    for (const uint64_t target :
         trace::FunctionProber::DirectCallees(image->info(), image->load_bias() + offset)) {
      const uint64_t callee = target - image->load_bias();
      const auto found = std::ranges::lower_bound(list.functions, callee, {}, &ListedFunction::offset);
      if (found != list.functions.end() && found->offset == callee) callees.push_back(callee);
    }
  }
  std::ranges::sort(callees);
  callees.erase(std::unique(callees.begin(), callees.end()), callees.end());
  return callees;
}

}  // namespace lagwatch::tools

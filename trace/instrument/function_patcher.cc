// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/function_patcher.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/process/loader_walk.h"
#include "base/process/quiet_thread.h"
#include "stack/elf/local_symbols.h"
#include "trace/instrument/return_thunks.h"

namespace lagwatch::trace {
namespace {

constexpr uint64_t kLargestStubsBytes = uint64_t{512} << 20;

size_t IndexOf(NopShape shape) { return static_cast<size_t>(shape) - 1; }

RuledFunction RuledOf(const PatchableModule& module, const PatchSite& site,
                      const stack::FunctionTable& names) {
  const uint64_t offset = site.function - module.load_bias;
  return {.module = module.path,
          .build_id = module.build_id,
          .offset = offset,
          .symbol = names.NameAt(offset).value_or("")};
}

}  // namespace

struct FunctionPatcher::Pass {
  FunctionPatcher* patcher;
  const FunctionFilter* filter;
  const CodeWriter* writer = nullptr;
  PatchReport report{};
};

PatchReport FunctionPatcher::Apply(const FunctionFilter& filter) {
  Pass pass{this, &filter};
  if (!CanPatch() || !PrepareReturnThunks()) return pass.report;
  // Without a thread nothing is patched, and nothing is reported.
  static_cast<void>(base::RunWithOwnFiles([&] { ApplyNow(&pass); }));
  return pass.report;
}

void FunctionPatcher::ApplyNow(Pass* pass) {
  const CodeWriter writer;
  if (!writer.is_usable()) return;
  pass->writer = &writer;
  pthread_mutex_lock(&mutex_);
  const auto unlock = [](pthread_mutex_t* mutex) { pthread_mutex_unlock(mutex); };
  const std::unique_ptr<pthread_mutex_t, decltype(unlock)> lock(&mutex_);
  for (PatchedModule& module : modules_) module.is_loaded = false;
  // It holds a lock that keeps the visited modules from being unloaded.
  base::WalkLoadedModules(&Visit, pass);
  ForgetUnloaded();
}

bool FunctionPatcher::IsPatched(uint64_t function) {
  pthread_mutex_lock(&mutex_);
  const bool is_patched = std::any_of(modules_.begin(), modules_.end(), [&](const PatchedModule& module) {
    const auto& sites = module.patchable.sites;
    const auto is_before = [](const PatchSite& site, uint64_t place) { return site.function < place; };
    const auto site = std::lower_bound(sites.begin(), sites.end(), function, is_before);
    return site != sites.end() && site->function == function &&
           module.is_patched[static_cast<size_t>(site - sites.begin())];
  });
  pthread_mutex_unlock(&mutex_);
  return is_patched;
}

void FunctionPatcher::Clear() { Apply({.deny_modules = {"*"}}); }

int FunctionPatcher::Visit(dl_phdr_info* info, size_t, void* pass) {
  Pass* visit = static_cast<Pass*>(pass);
  PatchedModule* module = visit->patcher->FindOrAdd(*info);
  if (module != nullptr) visit->patcher->ApplyTo(module, visit);
  return 0;
}

FunctionPatcher::PatchedModule* FunctionPatcher::FindOrAdd(const dl_phdr_info& info) {
  PatchableModule found = DescribeModule(info);
  if (found.code_begin >= found.code_end) return nullptr;
  for (PatchedModule& module : modules_) {
    if (module.is_loaded || !module.patchable.IsSame(found)) continue;
    module.is_loaded = true;
    // The module may have been unloaded and loaded again, which its code shows.
    for (size_t i = 0; i < module.patchable.sites.size(); ++i) {
      const PatchSite& site = module.patchable.sites[i];
      const auto is_on = *reinterpret_cast<const unsigned char*>(site.address) == BytesFor(site, 0).on;
      module.is_patched[i] = site.shape != NopShape::kNone && is_on;
    }
    return &module;
  }
  FindSites(info, &found);
  PatchedModule& added = modules_.emplace_back();
  added.patchable = std::move(found);
  added.is_patched.resize(added.patchable.sites.size());
  return &added;
}

void FunctionPatcher::ApplyTo(PatchedModule* module, Pass* pass) {
  const PatchableModule& patchable = module->patchable;
  const FunctionFilter& filter = *pass->filter;
  if (patchable.sites.empty()) return;
  const bool wants_module = filter.WantsModule(patchable.path);
  const auto names = wants_module && filter.needs_names()
                         ? stack::FunctionTable::Load(patchable.path, patchable.build_id)
                         : stack::FunctionTable();
  struct Change {
    size_t site;
    unsigned char byte;
  };
  std::vector<Change> changes;
  for (size_t i = 0; i < patchable.sites.size(); ++i) {
    const PatchSite& site = patchable.sites[i];
    const bool is_wanted = wants_module && filter.WantsAddress(site.function) &&
                           (!filter.needs_names() || filter.WantsName(RuledOf(patchable, site, names)));
    pass->report.wanted += is_wanted ? 1 : 0;
    if (is_wanted && site.shape == NopShape::kNone) {
      ++pass->report.other_shape;
    } else if (is_wanted == module->is_patched[i]) {
      pass->report.patched += is_wanted ? 1 : 0;
    } else if (!is_wanted) {
      changes.push_back({i, BytesFor(site, 0).off});
    } else if (!PlaceStubs(*pass->writer, module, site.shape)) {
      ++pass->report.out_of_reach;
    } else if (Prepare(*pass->writer, module, site)) {
      changes.push_back({i, BytesFor(site, 0).on});
    } else {
      ++pass->report.not_permitted;
    }
  }
  if (changes.empty()) return;
  // No processor may meet the call before its operand.
  const bool is_synchronized = CodeWriter::SynchronizeProcessors();
  for (const Change& change : changes) {
    const PatchSite& site = patchable.sites[change.site];
    const bool is_on = change.byte == BytesFor(site, 0).on;
    const bool is_done = is_synchronized && pass->writer->WriteByte(site.address, change.byte);
    if (is_done) module->is_patched[change.site] = is_on;
    if (is_on) ++(is_done ? pass->report.patched : pass->report.not_permitted);
  }
  CodeWriter::SynchronizeProcessors();
}

bool FunctionPatcher::PlaceStubs(const CodeWriter& writer, PatchedModule* module, NopShape shape) {
  Stubs& stubs = module->stubs[IndexOf(shape)];
  if (stubs.displacement != 0 || stubs.has_failed) return stubs.displacement != 0;
  const uint64_t code_begin = module->patchable.code_begin;
  const uint64_t size_bytes =
      PageUp(module->patchable.code_end - PageDown(code_begin) + kCallBytes + kStubBytes) +
      2 * kCodePageBytes;  // the rounding of a displacement, and the literals
  int64_t displacement = 0;
  for (size_t i = 0; size_bytes <= kLargestStubsBytes; ++i) {
    displacement = StubDisplacement(shape, i);
    if (displacement == 0) break;
    const uint64_t begin = PageDown(code_begin + kCallBytes + static_cast<uint64_t>(displacement));
    const bool has_wrapped = (begin >= code_begin) != (displacement > 0);
    if (has_wrapped || !CodeWriter::Map(begin, size_bytes)) continue;
    stubs.begin = begin;
    stubs.end = begin + size_bytes;
    const uint64_t targets[] = {EntryTrampoline(false), EntryTrampoline(true)};
    unsigned char literals[sizeof targets];
    std::memcpy(literals, targets, sizeof targets);
    if (writer.Write(stubs.end - sizeof literals, literals, sizeof literals)) {
      stubs.displacement = displacement;
      return true;
    }
    CodeWriter::Unmap(begin, size_bytes);
    break;
  }
  stubs.has_failed = true;
  return false;
}

// All but the byte that puts the call into force.
bool FunctionPatcher::Prepare(const CodeWriter& writer, PatchedModule* module, const PatchSite& site) {
  const Stubs& stubs = module->stubs[IndexOf(site.shape)];
  const uint64_t stub = site.address + kCallBytes + static_cast<uint64_t>(stubs.displacement);
  const bool is_after_landing_pad = site.function != site.address;
  const uint64_t literal = stubs.end - (is_after_landing_pad ? 1 : 2) * sizeof(uint64_t);
  unsigned char code[kStubBytes];
  MakeStub(stub, literal, code);
  if (!writer.Write(stub, code, sizeof code)) return false;
  const SiteBytes bytes = BytesFor(site, stubs.displacement);
  // A probe's jump may be there, whose distance these bytes are.
  if (*reinterpret_cast<const unsigned char*>(site.address) != bytes.off) return false;
  for (size_t i = 0; i < bytes.operand_count; ++i)
    if (!writer.WriteByte(site.address + bytes.operand_at[i], bytes.operands[i])) return false;
  return true;
}

void FunctionPatcher::ForgetUnloaded() {
  for (const PatchedModule& module : modules_) {
    if (module.is_loaded) continue;
    // The module's code is gone, so no thread is on the way to a stub.
    for (const Stubs& stubs : module.stubs)
      if (stubs.displacement != 0) CodeWriter::Unmap(stubs.begin, stubs.end - stubs.begin);
  }
  std::erase_if(modules_, [](const PatchedModule& module) { return !module.is_loaded; });
}

}  // namespace lagwatch::trace

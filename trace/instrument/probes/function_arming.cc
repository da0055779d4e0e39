// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/process/loader_walk.h"
#include "base/process/own_memory.h"
#include "base/process/quiet_thread.h"
#include "stack/thread_block_layout.h"
#include "trace/hooks/import_patches.h"
#include "trace/instrument/patch_site.h"
#include "trace/instrument/probes/code_scan.h"
#include "trace/instrument/probes/code_space.h"
#include "trace/instrument/probes/function_prober.h"
#include "trace/instrument/probes/grace_period.h"
#include "trace/instrument/probes/head_patch.h"
#include "trace/instrument/probes/instruction.h"
#include "trace/instrument/probes/mapped_code.h"
#include "trace/instrument/probes/probed_modules.h"
#include "trace/instrument/probes/prober_state.h"
#include "trace/instrument/probes/tail_jumps.h"

// The loader's note of where the main thread's stack began.
extern "C" [[gnu::weak]] void* __libc_stack_end;

namespace lagwatch::trace {
namespace {

uint32_t NeedsOf(const ProbeHandlers& handlers) {
  uint32_t needs = 0;
  if (handlers.on_return != nullptr) needs |= kNeedsReturn;
  if (handlers.wants_vectors) needs |= kNeedsVectors;
  if (handlers.keeps_args) needs |= kNeedsArgs;
  if (handlers.registers == HandlerRegisters::kBaseline) needs |= kNeedsBaseline;
  if (handlers.registers == HandlerRegisters::kAny) needs |= kNeedsAny | kNeedsRoom;
  if (handlers.needs_room) needs |= kNeedsRoom;
  return needs;
}

const ProbeSite* MakeSite(uint64_t function, ProbeSite** made) {
  void* memory = base::MapKept(sizeof(ProbeSite));
  *made = memory == nullptr ? nullptr : new (memory) ProbeSite{.function = function};
  return *made;
}

bool PrepareHits() {
  constexpr uint64_t kUnlimitedMainStackBytes = 128 << 20;  // that the kernel keeps free below it
  static const OwnStacks kStacks = [] {
    rlimit limit{};
    getrlimit(RLIMIT_STACK, &limit);
    const uint64_t end = &__libc_stack_end == nullptr ? 0 : reinterpret_cast<uint64_t>(__libc_stack_end);
    const uint64_t size_bytes = std::min({uint64_t{limit.rlim_cur}, kUnlimitedMainStackBytes, end});
    return OwnStacks{stack::FindThreadBlockLayout(), end - size_bytes, end};
  }();
  UseOwnStacks(&kStacks);
  return PrepareProbeHits();
}

}  // namespace

FunctionProber::FunctionProber() : state_(std::make_unique<State>()) {}
FunctionProber::~FunctionProber() = default;

template <typename Work>
bool FunctionProber::State::ChangeCode(const Work& work) {
  bool is_done = false;
  const auto change = [&] {
    const CodeWriter writer;
    if (!writer.is_usable()) return;
    pthread_mutex_lock(&mutex);
    const auto unlock = [](pthread_mutex_t* locked) { pthread_mutex_unlock(locked); };
    const std::unique_ptr<pthread_mutex_t, decltype(unlock)> lock(&mutex, unlock);
    const MemoryMap memory;
    work(writer, memory);
    is_done = true;
  };
  return base::RunWithOwnFiles([&] {
           const bool was_left_out = SetLeftOutOfProbes(true);
           change();
           SetLeftOutOfProbes(was_left_out);
         }) &&
         is_done;
}

bool FunctionProber::State::Walk(void (*visit)(Pass*, const ProbedModule&), void* work) {
  return ChangeCode([&](const CodeWriter& writer, const MemoryMap& memory) {
    const auto counts = base::LoaderCounts::Now();
    Pass pass{.state = this,
              .writer = writer,
              .memory = memory,
              .visit = visit,
              .work = work,
              .has_unwinder = false,
              .wants_ranges = !(counts == modules),
              .ranges = {}};
    if (pass.wants_ranges) excluded.ReadTables();
    base::WalkLoadedModules(&VisitModule, &pass);
    if (pass.wants_ranges && UseCallerRangesOf(std::move(pass.ranges))) modules = counts;
  });
}

int FunctionProber::State::VisitModule(dl_phdr_info* info, size_t, void* context) {
  auto* pass = static_cast<Pass*>(context);
  const ProbedModule module(*info);
  if (module.code_begin >= module.code_end) return 0;
  if (pass->wants_ranges) {
    AddCallerRanges(module, &pass->ranges);
    if (!pass->has_unwinder) pass->has_unwinder = UseUnwinderOf(module, *info);
  }
  pass->visit(pass, module);
  return 0;
}

ProbeReason FunctionProber::State::Refusal(const Pass& pass, const ProbedModule& module, uint64_t function,
                                           bool wants_return, HeadPlace* head) {
  if (module.is_excluded) return ProbeReason::kExcludedModule;
  const UnwindIndex::Function found = module.functions.Find(function);
  if (found.begin != function || !module.HasCode(found.end - 1)) return ProbeReason::kNoUnwindTable;
  if (!found.is_called) return ProbeReason::kUnusualFrame;
  if (excluded.Has(module, function)) return ProbeReason::kExcludedFunction;
  const uint64_t compared_bytes = std::min<uint64_t>(found.end - function, HeadPatch::kSavedBytes);
  if (!HasFileBytes(pass.memory, function, compared_bytes)) return ProbeReason::kChanged;
  head->function = function;
  head->end = found.end;
  head->functions = &module.functions;
  head->module_begin = module.begin;
  head->module_end = module.end;
  head->jumps = JumpsNear(module, function);
  head->reads_return_address =
      ReadsReturnAddress(function, found.end) || JumpsToReader(module, function, found.end);
  const ProbeReason reason = FindSpots(head);
  if (reason != ProbeReason::kNone) return reason;
  if (wants_return && head->reads_return_address) return ProbeReason::kReadsReturnAddress;
  return ProbeReason::kNone;
}

ProbeReason FunctionProber::State::NoteRefusal(const Pass& pass, const ProbedModule& module, uint64_t note,
                                               HeadPlace* head) {
  if (module.is_excluded) return ProbeReason::kExcludedModule;
  const size_t behind = module.functions.IndexAtOrAfter(note + 1);
  const UnwindIndex::Function around =
      behind == 0 ? UnwindIndex::Function{} : module.functions.At(behind - 1);
  if (note - around.begin >= around.end - around.begin || !module.HasCode(around.end - 1))
    return ProbeReason::kNoUnwindTable;
  const uint64_t compared_bytes = std::min<uint64_t>(around.end - note, HeadPatch::kSavedBytes);
  if (!HasFileBytes(pass.memory, note, compared_bytes)) return ProbeReason::kChanged;
  head->function = note;
  head->end = around.end;
  head->functions = &module.functions;
  head->module_begin = module.begin;
  head->module_end = module.end;
  head->jumps = JumpsNear(module, note);
  head->is_note = true;
  return FindNoteSpots(head, around.begin);
}

// Those of other functions.
std::vector<uint64_t> FunctionProber::State::JumpsNear(const ProbedModule& module, uint64_t function) const {
  constexpr uint64_t kNear = 128;  // as far as spots are from their functions' begins, at most
  std::vector<uint64_t> jumps;
  const auto end = places.upper_bound(function + kNear);
  for (auto at = places.lower_bound(function - std::min(function, kNear)); at != end; ++at) {
    const ProbedPlace& place = at->second;
    if (at->first != function && place.IsIn(module) && (place.is_patched || place.HasProbes()))
      jumps.push_back(at->first + place.patch.at);
  }
  return jumps;
}

ProbeReason FunctionProber::State::FindPlace(const Pass& pass, const ProbedModule& module,
                                             const HeadPlace& head, ProbedPlace** found) {
  const auto known = places.find(head.function);
  if (known != places.end() && known->second.IsIn(module) && known->second.is_note == head.is_note &&
      known->second.patch.HasOriginal(head.function) && known->second.patch.HasDistance(head.function) &&
      head.IsClear(head.function + known->second.patch.at)) {
    *found = &known->second;
    return WritePad(pass.writer, known->second.patch) ? ProbeReason::kNone : ProbeReason::kNotPermitted;
  }
  ProbedPlace place;
  place.load_bias = module.load_bias;
  place.path = module.path;
  place.build_id = module.build_id;
  place.is_note = head.is_note;
  if (MakeSite(head.function, &place.site) == nullptr) return ProbeReason::kTooManyProbes;
  const ProbeReason reason = PrepareHead(pass.writer, pass.memory, &space, head, place.site, &place.patch);
  if (reason == ProbeReason::kNone && !WritePad(pass.writer, place.patch)) return ProbeReason::kNotPermitted;
  if (reason == ProbeReason::kNone)
    *found = &places.insert_or_assign(head.function, std::move(place)).first->second;
  return reason;
}

const ArmedProbe* FunctionProber::State::ProbeOf(const ProbeRequest& request) {
  KnownProbe& known = probes[{request.handlers, request.user_data}];
  if (known.probe == nullptr) {
    void* memory = free_probes.empty() ? base::MapKept(sizeof(ArmedProbe)) : free_probes.back();
    if (memory == nullptr) return nullptr;
    if (!free_probes.empty()) free_probes.pop_back();
    known.probe = new (memory) ArmedProbe{request.handlers, request.user_data};
  }
  ++known.slots;
  return known.probe;
}

void FunctionProber::State::Recount(const ProbedPlace& place) {
  uint32_t needs = 0;
  for (const ArmedProbe* probe : place.site->slots)
    if (probe != nullptr) needs |= NeedsOf(*probe->handlers);
  __atomic_store_n(&place.site->needs, needs, __ATOMIC_RELEASE);  // before the probes themselves
}

void FunctionProber::State::Switch(const Pass& pass, ProbedPlace* place, bool is_on) {
  if (place->is_patched != is_on &&
      SwitchHead(pass.writer, pass.memory, place->site->function, place->patch, is_on))
    place->is_patched = is_on;
}

ProbeResult FunctionProber::State::ArmOne(const Pass& pass, const ProbedModule& module,
                                          const ProbeRequest& request) {
  ProbeResult result;
  const bool wants_return = request.handlers->on_return != nullptr;
  const auto known = places.find(request.function);
  ProbedPlace* place = nullptr;
  if (known != places.end() && known->second.IsIn(module) && known->second.is_patched &&
      known->second.patch.HasPatch(request.function)) {
    place = &known->second;
    if (place->is_note != request.is_note) {
      result.reason = ProbeReason::kChanged;
      return result;
    }
    if (wants_return && place->reads_return_address) {
      result.reason = ProbeReason::kReadsReturnAddress;
      return result;
    }
  } else {
    HeadPlace head{};
    result.reason = request.is_note ? NoteRefusal(pass, module, request.function, &head)
                                    : Refusal(pass, module, request.function, wants_return, &head);
    if (result.reason == ProbeReason::kNone) result.reason = FindPlace(pass, module, head, &place);
    if (place == nullptr) return result;
    place->is_patched = false;
    place->reads_return_address = head.reads_return_address;
  }
  return AddProbe(place, request);
}

ProbeResult FunctionProber::State::AddProbe(ProbedPlace* place, const ProbeRequest& request) {
  ProbeResult result;
  const auto slot =
      static_cast<size_t>(std::find(std::begin(place->ids), std::end(place->ids), 0U) - place->ids);
  const ArmedProbe* probe = slot == kMaxProbesPerFunction ? nullptr : ProbeOf(request);
  if (probe == nullptr) {
    result.reason = ProbeReason::kTooManyProbes;
    return result;
  }
  ProbeSite* site = place->site;
  __atomic_fetch_or(&site->needs, NeedsOf(*request.handlers), __ATOMIC_RELEASE);  // before the probe itself
  __atomic_store_n(&site->slots[slot], probe, __ATOMIC_RELEASE);                  // pairs with hits
  if (site->slot_count <= slot) __atomic_store_n(&site->slot_count, slot + 1, __ATOMIC_RELEASE);
  result.id = ++last_id;
  result.tier = place->patch.tier;
  place->ids[slot] = result.id;
  armed_places[result.id] = place;
  return result;
}

ProbeResult FunctionProber::State::ArmImport(const CodeWriter& writer, const MemoryMap& memory,
                                             const ProbeRequest& request) {
  ProbedPlace& place = imports[{request.function, request.import}];
  if (place.import_code == 0) {
    if (MakeSite(request.function, &place.site) == nullptr) return {.reason = ProbeReason::kTooManyProbes};
    const uint64_t code =
        space.TakeNear(memory, request.function, request.function + 1, sizeof(SiteCode::bytes));
    if (code == 0) return {.reason = ProbeReason::kOutOfReach};
    SiteCode made;
    MakeCallCode(place.site, &made);
    if (!writer.Write(code, made.bytes, sizeof made.bytes)) return {.reason = ProbeReason::kNotPermitted};
    place.import_code = code + SiteCode::kEntryAt;
    place.patch.tier = ProbeTier::kImports;
  }
  const ProbeResult result = AddProbe(&place, request);
  if (result.id != 0 && !std::exchange(place.is_patched, true))
    import_patches.Add(request.import, place.import_code, request.function);
  return result;
}

// Those that no import table leads to are refused.
void FunctionProber::State::ArmImports(std::span<const ProbeRequest> requests,
                                       std::vector<ProbeResult>* results) {
  const auto is_import = [](const ProbeRequest& request) { return !request.import.empty(); };
  if (std::ranges::none_of(requests, is_import)) return;
  const bool is_done = ChangeCode([&](const CodeWriter& writer, const MemoryMap& memory) {
    for (size_t i = 0; i < requests.size(); ++i)
      if (is_import(requests[i])) (*results)[i] = ArmImport(writer, memory, requests[i]);
    if (CodeWriter::SynchronizeProcessors()) import_patches.Install();
    for (size_t i = 0; i < requests.size(); ++i) {
      const ProbeId id = (*results)[i].id;
      if (!is_import(requests[i]) || id == 0) continue;
      ProbedPlace* place = armed_places.at(id);
      if (import_patches.SlotsOf(place->import_code) != 0) continue;
      Remove(place, id);
      (*results)[i] = {.reason = ProbeReason::kNotImported};
    }
  });
  for (size_t i = 0; i < requests.size() && !is_done; ++i)
    if (is_import(requests[i])) (*results)[i] = {.reason = ProbeReason::kNotPermitted};
  DisarmImports();
}

void FunctionProber::State::DisarmImports() {
  const auto is_unused = [](const auto& each) { return each.second.is_patched && !each.second.HasProbes(); };
  const auto restore = [&](const CodeWriter&, const MemoryMap&) {
    for (auto& [name, place] : imports) {
      if (!place.is_patched || place.HasProbes()) continue;
      import_patches.Remove(place.import_code);
      place.is_patched = false;
    }
  };
  pthread_mutex_lock(&mutex);
  const bool is_any = std::ranges::any_of(imports, is_unused);
  pthread_mutex_unlock(&mutex);
  if (is_any) static_cast<void>(ChangeCode(restore));  // else they lead to probes that deliver nothing
}

namespace {

// The requests of one call, and their results.
struct ArmWork {
  std::span<const ProbeRequest> requests;
  std::vector<ProbeResult> results;
};

}  // namespace

void FunctionProber::State::ArmIn(Pass* pass, const ProbedModule& module) {
  auto* work = static_cast<ArmWork*>(pass->work);
  State* state = pass->state;
  std::vector<size_t> armed;
  for (size_t i = 0; i < work->requests.size(); ++i) {
    if (!work->requests[i].import.empty() || !module.HasCode(work->requests[i].function)) continue;
    work->results[i] = state->ArmOne(*pass, module, work->requests[i]);
    if (work->results[i].id != 0) armed.push_back(i);
  }
  // No processor may meet a jump before its target.
  if (armed.empty()) return;
  if (CodeWriter::SynchronizeProcessors()) {
    for (const size_t i : armed) Switch(*pass, &state->places.at(work->requests[i].function), true);
    CodeWriter::SynchronizeProcessors();
  }
  for (const size_t i : armed) {
    ProbedPlace& place = state->places.at(work->requests[i].function);
    if (place.is_patched) continue;
    state->Remove(&place, work->results[i].id);
    work->results[i] = {.reason = ProbeReason::kNotPermitted};
  }
}

std::vector<ProbeResult> FunctionProber::Arm(std::span<const ProbeRequest> requests) {
  std::vector<ProbeResult> results;
  const bool is_supported = CanPatch() && PrepareHits();
  const ProbeReason refusal = is_supported ? ProbeReason::kNotPermitted : ProbeReason::kNotSupported;
  while (results.size() < requests.size()) {
    const auto some =
        requests.subspan(results.size(), std::min(requests.size() - results.size(), kMostAtOnce));
    ArmWork work{some, std::vector<ProbeResult>(some.size(), {.reason = ProbeReason::kNotCode})};
    if (!is_supported || !state_->Walk(&State::ArmIn, &work))
      work.results.assign(some.size(), ProbeResult{.reason = refusal});
    results.insert(results.end(), work.results.begin(), work.results.end());
  }
  if (is_supported) state_->ArmImports(requests, &results);
  return results;
}

ProbeResult FunctionProber::Arm(uint64_t function, const ProbeHandlers* handlers, void* user_data) {
  const ProbeRequest request{function, handlers, user_data};
  return Arm({&request, 1}).front();
}

void FunctionProber::State::Remove(ProbedPlace* place, ProbeId id) {
  auto* const slot = std::find(std::begin(place->ids), std::end(place->ids), id);
  if (slot == std::end(place->ids)) return;
  *slot = 0;
  const ArmedProbe*& armed = place->site->slots[slot - place->ids];
  const auto known = probes.find({armed->handlers, armed->user_data});
  __atomic_store_n(&armed, nullptr, __ATOMIC_RELEASE);  // pairs with hits
  if (--known->second.slots == 0) {
    removed_probes.push_back(known->second.probe);
    probes.erase(known);
  }
  armed_places.erase(id);
  Recount(*place);
}

// Calls `visit` for the module's places.
template <typename Visit>
void FunctionProber::State::ForEachPlace(const ProbedModule& module, Visit visit) {
  const auto end = places.lower_bound(module.code_end);
  for (auto at = places.lower_bound(module.code_begin); at != end; ++at)
    if (at->second.IsIn(module)) visit(&at->second);  // else that was unloaded, and its code with it
}

void FunctionProber::State::DisarmIn(Pass* pass, const ProbedModule& module) {
  pass->state->ForEachPlace(module, [&](ProbedPlace* place) {
    if (!place->is_patched || place->HasProbes() || !place->patch.HasPatch(place->site->function)) return;
    Switch(*pass, place, false);
    if (place->patch.pad != 0) pass->state->has_unused_pads = true;
  });
}

void FunctionProber::State::RestorePadsIn(Pass* pass, const ProbedModule& module) {
  pass->state->ForEachPlace(module, [&](ProbedPlace* place) {
    if (!place->is_patched && !place->patch.HasPadOriginal())
      static_cast<void>(RestorePad(pass->writer, place->patch));  // BytesAreOriginal() reports it
  });
}

// Gives padding back that no function leads to any more, when no thread can be on its way there.
void FunctionProber::State::RestorePads(int64_t most_ms) {
  if (!has_unused_pads) return;
  GracePeriod grace;
  for (; !grace.IsOver(); --most_ms) {
    if (most_ms <= 0) return;  // the next time
    constexpr timespec kMillisecond{0, 1'000'000};
    nanosleep(&kMillisecond, nullptr);
  }
  has_unused_pads = !Walk(&RestorePadsIn, nullptr);
}

// Begins to wait for threads that are on their way to removed probes. The processors are synchronized.
void FunctionProber::State::Retire() {
  const auto retire = [&] {
    Retired batch{.number = 0, .since = {}, .grace = {}, .probes = {}};
    clock_gettime(CLOCK_MONOTONIC, &batch.since);
    pthread_mutex_lock(&mutex);
    batch.number = ++last_disarm;
    batch.probes.swap(removed_probes);
    retired.push_back(std::move(batch));
    pthread_mutex_unlock(&mutex);
  };
  static_cast<void>(base::RunWithOwnFiles(retire));  // else they wait for the next one
}

uint64_t FunctionProber::last_disarm() const {
  pthread_mutex_lock(&state_->mutex);
  const uint64_t number = state_->last_disarm;
  pthread_mutex_unlock(&state_->mutex);
  return number;
}

uint64_t FunctionProber::FindLastForgotten() {
  constexpr int64_t kLeastNs = 250'000'000;  // and of these some time slices for each thread that runs
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  pthread_mutex_lock(&state_->mutex);
  std::deque<State::Retired>& retired = state_->retired;
  while (!retired.empty()) {
    State::Retired& batch = retired.front();
    const int64_t age_ns =
        (now.tv_sec - batch.since.tv_sec) * 1'000'000'000 + (now.tv_nsec - batch.since.tv_nsec);
    if (age_ns < kLeastNs || !batch.grace.IsOver()) break;
    std::ranges::copy(batch.probes, std::back_inserter(state_->free_probes));
    state_->last_forgotten = batch.number;
    retired.pop_front();
  }
  const uint64_t number = state_->last_forgotten;
  pthread_mutex_unlock(&state_->mutex);
  return number;
}

void FunctionProber::Disarm(std::span<const ProbeId> ids) {
  pthread_mutex_lock(&state_->mutex);
  for (const ProbeId id : ids) {
    const auto place = state_->armed_places.find(id);
    if (place != state_->armed_places.end()) state_->Remove(place->second, id);
  }
  pthread_mutex_unlock(&state_->mutex);
  state_->DisarmImports();
  const bool is_done = state_->Walk(&State::DisarmIn, nullptr);  // else they lead to what delivers nothing
  if (!CodeWriter::SynchronizeProcessors()) return;              // so that nothing is ever forgotten
  state_->Retire();
  if (!is_done) return;
  constexpr int64_t kMostMs = 20;
  state_->RestorePads(kMostMs);
}

ProbedPlace* FunctionProber::State::Rename(ProbeId from, ProbeId to) {
  ProbedPlace* place = armed_places.extract(from).mapped();
  *std::find(std::begin(place->ids), std::end(place->ids), from) = to;
  armed_places[to] = place;
  return place;
}

// A file that was unloaded, and is here again, there or elsewhere, gets its probes again.
void FunctionProber::State::ArmReloadedIn(Pass* pass, const ProbedModule& module) {
  State* state = pass->state;
  std::vector<std::pair<ProbeId, ProbeRequest>> lost;
  for (const auto& [function, place] : state->places) {
    if (!place.HasProbes() || place.build_id.empty() || place.build_id != module.build_id) continue;
    if (place.IsInForce(pass->memory, module)) continue;
    for (size_t slot = 0; slot < kMaxProbesPerFunction; ++slot) {
      const ArmedProbe* probe = place.site->slots[slot];
      if (place.ids[slot] == 0 || probe == nullptr) continue;
      lost.push_back({place.ids[slot],
                      {function - place.load_bias + module.load_bias, probe->handlers, probe->user_data}});
    }
  }
  std::vector<ProbedPlace*> armed;
  for (const auto& [id, request] : lost) state->Remove(state->armed_places.at(id), id);
  for (const auto& [id, request] : lost) {
    const ProbeResult result = state->ArmOne(*pass, module, request);
    if (result.id != 0) armed.push_back(state->Rename(result.id, id));
  }
  if (armed.empty() || !CodeWriter::SynchronizeProcessors()) return;
  for (ProbedPlace* place : armed) Switch(*pass, place, true);
  CodeWriter::SynchronizeProcessors();
}

void FunctionProber::NoteLoadedModules() {
  static_cast<void>(state_->Walk(&State::ArmReloadedIn, nullptr));
  const auto install = [&](const CodeWriter&, const MemoryMap&) { state_->import_patches.Install(); };
  if (!state_->imports.empty()) static_cast<void>(state_->ChangeCode(install));
}

void FunctionProber::DisarmAll() {
  std::vector<ProbeId> ids;
  pthread_mutex_lock(&state_->mutex);
  for (const auto& [id, place] : state_->armed_places) ids.push_back(id);
  pthread_mutex_unlock(&state_->mutex);
  Disarm(ids);
}

bool FunctionProber::BeginAnewInChild() {
  if (!IsInChildOfProbed() || pthread_mutex_trylock(&state_->mutex) != 0) return false;
  pthread_mutex_unlock(&state_->mutex);
  DisarmAll();
  if (!BytesAreOriginal()) return false;
  DeliverHitsInChild();
  return true;
}

bool FunctionProber::BytesAreOriginal() {
  constexpr int64_t kMostMs = 2000;
  state_->RestorePads(kMostMs);
  bool are_original = true;
  const auto compare = [](Pass* pass, const ProbedModule& module) {
    pass->state->ForEachPlace(module, [&](ProbedPlace* place) {
      const HeadPatch& patch = place->patch;
      const uint64_t function = place->site->function;
      // Once the file has been replaced, the saved bytes stand for it.
      const bool is_original =
          place->HasProbes() ||
          (patch.HasOriginal(function) && patch.HasPadOriginal() &&
           (!HasFile(pass->memory, function) || HasFileBytes(pass->memory, function, patch.saved_bytes)));
      if (!is_original) *static_cast<bool*>(pass->work) = false;
    });
  };
  return state_->Walk(compare, &are_original) && are_original;
}

}  // namespace lagwatch::trace

// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/armed_program.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/ticks.h"
#include "probe/run/interpreter.h"
#include "probe/verify/verifier.h"
#include "sdk/probe/loop_sites.h"
#include "sdk/probe/native_hit.h"

namespace lagwatch::sdk {
namespace {

// Time that a hit takes besides the program (docs/design/probes_native.md), with something for cold caches.
constexpr uint32_t kEntryMechanismNs = 20;
constexpr uint32_t kReturnMechanismNs = 45;
constexpr uint32_t kJavaMechanismNs = 30;

uint32_t MechanismNsOf(const probe::VerifiedProbe& probe) {
  constexpr probe::Places kAtEntries =
      At(probe::PlaceKind::kEntry) | At(probe::PlaceKind::kCall) | At(probe::PlaceKind::kUsdt);
  if (probe.place().is_java) return kJavaMechanismNs;
  return (At(probe.place().kind) & kAtEntries) != 0 ? kEntryMechanismNs : kReturnMechanismNs;
}

// Of the dearest probe.
uint32_t MechanismNsOf(const probe::VerifiedProgram& program) {
  uint32_t most_ns = 0;
  for (const probe::VerifiedProbe& each : program.probes()) most_ns = std::max(most_ns, MechanismNsOf(each));
  return most_ns;
}

// Notes the arguments that the probe asks for; false, and `why`, if one is not there or cannot be read.
bool UseNoteArguments(std::string_view text, SiteState* state, std::string* why) {
  state->arguments = ParseNoteArguments(text);
  for (const probe::Operation& each : state->probe->operations()) {
    if (each.code != probe::OperationCode::kReadArgument) continue;
    const auto index = static_cast<size_t>(each.number);
    if (index >= state->arguments.size()) {
      *why = "the note has " + std::to_string(state->arguments.size()) + " arguments";
      return false;
    }
    if (state->arguments[index].kind == NoteArgument::Kind::kUnknown) {
      *why = "its arg" + std::to_string(index) +
             " is in no general register and no memory: " + std::string(text);
      return false;
    }
    state->used_arguments |= uint32_t{1} << index;
  }
  return true;
}

// Floating-point arguments are above the others.
void NoteJavaValues(SiteState* state) {
  for (const probe::Operation& each : state->probe->operations()) {
    const uint32_t bit = uint32_t{1} << (each.number & 31);  // other operations have larger numbers
    switch (each.code) {
      case probe::OperationCode::kReadArgument:
        state->used_arguments |= bit;
        break;
      case probe::OperationCode::kReadFloatArgument:
      case probe::OperationCode::kReadFloat32Argument:
        state->used_arguments |= bit << probe::kJavaArguments;
        break;
      case probe::OperationCode::kReadReturned:
        state->used_returned |= bit;
        break;
      default:
        break;
    }
  }
}

bool IsAtLoops(const probe::VerifiedProbe& probe) { return (At(probe.place().kind) & probe::kOfLoops) != 0; }

}  // namespace

base::Result<std::unique_ptr<ArmedProgram>> ArmedProgram::Create(ArmQuestion question, uint32_t id,
                                                                 const ProbeTicks& ticks) {
  if (question.title.size() > probe::kMaxScriptBytes || question.sites.size() > kMaxProbeSites)
    return base::Status(base::StatusCode::kTooLarge, "the script is too long, or is at too many functions");
  auto parsed = LAGWATCH_TRY(probe::ParseProgram(question.program));
  auto verified = LAGWATCH_TRY(probe::Verify(std::move(parsed)));
  std::unique_ptr<ArmedProgram> armed(new ArmedProgram(std::move(question), id, ticks, std::move(verified)));
  armed->memory_bytes_ = probe::ProbeState::Bytes(armed->program_);
  armed->memory_ = base::MapBlock<char>(armed->memory_bytes_);
  if (armed->memory_ == nullptr) return base::Status(base::StatusCode::kUnavailable, "it has no memory left");
  const probe::ProbeClock clock{
      .ns_per_tick = ticks.ns_per_tick, .base_ticks = ticks.base_ticks, .base_mono_ns = ticks.base_mono_ns};
  armed->state_ = std::make_unique<probe::ProbeState>(armed->program_, armed->memory_.get(), clock,
                                                      MechanismNsOf(armed->program_));
  armed->locks_ = std::make_unique<HeldLocks>();
  const int64_t now_ns = base::SystemClock().MonoNs();
  for (const probe::VerifiedProbe& each : armed->program_.probes()) {
    if (each.place().kind == probe::PlaceKind::kTimer)
      armed->timers_.push_back({&each, now_ns + static_cast<int64_t>(each.place().period_ns)});
  }
  return armed;
}

bool ArmedProgram::NeedsStacks() const {
  return std::ranges::any_of(program_.probes(), [](const auto& each) {
    const uint32_t of_stacks = each.place().kind == probe::PlaceKind::kUsdt
                                   ? probe::kNeedsStack | probe::kNeedsCaller
                                   : probe::kNeedsStack;
    return !each.place().is_java && (each.needs() & of_stacks) != 0;
  });
}

bool ArmedProgram::NeedsLoops() const { return std::ranges::any_of(program_.probes(), IsAtLoops); }

SiteState* ArmedProgram::NewState(const probe::VerifiedProbe& probe) {
  SiteState& state = sites_.emplace_back();
  state.probe = &probe;
  state.state = state_.get();
  state.is_active = &is_active_;
  state.uses = &uses_;
  state.locks = locks_.get();
  state.ns_per_tick = ticks_.ns_per_tick;
  return &state;
}

SiteState* ArmedProgram::StateFor(const ProbeSiteAt& site, LoadedFiles* files,
                                  const trace::ProbeHandlers** handlers, SiteResult* result) {
  if (site.probe >= program_.probes().size()) {
    result->text = "the script has no such probe";
    return nullptr;
  }
  const probe::VerifiedProbe& of = program_.probes()[site.probe];
  if (of.place().is_java != (site.role == SiteRole::kJavaMethod)) {
    result->text = "it is not of this place";
    return nullptr;
  }
  if (handlers != nullptr) *handlers = HandlersFor(site.role, of, &result->text);
  if (handlers != nullptr && *handlers == nullptr) return nullptr;
  SiteState* state = NewState(of);
  state->operation = site.detail;
  if (site.role == SiteRole::kThrow) state->names = of.place().name;
  if (site.role == SiteRole::kJavaMethod) NoteJavaValues(state);
  const bool is_known =
      site.role != SiteRole::kNote || UseNoteArguments(files->NoteOf(site).arguments, state, &result->text);
  return is_known ? state : nullptr;
}

void ArmedProgram::ArmLoops() {
  for (const probe::VerifiedProbe& each : program_.probes()) {
    if (!IsAtLoops(each)) continue;
    SiteState* state = NewState(each);
    state->names = each.place().name;
    if (LoopSites::Instance().Add(state)) loop_sites_.push_back(state);
  }
}

std::vector<SiteResult> ArmedProgram::Arm(trace::FunctionProber* prober, JavaProber* java) {
  LoadedFiles files;
  std::vector<SiteResult> results(question_.sites.size());
  std::vector<size_t> order(results.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return question_.sites[i].role == SiteRole::kJavaMethod; });
  // A lock that is taken before its end can be seen would count as held.
  const auto rest = std::ranges::stable_partition(
      order, [&](size_t i) { return question_.sites[i].role == SiteRole::kUnlock; });
  is_active_.store(true);
  ArmSites(prober, {order.begin(), rest.begin()}, &files, &results);
  ArmSites(prober, {rest.begin(), rest.end()}, &files, &results);
  ArmJavaSites(java, &results);
  ArmLoops();
  return results;
}

void ArmedProgram::ArmSites(trace::FunctionProber* prober, const std::vector<size_t>& sites,
                            LoadedFiles* files, std::vector<SiteResult>* results) {
  std::vector<trace::ProbeRequest> requests;
  std::vector<size_t> places;  // of the requests, among the sites
  for (const size_t i : sites) {
    const ProbeSiteAt& site = question_.sites[i];
    trace::ProbeRequest request;
    request.function = files->AddressOf(site, &(*results)[i].text);
    if (request.function == 0) continue;
    request.user_data = StateFor(site, files, &request.handlers, &(*results)[i]);
    if (request.user_data == nullptr) continue;
    request.is_note = site.role == SiteRole::kNote;
    if (program_.probes()[site.probe].place().kind == probe::PlaceKind::kCall) {
      request.import = site.symbol;
      trace::ProbeRequest own = request;
      own.function = files->OwnAddressOf(site);
      if (own.function != 0) {
        requests.push_back(own);
        places.push_back(i);
      }
    }
    requests.push_back(request);
    places.push_back(i);
  }
  if (requests.empty()) return;
  const std::vector<trace::ProbeResult> armed = prober->Arm(requests);
  for (size_t i = 0; i < armed.size(); ++i) {
    SiteResult& result = (*results)[places[i]];
    if (armed[i].id != 0) ids_.push_back(armed[i].id);
    if (result.is_armed) continue;  // at lagwatch's function for it
    result.is_armed = armed[i].id != 0;
    result.text =
        result.is_armed ? trace::ProbeTierText(armed[i].tier) : trace::ProbeReasonText(armed[i].reason);
    const ProbeSiteAt& site = question_.sites[places[i]];
    if (!result.is_armed || site.role != SiteRole::kNote) continue;
    if (const auto semaphore = files->NoteOf(site).semaphore) semaphores_.Raise(*semaphore);
  }
}

void ArmedProgram::ArmJavaSites(JavaProber* java, std::vector<SiteResult>* results) {
  std::vector<size_t> places;  // of the Java sites, among all
  for (size_t i = 0; i < results->size(); ++i) {
    const ProbeSiteAt& site = question_.sites[i];
    if (site.role != SiteRole::kJavaMethod) continue;
    SiteResult& result = (*results)[i];
    if (java == nullptr) {
      result.text =
          "the library for native functions serves this JVM's probes: end its scripts, and ask again a "
          "minute later";
      continue;
    }
    const SiteState* state = StateFor(site, nullptr, nullptr, &result);
    if (state == nullptr) continue;
    java_sites_.push_back(state);
    was_in_java_ = true;
    places.push_back(i);
  }
  if (places.empty()) return;
  std::vector<SiteResult> armed = java->Arm(java_sites_, question_.awaits_classes);
  for (size_t i = 0; i < armed.size(); ++i) {
    // Those that wait for their classes count as one.
    armed_java_methods_ += armed[i].is_armed ? std::max(armed[i].functions, 1U) : 0;
    (*results)[places[i]] = std::move(armed[i]);
  }
}

void ArmedProgram::TakeProbesAway(trace::FunctionProber* prober, JavaProber* java) {
  is_active_.store(false);
  for (const SiteState* site : loop_sites_) LoopSites::Instance().Remove(site);
  loop_sites_.clear();
  semaphores_.LowerAll();
  prober->Disarm(ids_);
  ids_.clear();
  if (!java_sites_.empty()) java->Disarm(java_sites_);
  java_sites_.clear();
  armed_java_methods_ = 0;
  timers_.clear();
}

void ArmedProgram::Disarm(trace::FunctionProber* prober, JavaProber* java) {
  TakeProbesAway(prober, java);
  question_ = {};
  // A thread may still be in a handler: the addresses stay, as pages of zeros.
  madvise(memory_.get(), memory_bytes_, MADV_DONTNEED);
  locks_->Clear();
}

// Context: lagwatch's own thread.
void ArmedProgram::RunHere(const probe::VerifiedProbe& probe, int64_t number) {
  probe::HitDetails details;
  details.number = number;
  NativeHit hit;
  hit.services = &ProbeHitServices();
  hit.details = &details;
  hit.tid = static_cast<uint32_t>(gettid());
  hit.kind = probe.place().kind;
  probe::RunProbe(probe, hit, state_.get());
}

int64_t ArmedProgram::RunTimers(int64_t now_ns) {
  int64_t next_ns = INT64_MAX;
  for (Timer& timer : timers_) {
    const auto period_ns = static_cast<int64_t>(timer.probe->place().period_ns);
    if (timer.next_ns <= now_ns) {
      // Periods that passed while the thread had no processor are counted, and run once.
      const int64_t periods = (now_ns - timer.next_ns) / period_ns + 1;
      timer.count += periods;
      timer.next_ns += periods * period_ns;
      RunHere(*timer.probe, timer.count);
    }
    next_ns = std::min(next_ns, timer.next_ns);
  }
  return next_ns;
}

uint64_t ArmedProgram::RunEvent(std::string_view name, int64_t number) {
  uint64_t count = 0;
  for (const probe::VerifiedProbe& each : program_.probes()) {
    if (each.place().kind != probe::PlaceKind::kEvent || each.place().name != name) continue;
    RunHere(each, number);
    ++count;
  }
  return count;
}

}  // namespace lagwatch::sdk

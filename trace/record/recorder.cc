// SPDX-License-Identifier: Apache-2.0
#include "trace/record/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/thread.h"
#include "base/ticks.h"
#include "stack/threads/thread_state.h"
#include "trace/hooks/stack_copies.h"
#include "trace/instrument/function_patcher.h"

namespace lagwatch::trace {
namespace {

constexpr size_t kRecorderStackBytes = 512 * 1024;
constexpr int64_t kRecorderStopNs = 3 * base::kNsPerSecond;
constexpr int64_t kPeriodNs = 100 * base::kNsPerMs;
constexpr int64_t kScriptPeriodNs = 20 * base::kNsPerMs;
constexpr uint64_t kListEvery = 10;  // periods; and as soon as a sampler knows more
constexpr int64_t kRenameNs = 1 * base::kNsPerSecond;
// To wake up for a group takes as long as to look at some threads of it.
constexpr size_t kFullGroup = 32;

bool IsGone(pid_t owner) { return owner > 0 && kill(owner, 0) != 0 && errno == ESRCH; }

base::Status NoMemory() { return {base::StatusCode::kUnavailable, "no memory to record a trace with"}; }

// The process has one code. Never destroyed, as patched functions may be under way at its end.
FunctionPatcher& Patcher() {
  static auto* patcher = new FunctionPatcher;
  return *patcher;
}

}  // namespace

base::Status CallRecording::Start(Arena* arena, const CallOptions& options) {
  if (!options.are_recorded) return {};
  if (!StartCalls(arena->call_pool().mutable_header(), options.clock)) {
    if (!options.are_required) return {};
    return {base::StatusCode::kUnavailable,
            "calls are being recorded already, there is no thread for it, or the program has taken the first "
            "32 thread-specific keys"};
  }
  is_on_ = true;
  options_ = options;
  if (options.are_patched && options.finds_rules) FindRules();
  hot_ = HotFunctions(options_.are_patched ? options.most_calls_per_s : 0);
  LookAtModules();
  return {};
}

// Nothing is patched by rules that cannot be read.
void CallRecording::FindRules() {
  std::string path = options_.rules_file;
  if (path.empty()) {
    char program[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", program, sizeof program);
    path = InstrumentRules::PathBeside(std::string_view(program, size > 0 ? static_cast<size_t>(size) : 0));
  }
  if (path.empty()) return;
  auto rules = InstrumentRules::Read(path);
  options_.are_patched = rules.ok();
  if (rules.ok()) options_.filter.rules = std::move(rules).value();
}

void CallRecording::LookAtModules() {
  if (is_on_ && options_.are_patched) Patcher().Apply(options_.filter);
}

void CallRecording::LeaveHotOut(Arena* arena, uint64_t ticks_per_ms) {
  if (!is_on_) return;
  std::vector<uint64_t> hot = hot_.Find(arena->call_pool(), base::ReadTicks(), ticks_per_ms);
  // The compiler's hooks cannot leave.
  std::erase_if(hot, [](uint64_t function) { return !Patcher().IsPatched(function); });
  if (hot.empty()) return;
  for (const uint64_t function : hot) options_.filter.deny_addresses.push_back({function, function + 1});
  arena->header().counters.functions_too_hot.Add(hot.size());
  LookAtModules();
}

void CallRecording::Stop() {
  if (!std::exchange(is_on_, false)) return;
  if (options_.are_patched) Patcher().Clear();
  StopCalls();
}

base::Result<std::unique_ptr<Recorder>> Recorder::Start(Arena* arena, std::shared_ptr<stack::CodeMap> code,
                                                        const RecorderOptions& options) {
  if (!kCanRecord) return base::Status(base::StatusCode::kUnavailable, "there are no traces on this system");
  std::unique_ptr<Recorder> recorder(new Recorder(arena, std::move(code)));
  if (!recorder->stacks_.ok() || !recorder->threads_.ok()) return NoMemory();
  recorder->chosen_ = options.threads;
  recorder->DescribeProcess(options);
  if (options.main_interval_ns != 0) {
    base::Status status =
        recorder->AddSampler(arena->main_pool(), options, &arena->header().main_interval_ns);
    if (!status.ok()) return status;
    recorder->main_sampler_ = std::move(recorder->worker_samplers_.back());
    recorder->worker_samplers_.pop_back();
  }
  for (uint32_t i = 0; i < options.worker_groups && options.worker_interval_ns != 0; ++i) {
    base::Status status =
        recorder->AddSampler(arena->worker_pool(), options, &arena->header().worker_interval_ns);
    if (!status.ok()) return status;
  }
  base::Status status = recorder->StartSelfCaptures(options);
  if (status.ok()) status = recorder->calls_.Start(arena, options.calls);
  if (status.ok()) status = recorder->StartThreads();
  if (!status.ok()) return status;
  return recorder;
}

Recorder::Recorder(Arena* arena, std::shared_ptr<stack::CodeMap> code)
    : arena_(arena),
      code_(std::move(code)),
      scripts_(std::make_unique<ScriptSamples>(arena, code_)),
      stacks_(arena, &code_->modules()),
      threads_(arena) {}

base::Status Recorder::AddSampler(BlockPool pool, const RecorderOptions& options,
                                  const std::atomic<int64_t>* interval_ns) {
  auto capturer = stack::StackCapturer::Create(options.capture, code_);
  if (!capturer.ok()) return capturer.status();
  (*capturer)->SetScripts(scripts_.get());
  worker_samplers_.push_back(
      std::make_unique<Sampler>(state(), pool, std::move(capturer).value(), interval_ns, options.dispatches));
  if (!options.has_timers) worker_samplers_.back()->LeaveTimersOut();
  return {};
}

base::Status Recorder::StartSelfCaptures(const RecorderOptions& options) {
  code_->Refresh();
  HookOptions hooks = options.hooks;
  if (!options.has_hooks)
    hooks.families = kSignalHooks;  // threads capture themselves only at their timers' signals
  auto captures = SelfCaptures::Start(state(), code_, hooks, options.dispatches);
  if (!captures.ok()) return captures.status();
  self_captures_ = std::move(captures).value();
  return {};
}

void Recorder::DrainCaptures() {
  const std::lock_guard lock(captures_mutex_);
  const ArenaClock clock(arena_->header().ticks);
  if (!clock.is_known()) return;
  ticks_per_ms_.store(clock.TicksPerMs(), std::memory_order_relaxed);  // only a number
  if (self_captures_ != nullptr) self_captures_->Drain(clock);
  arena_->header().complete_mono_ns.store(clock.NowNs() - SelfCaptures::kMostHeldNs);
}

base::Status Recorder::StartThreads() {
  scripts_->LookAtModules();
  CopyModules();
  const bool main_counts = main_sampler_ != nullptr && !worker_samplers_.empty();
  for (const auto& sampler : worker_samplers_)
    sampler->LookOutForThreads(&sleeper_, !main_counts && sampler == worker_samplers_.front());
  if (main_sampler_ != nullptr) {
    main_sampler_->LookOutForThreads(&sleeper_, main_counts);
    if (base::Status status = main_sampler_->Start("lagwatch-main"); !status.ok()) return status;
  }
  for (const auto& sampler : worker_samplers_) {
    if (base::Status status = sampler->Start("lagwatch-group"); !status.ok()) return status;
  }
  std::atomic<ArenaState>& state = arena_->header().state;
  state.store(ArenaState::kRecording);
  base::Status status = thread_.Start("lagwatch-trace", kRecorderStackBytes, &Recorder::Run, this);
  if (!status.ok()) state.store(ArenaState::kEmpty);
  return status;
}

void Recorder::DescribeProcess(const RecorderOptions& options) {
  ArenaHeader& header = arena_->header();
  const base::Clock& clock = base::SystemClock();
  header.pid = getpid();
  stack::ReadThreadName(base::OwnThread(header.pid), header.process_name, sizeof header.process_name);
  header.main_interval_ns.store(options.main_interval_ns);
  header.worker_interval_ns.store(options.worker_interval_ns);
  const base::TickPair pair = base::ReadTickPair(clock);
  header.begin_mono_ns = pair.mono_ns;
  header.wall_minus_mono_ns = clock.WallMs() * base::kNsPerMs - clock.MonoNs();
  const int64_t mono_ns = clock.MonoNs();  // first: the difference is never below 0
  header.boot_minus_mono_ns = clock.BootNs() - mono_ns;
  header.ticks.first_ticks = pair.ticks;
  header.ticks.first_mono_ns = pair.mono_ns;
  NoteClocks();
}

Recorder::~Recorder() {
  while (!TryStop()) {
  }
  if (self_captures_ != nullptr && self_captures_->is_stuck()) static_cast<void>(scripts_.release());
}

bool Recorder::TryStop() {
  stopping_.store(true);
  sleeper_.Wake();
  bool has_ended = thread_.TryJoin(kRecorderStopNs);
  if (main_sampler_ != nullptr) has_ended &= main_sampler_->TryStop();
  for (const auto& sampler : worker_samplers_) has_ended &= sampler->TryStop();
  return has_ended;
}

void Recorder::NoteEnd() {
  LeaveThisThreadOut();
  {
    const std::lock_guard lock(captures_mutex_);
    if (self_captures_ != nullptr) self_captures_->Stop();
  }
  calls_.Stop();
  DrainCaptures();
  if (main_sampler_ != nullptr) main_sampler_->AskToStop();
  for (const auto& sampler : worker_samplers_) sampler->AskToStop();
  // Those that have not ended write a little more, which does no harm.
  CopyModules();
  NoteClocks();
  for (const KnownThread& known : known_) threads_.RefreshName(known.place);
  arena_->header().complete_mono_ns.store(arena_->header().last_mono_ns.load());
  arena_->header().state.store(ArenaState::kStopped);
}

void Recorder::Run(void* self) {
  auto* recorder = static_cast<Recorder*>(self);
  LeaveThisThreadOut();
  ArenaHeader& header = recorder->arena_->header();
  while (!recorder->stopping_.load() &&
         header.is_stop_wanted.load(std::memory_order_relaxed) == 0 &&  // by any process
         !recorder->is_abandoned_) {
    recorder->KeepUp();
    const int64_t due_ns = base::SystemClock().MonoNs() + kPeriodNs;
    recorder->lists_now_ |= recorder->DrainUntil(due_ns);
  }
  recorder->NoteEnd();
}

// More often while scripts are sampled: their functions may be gone soon, as at the program's end.
bool Recorder::DrainUntil(int64_t due_ns) {
  for (int64_t next_ns = 0; g_stack_copies.is_wanted(); DrainCaptures()) {
    next_ns = base::SystemClock().MonoNs() + kScriptPeriodNs;
    if (next_ns >= due_ns) break;
    if (sleeper_.SleepUntil(next_ns)) return true;
  }
  return sleeper_.SleepUntil(due_ns);
}

void Recorder::KeepUp() {
  const uint32_t refresh_count = code_->refresh_count();
  code_->RefreshIfDue();
  scripts_->LookAtModules();
  CopyModules();
  if (code_->refresh_count() != refresh_count) calls_.LookAtModules();
  calls_.LeaveHotOut(arena_, ticks_per_ms_.load(std::memory_order_relaxed));  // only a number
  if (++period_ % kListEvery == 1 || std::exchange(lists_now_, false)) ListThreads();
  if (period_ % kListEvery == 0) is_abandoned_ = IsGone(arena_->header().owner_pid);
  NoteClocks();
  DrainCaptures();
}

void Recorder::ListThreads() {
  auto release = [this](uint32_t place) {
    threads_.Release(place);
    for (size_t i = 0; i < known_.size(); ++i) {
      if (known_[i].place != place) continue;
      known_[i] = known_.back();
      known_.Resize(known_.size() - 1);
      return;
    }
  };
  if (main_sampler_ != nullptr) main_sampler_->TakeEnded(release);
  for (const auto& sampler : worker_samplers_) sampler->TakeEnded(release);
  const int64_t now_ns = base::SystemClock().MonoNs();
  const bool renames = now_ns - renamed_ns_ >= kRenameNs;
  if (renames) renamed_ns_ = now_ns;
  base::ForEachThread(base::Process::Own(), [&](int tid) {
    KnownThread* known = std::ranges::find(known_, tid, &KnownThread::tid);
    if (known != known_.end()) {
      if (renames) threads_.RefreshName(known->place);
      return true;
    }
    Sampler* sampler = IsOurs(tid) ? nullptr : SamplerOf(tid);
    if (sampler == nullptr) return true;
    const uint32_t place = threads_.Take(tid);
    if (place == ThreadPlaces::kNoPlace || !known_.PushBack({tid, place})) return true;
    sampler->Add(tid, place);
    return true;
  });
}

bool Recorder::IsOurs(int32_t tid) const {
  if (tid == base::CurrentThreadId() || (main_sampler_ != nullptr && main_sampler_->tid() == tid))
    return true;
  if (std::ranges::any_of(worker_samplers_, [&](const auto& sampler) { return sampler->tid() == tid; }))
    return true;
  char name[ArenaThread::kMaxNameBytes];
  stack::ReadThreadName(base::OwnThread(tid), name, sizeof name);
  return std::string_view(name).starts_with("lagwatch");
}

Sampler* Recorder::SamplerOf(int32_t tid) {
  if (!chosen_.empty() && std::ranges::find(chosen_, tid) == chosen_.end()) return nullptr;
  if (tid == getpid()) return main_sampler_.get();
  if (worker_samplers_.empty()) return nullptr;
  for (const auto& sampler : worker_samplers_)
    if (sampler->thread_count() < kFullGroup) return sampler.get();
  return std::ranges::min_element(worker_samplers_, {},
                                  [](const auto& sampler) { return sampler->thread_count(); })
      ->get();
}

void Recorder::CopyModules() {
  std::atomic<uint32_t>& copied = arena_->header().module_count;
  const uint32_t count = code_->module_count();
  for (uint32_t i = copied.load(std::memory_order_relaxed); i < count; ++i) {  // only we change it
    if (i >= arena_->layout().module_capacity) return arena_->header().counters.modules_refused.Add();
    const stack::Module module = code_->CopyModule(i);
    ArenaModule& copy = arena_->modules()[i];
    copy.begin = module.base;
    copy.end = module.end;
    copy.load_bias = module.load_bias;
    copy.path_size = module.path_size;
    copy.build_id_size = module.build_id_size;
    std::memcpy(copy.path, module.path, module.path_size);
    std::memcpy(copy.build_id, module.build_id, module.build_id_size);
    copied.store(i + 1, std::memory_order_release);  // publishes the copy
  }
}

void Recorder::NoteClocks() {
  ArenaHeader& header = arena_->header();
  const base::TickPair pair = base::ReadTickPair(base::SystemClock());
  const uint32_t version = header.ticks.version.load(std::memory_order_relaxed);  // only we change it
  header.ticks.version.store(version + 1, std::memory_order_relaxed);             // ordered by the fence
  std::atomic_thread_fence(std::memory_order_release);
  header.ticks.last_ticks = pair.ticks;
  header.ticks.last_mono_ns = pair.mono_ns;
  header.ticks.version.store(version + 2, std::memory_order_release);  // publishes both
  header.last_mono_ns.store(pair.mono_ns);
}

}  // namespace lagwatch::trace

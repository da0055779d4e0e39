// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <ctime>
#include <memory>
#include <span>
#include <utility>

#include "base/system/process.h"
#include "policies/fact_names.h"
#include "report/format/fixed_buffer.h"
#include "sdk/moment/process_moment.h"
#include "sdk/outside/go_code.h"
#include "sdk/outside/goroutine_watch.h"
#include "sdk/report/hang_encoder.h"
#include "sdk/report/program_facts.h"
#include "stack/elf/frame_section_file.h"
#include "stack/interpreters/all/interpreter_stacks.h"
#include "stack/unwind/table_unwinder.h"
#include "watchdog/report_facts.h"
#include "watchdog/reported_waits.h"
#include "watchdog/thread_time.h"

namespace lagwatch::sdk {
namespace {

using watchdog::HangEvent;
using watchdog::HangKind;
using watchdog::WaitOutcome;

constexpr int64_t kBetweenLooksNs = 50 * base::kNsPerMs;
constexpr int32_t kMostThreads = 4096;
constexpr size_t kReportBytes = 8 << 20;
// Of so many threads that may matter the chain of waits is followed, in search of a deadlock.
constexpr size_t kMostChains = 8;

void SleepNs(int64_t ns) {
  const timespec time{.tv_sec = ns / base::kNsPerSecond, .tv_nsec = ns % base::kNsPerSecond};
  nanosleep(&time, nullptr);
}

// Whether the wait proves that its owner keeps the thread up: it holds a lock, or has been asked. The other
// end of a pipe or a socket may have been asked for nothing.
bool IsHeldUp(const watchdog::Wait& wait) {
  if (wait.lock.waits_for != policies::WaitsFor::kOwner) return false;
  switch (wait.lock.kind) {
    case policies::LockKind::kMutex:
    case policies::LockKind::kRwLock:
    case policies::LockKind::kThread:
    case policies::LockKind::kInterpreterLock:
    case policies::LockKind::kSafepoint:
    case policies::LockKind::kClass:
    case policies::LockKind::kCompilation:
    case policies::LockKind::kFileLock:
    case policies::LockKind::kBusCall:
    case policies::LockKind::kOnce:
    case policies::LockKind::kStream:
    case policies::LockKind::kHeap:
    case policies::LockKind::kFileSystem:
      return !wait.is_owner_idle;
    default:
      return wait.owner_state == 'T';
  }
}

// The look at one process.
class Looker {
 public:
  Looker(const base::Process& process, const MomentOptions& options)
      : process_(process),
        options_(options),
        interpreters_(process),
        goroutines_(GoroutineWatch::Create(process)),
        go_(process),
        threads_(kMostThreads),
        waits_(process.is_core() ? watchdog::WaitWalker::Reach::kProcess
                                 : watchdog::WaitWalker::Reach::kPeers) {
    scale_.Anchor(base::ReadTickPair(base::SystemClock()));
  }

  base::Result<ProcessMoment> Look();

 private:
  base::Status Prepare();
  base::Status Survey(ThreadSurvey* survey) const;
  // Threads of Go's scheduler say nothing of the program: its goroutines do.
  void TakeGoroutines(ProcessMoment* moment);
  // Of threads that retry a wait, those are blocked for which it is known what keeps them up.
  void TakeRetries(ProcessMoment* moment);
  // Chooses the thread that matters: one in a deadlock before all others.
  void ChooseSuspect(ProcessMoment* moment);
  // From a thread that does nothing but wait for another one's end, to that one: the JVM's launcher starts a
  // thread for main().
  const SurveyedThread* GoToAwaited(const SurveyedThread* thread, std::span<const SurveyedThread> threads);
  // Whether the thread, which sleeps, is that of the JVM's launcher.
  bool IsLauncher(int32_t tid);
  // By what is known of the waits so far.
  Standing StandingNow(const ProcessMoment& moment) const;
  base::Status Report(ProcessMoment* moment);
  watchdog::WatchTools tools();

  base::Process process_;
  const MomentOptions& options_;
  stack::InterpreterStacks interpreters_;
  std::unique_ptr<GoroutineWatch> goroutines_;  // null: it is no program of Go
  GoCode go_;
  std::unique_ptr<stack::StackCapturer> capturer_;
  watchdog::ThreadLister threads_;
  watchdog::WaitWalker waits_;
  watchdog::WatchOptions watch_options_;
  watchdog::WatchCounters counters_;
  base::TickScale scale_;
};

watchdog::WatchTools Looker::tools() {
  return {.options = &watch_options_,
          .tick_scale = &scale_,
          .clock = &base::SystemClock(),
          .capturer = capturer_.get(),
          .threads = &threads_,
          .waits = &waits_,
          .sink = nullptr,
          .counters = &counters_};
}

base::Status Looker::Prepare() {
  base::PrepareFences();
  auto unwinder = LAGWATCH_TRY(stack::CreateTableUnwinder(stack::FrameSectionLoader::FromModuleFiles()));
  capturer_ = LAGWATCH_TRY(stack::StackCapturer::CreateOutside(process_, {}, std::move(unwinder)));
  if (!threads_.ok() || !waits_.ok())
    return {base::StatusCode::kUnavailable, "there is no memory for stacks"};
  capturer_->SetScripts(&interpreters_);
  capturer_->RefreshModules();
  interpreters_.LookAtNewModules(&capturer_->code());
  waits_.MeasureLayouts();
  return {};
}

base::Status Looker::Survey(ThreadSurvey* survey) const {
  constexpr int kLooksAtCore = 2;  // only what two looks have found the same is judged
  int looks = 0;
  const int64_t end_ns = base::SystemClock().MonoNs() + options_.survey_ns;
  const auto stack = std::make_unique<stack::Stack>();
  do {
    // Some languages say what their thread waits for only with its stack.
    capturer_->CaptureAsleep(process_.pid(), stack.get());
    if (!survey->Look()) return {base::StatusCode::kNotFound, "it has ended"};
    if (goroutines_ != nullptr) goroutines_->Look(base::SystemClock().MonoNs(), /*has_run=*/true);
    if (!process_.is_core()) SleepNs(kBetweenLooksNs);
  } while (process_.is_core() ? ++looks < kLooksAtCore : base::SystemClock().MonoNs() < end_ns);
  return survey->Look() ? base::Status{} : base::Status{base::StatusCode::kNotFound, "it has ended"};
}

void Looker::TakeGoroutines(ProcessMoment* moment) {
  if (goroutines_ == nullptr) return;
  for (SurveyedThread& thread : moment->threads) {
    const bool rests = thread.pastime == Pastime::kParked || thread.pastime == Pastime::kBlocked;
    if (rests && go_.Holds(thread.blocked.program_counter)) thread.pastime = Pastime::kIdle;
  }
  const int64_t now_ns = base::SystemClock().MonoNs();
  for (const GoroutineWatch::Hanging& hanging : goroutines_->FindHanging()) {
    SurveyedThread thread;
    thread.tid = hanging.tid;
    thread.pastime = Pastime::kBlocked;
    char name[watchdog::ThreadSnapshot::kMaxNameBytes];
    capturer_->NameScriptThread(hanging.tid, name);
    thread.name = name;
    thread.since_ns = hanging.since_ns;
    policies::ThreadLook look;
    if (!watchdog::ThreadTime::LookAt(capturer_->thread(hanging.tid), nullptr, capturer_.get(), nullptr,
                                      &look))
      continue;
    policies::TimeAccount account;
    look.mono_ns = hanging.since_ns;
    account.Open(look);
    look.mono_ns = now_ns;
    account.Add(look);
    thread.verdict.shares = account.Shares(/*throttled_ns=*/0);
    thread.verdict.word = policies::Judge(thread.verdict.shares, /*is_deadlock=*/false);
    if (process_.is_core()) thread.verdict.shares = {};  // one moment has none
    moment->threads.push_back(std::move(thread));
  }
}

void Looker::TakeRetries(ProcessMoment* moment) {
  size_t left = kMostChains;
  for (SurveyedThread& thread : moment->threads) {
    if (!thread.retries_one_wait) continue;
    if (left-- == 0) return;
    waits_.Follow(thread.tid, capturer_.get());
    const bool is_held_up = !waits_.waits().empty() && IsHeldUp(waits_.waits().front());
    if (is_held_up) thread.pastime = Pastime::kBlocked;
  }
}

void Looker::ChooseSuspect(ProcessMoment* moment) {
  const auto known = std::ranges::find(moment->threads, options_.suspect_tid, &SurveyedThread::tid);
  if (known != moment->threads.end()) {
    moment->suspect = *known;
    return;
  }
  const std::vector<const SurveyedThread*> ranked = RankSuspects(moment->threads, process_.pid());
  const SurveyedThread* chosen = ranked.front();
  const size_t count = std::min(ranked.size(), kMostChains);
  for (size_t i = 0; i < count; ++i) {
    const bool may_wait = ranked[i]->pastime == Pastime::kBlocked || ranked[i]->pastime == Pastime::kParked;
    if (!may_wait) continue;
    waits_.Follow(ranked[i]->tid, capturer_.get());
    if (waits_.outcome() != WaitOutcome::kDeadlock) continue;
    chosen = ranked[i];
    break;
  }
  moment->suspect = *GoToAwaited(chosen, moment->threads);
}

bool Looker::IsLauncher(int32_t tid) {
  const auto stack = std::make_unique<stack::Stack>();
  capturer_->CaptureAsleep(tid, stack.get());
  return std::ranges::any_of(stack->view(), [&](const stack::Frame& frame) {
    return frame.module != stack::kNoModule &&
           capturer_->modules().module(frame.module).path_view().ends_with("/libjli.so");
  });
}

const SurveyedThread* Looker::GoToAwaited(const SurveyedThread* thread,
                                          std::span<const SurveyedThread> threads) {
  for (size_t i = 0; i < threads.size(); ++i) {  // more would be a circle
    waits_.Follow(thread->tid, capturer_.get());
    if (waits_.waits().empty() || waits_.outcome() == WaitOutcome::kDeadlock) return thread;
    const watchdog::Wait& wait = waits_.waits().front();
    const bool is_for_end =
        wait.lock.kind == policies::LockKind::kThread && wait.lock.waits_for == policies::WaitsFor::kOwner;
    const auto owner = std::ranges::find(threads, wait.lock.owner_tid, &SurveyedThread::tid);
    if (!is_for_end || owner == threads.end() || !IsLauncher(thread->tid)) return thread;
    thread = &*owner;
  }
  return thread;
}

Standing Looker::StandingNow(const ProcessMoment& moment) const {
  const SurveyedThread& suspect = moment.suspect;
  if (waits_.outcome() == WaitOutcome::kDeadlock) return Standing::kFrozen;
  // It may have been about to pause.
  if (process_.is_core() && suspect.pastime == Pastime::kComputing) return Standing::kResponds;
  const auto main = std::ranges::find(moment.threads, process_.pid(), &SurveyedThread::tid);
  const bool is_beside_idle_main =
      main != moment.threads.end() && main->tid != suspect.tid && main->pastime == Pastime::kIdle;
  const Standing standing = StandingOf(suspect, is_beside_idle_main);
  const bool may_be_held_up = standing == Standing::kMayBeFrozen && !is_beside_idle_main;
  const bool is_held_up =
      may_be_held_up && !waits_.waits().empty() && std::ranges::all_of(waits_.waits(), &IsHeldUp);
  return is_held_up ? Standing::kFrozen : standing;
}

// A core file is of no machine that is there.
void AddPresentFacts(int32_t tid, const watchdog::WatchTools& tools, watchdog::FactList* facts) {
  if (tools.process().is_core()) {
    facts->AddText("evidence", "core");
    return;
  }
  AddThreadFacts(tid, tools, facts);
  AddProcessFacts(tools, facts);
}

base::Status Looker::Report(ProcessMoment* moment) {
  const watchdog::WatchTools tools = this->tools();
  const SurveyedThread& suspect = moment->suspect;
  const auto sample = std::make_unique<watchdog::LoopSample>();
  capturer_->RefreshModules();
  capturer_->Capture(suspect.tid, &sample->stack);
  sample->mono_ns = base::SystemClock().MonoNs();
  sample->use = suspect.verdict.use;
  sample->no_stack_reason = capturer_->no_stack_reason();
  const watchdog::LoopSample* samples[] = {sample.get()};

  const auto waits = std::make_unique<watchdog::ReportedWaits>();
  waits->Find(suspect.tid, tools);
  moment->standing = StandingNow(*moment);
  threads_.Capture(suspect.tid, sample->stack, capturer_.get());

  HangEvent event{};
  const int64_t wall_ms = options_.seen_wall_ms != 0 ? options_.seen_wall_ms : base::SystemClock().WallMs();
  event.id = base::CreateUuidV7(wall_ms);
  event.hang_id = event.id;
  event.level = watchdog::HangLevel::kHang;
  event.loop = suspect.name;
  event.tid = static_cast<uint32_t>(suspect.tid);
  event.detected_mono_ns = sample->mono_ns;
  event.cpu_window_ns = suspect.verdict.shares.wall_ns;
  event.cpu_thread_ns = suspect.verdict.use.cpu_ns;
  event.samples = samples;
  event.expensive_stack = &sample->stack;
  event.threads = threads_.threads();
  event.threads_dropped = threads_.dropped_count();
  event.verdict = suspect.verdict;
  event.modules = &capturer_->modules();
  event.script_functions = &capturer_->code().script_functions();
  watchdog::FactList facts;
  AddNoStackFacts(samples, &facts);
  if (const char* runtime = capturer_->unreadable_scripts(); *runtime != '\0')
    facts.AddText("unreadable_frames", runtime);
  AddTaskFacts(sample->stack, tools, &facts);
  waits->AddFacts(tools, &facts);
  AddPresentFacts(suspect.tid, tools, &facts);
  event.facts = facts.all();
  waits->AddTo(&event, tools);
  if (event.wait_outcome == WaitOutcome::kDeadlock) event.verdict.word = policies::VerdictWord::kDeadlock;
  if (waits->FollowPeers(suspect.since_ns, tools, &facts, &event)) {
    // A server's own words say more than its call: a backend of PostgreSQL waits for locks in its event
    // loop's.
    if (suspect.pastime == Pastime::kIdle && std::ranges::all_of(waits_.waits(), &IsHeldUp))
      moment->suspect.pastime = Pastime::kBlocked;
    moment->standing = StandingNow(*moment);
  }
  event.kind = HangKind::kDump;
  if (moment->standing != Standing::kResponds && !process_.is_core()) {
    event.kind = HangKind::kHang;
    event.elapsed_ns = sample->mono_ns - suspect.since_ns;
    facts.Add(policies::kAtLeastFact, 1);
    event.facts = facts.all();
  }
  event.start_wall_ms = wall_ms - event.elapsed_ns / base::kNsPerMs;
  moment->report_id = event.id;
  moment->seen_ns = sample->mono_ns;

  ProgramFacts program = SystemFacts(process_);
  program.app = options_.app;
  if (process_.is_core()) program.os = program.distribution = "";
  HangEncoder encoder(&program, &ProcessContext());
  const auto bytes = std::make_unique_for_overwrite<char[]>(kReportBytes);
  report::FixedBuffer buffer(bytes.get(), kReportBytes);
  if (!encoder.Encode(event, /*is_in_start=*/false, &buffer))
    return {base::StatusCode::kUnavailable, "the report does not fit its buffer"};
  encoder.AppendNames(event, &buffer);
  moment->report = buffer.content();
  return {};
}

base::Result<ProcessMoment> Looker::Look() {
  if (base::Status status = Prepare(); !status.ok()) return status;
  ThreadSurvey survey(capturer_.get());
  if (base::Status status = Survey(&survey); !status.ok()) return status;
  ProcessMoment moment;
  moment.threads = survey.Result();
  if (moment.threads.empty()) return base::Status(base::StatusCode::kNotFound, "it has ended");
  TakeGoroutines(&moment);
  TakeRetries(&moment);
  ChooseSuspect(&moment);
  if (base::Status status = Report(&moment); !status.ok()) return status;
  return moment;
}

}  // namespace

base::Result<ProcessMoment> LookAtProcess(const base::Process& process, const MomentOptions& options) {
  return std::make_unique<Looker>(process, options)->Look();
}

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
#include "bench/detect/stage.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

#include "base/process/env.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"

namespace {

std::atomic<int64_t> g_wall_ahead_ns{0};
std::atomic<int64_t> g_boot_ahead_ns{0};

}  // namespace

// Stands before the C library's for all of this program, the monitor included: the machine's own clock is not
// to be set, and it is not to sleep.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  int result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  int64_t ahead_ns = clock == CLOCK_REALTIME   ? g_wall_ahead_ns.load()
                     : clock == CLOCK_BOOTTIME ? g_boot_ahead_ns.load()
                                               : 0;
  if (result != 0 || ahead_ns == 0) return result;
  int64_t ns = time->tv_nsec + ahead_ns % kNsPerSecond + kNsPerSecond;
  time->tv_sec += ahead_ns / kNsPerSecond + ns / kNsPerSecond - 1;
  time->tv_nsec = ns % kNsPerSecond;
  return 0;
}

namespace lagwatch::bench {

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 * kMs + now.tv_nsec;
}

void SleepMs(int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void SpinMs(int64_t ms) {
  for (int64_t end_ns = NowNs() + ms * kMs; NowNs() < end_ns;) {
  }
}

Stage::Stage() : loop_(lw_watch_loop("main")) {}
Stage::~Stage() {
  Stop();
  lw_unwatch_loop(loop_.handle());
}

void Stage::Start(const std::function<void(Options*)>& change) {
  Options options{.app = "bench_detect",
                  .spool_directory = spool_.path(),
                  .threshold_ms = kThresholdMs,
                  .anr_threshold_ms = 0,
                  .listener = {.context = this,
                               .hang_begin = &OnBegin,
                               .hang_end = &OnEnd,
                               .hang_filtered = {},
                               .sensitive = {}},
                  .detection = {.idle_handler_threshold_ms = kThresholdMs,
                                .input_threshold_ms = kThresholdMs,
                                .check_period_ms = kTickMs,
                                .sample_interval_ms = kSampleMs,
                                .ring_size = kTickMs / kSampleMs},
                  .slow = {.dispatch_ms = kThresholdMs / 2}};
  if (change) change(&options);
  monitor_.emplace(Monitor::Start(options));
  if (!monitor_->is_on()) std::cerr << "the monitor is off: " << monitor_->why_off() << "\n";
}

void Stage::Stop() { monitor_.reset(); }

int64_t Stage::Dispatch(const char* tag, const std::function<void()>& work) {
  int64_t begin_ns = NowNs();
  ScopedDispatch dispatch(loop_, tag);
  work();
  return begin_ns;
}

void Stage::ShortDispatch(const char* tag, const std::function<void()>& work, int64_t limit_ms) {
  int64_t begin_ns = Dispatch(tag, work);
  if (NowNs() - begin_ns > limit_ms * kMs) Disturbed();
}

void Stage::Expect(lw_kind kind, int64_t due_ns, const char* tag, const char* loop, lw_level level) {
  std::lock_guard lock(mutex_);
  expected_.push_back({kind, level, loop, tag, due_ns, false});
}

void Stage::Allow(lw_kind kind, int64_t due_ns, const char* tag) {
  std::lock_guard lock(mutex_);
  expected_.push_back({kind, LW_LEVEL_HANG, "main", tag, due_ns, true});
}

int Stage::ReportsIn(const std::string& spool, const std::string& kind) {
  report::SpoolReader reader(&base::SystemEnv(), spool);
  auto names = reader.List(report::SpoolReader::Include::kLiveToo);
  if (!names.ok()) return 0;
  int count = 0;
  for (const std::string& name : *names) {
    auto segment = reader.Read(name);
    if (!segment.ok()) continue;
    for (const report::OwnedRecord& record : segment->records) {
      if (record.type != report::RecordType::kReport) continue;
      auto report = report::DecodeReport(record.payload);
      count += report.ok() && policies::HangKindName(report->kind) == kind;
    }
  }
  return count;
}

std::vector<int64_t> Stage::EndedNs() const {
  std::lock_guard lock(mutex_);
  return ended_ns_;
}

size_t Stage::begun_count() const {
  std::lock_guard lock(mutex_);
  return begun_.size();
}

Outcome Stage::Judge() {
  auto is_over = [this] {
    std::lock_guard lock(mutex_);
    auto is_first = [](const Event& event) { return event.level == LW_LEVEL_HANG; };
    return static_cast<size_t>(std::ranges::count_if(begun_, is_first)) <= ended_ns_.size();
  };
  SleepMs(kTickMs);
  for (int64_t end_ns = NowNs() + 2'000 * kMs; !is_over() && NowNs() < end_ns;) SleepMs(5);
  Stop();

  std::lock_guard lock(mutex_);
  auto take = [this](const auto& fits) -> std::optional<Event> {
    auto found = std::ranges::find_if(begun_, fits);
    if (found == begun_.end()) return std::nullopt;
    Event event = *found;
    begun_.erase(found);
    return event;
  };
  std::vector<Event> not_found;
  for (const Event& expected : expected_) {
    std::optional<Event> found = take([&](const Event& event) {
      return event.kind == expected.kind && event.level == expected.level && event.loop == expected.loop &&
             event.tag == expected.tag;
    });
    if (!found) {
      if (!expected.is_optional) not_found.push_back(expected);
      continue;
    }
    double late_ticks = static_cast<double>(found->at_ns - expected.at_ns) / kTickNs;
    outcome_.false_positives += late_ticks < 0;
    outcome_.late_ticks = std::max(outcome_.late_ticks, late_ticks);
  }
  for (const Event& expected : not_found) {
    bool is_other = take([&](const Event& event) { return event.loop == expected.loop; }).has_value();
    ++(is_other ? outcome_.wrong_kind : outcome_.missed);
  }
  outcome_.false_positives += static_cast<int>(begun_.size());
  for (const Event& event : begun_) {
    std::cerr << "not expected: kind " << event.kind << " level " << event.level << " loop " << event.loop
              << " tag " << event.tag << "\n";
  }
  return outcome_;
}

bool Stage::LetParent(const std::string& action) {
  std::string answer;
  std::cout << "do " << action << std::endl;
  std::getline(std::cin, answer);
  return answer == "done";
}

void Stage::StepWallClock(int64_t ns) { g_wall_ahead_ns = ns; }
void Stage::PretendSuspension(int64_t ns) { g_boot_ahead_ns += ns; }

void Stage::OnBegin(void* stage, const lw_hang* hang) {
  auto* self = static_cast<Stage*>(stage);
  std::lock_guard lock(self->mutex_);
  self->begun_.push_back({hang->kind, hang->level, hang->loop, hang->tag, NowNs()});
}

void Stage::OnEnd(void* stage, const lw_hang* hang) {
  auto* self = static_cast<Stage*>(stage);
  std::lock_guard lock(self->mutex_);
  self->ended_ns_.push_back(static_cast<int64_t>(hang->elapsed_ns));
}

void SleepOver() { SleepMs(kThresholdMs + kTickMs); }

void RunLoop(Stage* stage, int64_t ms) {
  for (int64_t end_ns = NowNs() + ms * kMs; NowNs() < end_ns;) {
    stage->ShortDispatch(
        "short", [] { SleepMs(5); }, kThresholdMs / 2);
    SleepMs(1);
  }
}

void Hang(Stage* stage, const std::function<void()>& work) {
  int64_t begin_ns = stage->Dispatch("long", work);
  stage->Expect(LW_KIND_HANG, begin_ns + kThresholdNs, "long");
}

}  // namespace lagwatch::bench

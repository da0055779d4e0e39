// SPDX-License-Identifier: Apache-2.0
// A program in which the watchdog's thread cannot allocate: its malloc and free abort on that thread. Runs
// real hangs, frames and a slow start, and says how many reports the hangs made.
//
//   malloc_proof hangs SPOOL PLUGIN     the SDK's own monitor
//   malloc_proof sealed SPOOL PLUGIN   the same, with sealed reports
//   malloc_proof cpu SPOOL             the same, with reports of CPU use
//   malloc_proof allocating-sink       a watchdog whose sink allocates, which must not survive
#include <dlfcn.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "report/seal/record_sealer.h"
#include "report/seal/seal_key.h"
#include "report/spool/spool_reader.h"
#include "sdk/monitor.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/stalls.h"
#include "watchdog/watchdog.h"

namespace {

constinit thread_local bool is_watchdog = false;
std::atomic<int> watchdogs{0};

void CheckCaller() {
  if (!is_watchdog) [[likely]]
    return;
  constexpr std::string_view kMessage = "the watchdog's thread called malloc or free\n";
  // The watchdog's thread has its own descriptor table, in which there is no standard error.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  std::abort();
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t size) {
  CheckCaller();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  CheckCaller();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  CheckCaller();
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  CheckCaller();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory == nullptr) return;  // takes no lock; the C library does it at every thread's end
  CheckCaller();
  __libc_free(memory);
}

// The watchdog names its thread before it does anything else.
int pthread_setname_np(pthread_t, const char* name) noexcept {
  if (std::strcmp(name, "lagwatch") == 0) {
    is_watchdog = true;
    ++watchdogs;
  }
  return prctl(PR_SET_NAME, name);
}

}  // extern "C"

namespace {

using namespace lagwatch;
using testing::StopFlag;

watchdog::WatchOptions QuickOptions() {
  watchdog::WatchOptions options;
  options.threshold_ns = 100 * base::kNsPerMs;
  options.check_period_ns = 100 * base::kNsPerMs;
  options.sample_interval_ns = 10 * base::kNsPerMs;
  return options;
}

void Poll(const StopFlag& stop) {
  while (!stop.load()) poll(nullptr, 0, 100);
}

// One dispatch that ends once `is_reported()`.
template <typename IsReported>
void Hang(watchdog::WatchedLoop* loop, const char* tag, void (*stall)(const StopFlag&),
          IsReported is_reported) {
  StopFlag stop{false};
  std::thread watcher([&] {
    while (!is_reported()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop = true;
  });
  loop->probe.Begin(tag);
  stall(stop);
  loop->probe.End();
  watcher.join();
}

// The type of what is sealed, where it is sealed.
report::RecordType TypeOf(const report::OwnedRecord& record) {
  if (record.type != report::RecordType::kSealed) return record.type;
  return report::DecodeSealed(record.payload).value().label.type;
}

// All records of a spool without a writer.
std::vector<report::OwnedRecord> RecordsIn(const char* spool) {
  report::SpoolReader reader(&base::SystemEnv(), spool);
  auto names = reader.List(report::SpoolReader::Include::kFinished);
  std::vector<report::OwnedRecord> records;
  for (const std::string& name : names.value()) {
    auto segment = reader.Read(name);
    std::ranges::move(segment.value().records, std::back_inserter(records));
  }
  return records;
}

base::Result<std::unique_ptr<report::Sealer>> CreateSealer() {
  return report::RecordSealer::Create(report::SealKey::Create().value().ToPublicKey().value());
}

int RunHangs(const char* spool, const char* plugin, bool is_sealed) {
  sdk::MonitorOptions options;
  options.app = "malloc_proof";
  options.spool_directory = spool;
  if (is_sealed) options.create_sealer = &CreateSealer;
  options.watch = QuickOptions();
  options.watch.dump_interval_ns = 0;
  options.feeds_service = true;
  setenv("NOTIFY_SOCKET", "@lagwatch-malloc-proof", 1);
  setenv("WATCHDOG_USEC", "50000", 1);
  options.start = {.kind = LW_START_COLD, .cold_threshold_ns = 16 * base::kNsPerMs};
  watchdog::LoopRegistry registry;
  auto monitor = sdk::Monitor::Start(options, &registry);
  if (!monitor.ok()) return 2;

  StopFlag is_over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 60; ++i) others.emplace_back(Poll, std::cref(is_over));
  others.emplace_back([&] {
    while (!is_over.load()) {
      if (void* library = dlopen(plugin, RTLD_NOW)) dlclose(library);
    }
  });
  others.emplace_back([&] {
    while (!is_over.load()) std::thread([] { free(malloc(1 << 16)); }).join();
  });

  watchdog::WatchedLoop* loop = registry.Add("main", gettid());
  const watchdog::WatchCounters& counters = (*monitor)->watch_counters();
  int failures = 0;
  const std::pair<const char*, void (*)(const StopFlag&)> stalls[] = {{"spin", testing::Spin},
                                                                      {"lock", testing::WaitForLock},
                                                                      {"poll", Poll},
                                                                      {"faults", testing::FaultPages}};
  for (const auto& [tag, stall] : stalls) {
    // A hang may have more than one report.
    const uint64_t hangs_before = counters.hangs.value();
    const auto report_count = [&] { return counters.reports.value() + counters.reports_lost.value(); };
    const uint64_t reports_before = report_count();
    Hang(loop, tag, stall,
         [&] { return counters.hangs.value() > hangs_before && report_count() > reports_before; });
    failures += counters.reports_lost.value() != 0;
  }
  registry.dump_requests().Ask("proof", 0);
  while (counters.dumps.value() == 0 && counters.reports_lost.value() == 0) std::this_thread::yield();
  failures += (*monitor)->service() == nullptr || (*monitor)->service()->failed_count() == 0;
  loop->frames.Begin(base::SystemClock().MonoNs(), 0);
  loop->frames.End(base::SystemClock().MonoNs());
  sdk::ProcessStartUp().NoteReady(base::SystemClock().MonoNs());
  is_over = true;
  for (std::thread& other : others) other.join();
  uint64_t reports = counters.reports.value();
  registry.Remove(loop);
  sdk::Monitor::Stop(std::move(*monitor));
  size_t frame_slices = 0;
  size_t told_reports = 0;
  for (const report::OwnedRecord& record : RecordsIn(spool)) {
    failures += (record.type == report::RecordType::kSealed) != is_sealed;
    frame_slices += TypeOf(record) == report::RecordType::kFrameSlice;
    told_reports += TypeOf(record) == report::RecordType::kReport;
  }
  failures += frame_slices != 1 || told_reports != reports + 1;  // the start's
  std::printf("watchdogs %d, reports %llu\n", watchdogs.load(), static_cast<unsigned long long>(reports));
  return failures == 0 && reports >= std::size(stalls) ? 0 : 3;
}

int RunCpu(const char* spool) {
  sdk::MonitorOptions options;
  options.app = "malloc_proof";
  options.spool_directory = spool;
  options.watch.cpu.is_watched = true;
  options.watch.cpu.percent = options.watch.cpu.average_percent = 1;
  options.watch.cpu.window_ns = base::kNsPerSecond;
  options.watch.cpu.interval_ns = 100 * base::kNsPerMs;
  watchdog::LoopRegistry registry;
  auto monitor = sdk::Monitor::Start(options, &registry);
  if (!monitor.ok()) return 2;
  StopFlag is_over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i) others.emplace_back(testing::Spin, std::cref(is_over));
  const watchdog::WatchCounters& counters = (*monitor)->watch_counters();
  constexpr uint64_t kBothKinds = 2;
  while (counters.reports.value() + counters.reports_lost.value() < kBothKinds)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  is_over = true;
  for (std::thread& other : others) other.join();
  bool is_none_lost = counters.reports_lost.value() == 0;
  sdk::Monitor::Stop(std::move(*monitor));
  std::printf("watchdogs %d\n", watchdogs.load());
  return is_none_lost ? 0 : 3;
}

class AllocatingSink final : public watchdog::HangSink {
 public:
  bool OnHang(const watchdog::HangEvent& event) override {
    text_ = std::make_unique<char[]>(event.threads.size() + 1);
    has_reported = true;
    return true;
  }
  void OnHangEnd(const base::Uuid&, int64_t) override {}
  void OnRoundDone() override {}

  std::atomic<bool> has_reported{false};

 private:
  std::unique_ptr<char[]> text_;
};

int RunAllocatingSink() {
  auto capturer = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
  watchdog::LoopRegistry registry;
  AllocatingSink sink;
  watchdog::Watchdog dog(QuickOptions(), &registry, capturer.get(), &sink);
  if (!dog.Start().ok()) return 2;
  Hang(registry.Add("main", gettid()), "spin", testing::Spin, [&] { return sink.has_reported.load(); });
  std::puts("survived");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "lags" && argc == 4) return RunHangs(argv[2], argv[3], false);
  if (what == "sealed" && argc == 4) return RunHangs(argv[2], argv[3], true);
  if (what == "cpu" && argc == 3) return RunCpu(argv[2]);
  if (what == "allocating-sink") return RunAllocatingSink();
  return 2;
}

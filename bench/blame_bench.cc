// SPDX-License-Identifier: Apache-2.0
// Measures how often reports blame the right function: in each recipe a dispatch calls several functions that
// all spend their time in the same inner function, most of it for the guilty one, and never for the guilty
// one last. The real watchdog watches; a report is right if its expensive stack has the guilty function. The
// rule of the innermost function is applied to the same samples. Prints recipes, right_pct,
// leaf_rule_right_pct, durations_within_2_pct, and the same beside 20 processes that compute (load20_…).
// --load 1 or --load 20 measures one of them, --runs N each recipe so often, and --outcomes FILE appends a
// row for each run (scripts/confidence).
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/blame/shapes.h"
#include "bench/load.h"
#include "bench/outcomes.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "watchdog/sample_ring.h"
#include "watchdog/watchdog.h"

namespace {

using namespace lagwatch;
using namespace lagwatch::bench;

constexpr int64_t kThresholdMs = 400;
constexpr int64_t kSampleIntervalMs = 10;

uint64_t ProgramBase() {
  uint64_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        *static_cast<uint64_t*>(found) = info->dlpi_addr;
        return 1;  // the program comes first
      },
      &base);
  return base;
}

bool HasGuilty(const stack::Stack& stack) {
  const uint64_t guilty = reinterpret_cast<uint64_t>(&LoadContacts) - ProgramBase();
  return std::ranges::any_of(stack.view(),
                             [&](const stack::Frame& frame) { return frame.function_offset == guilty; });
}

// Of the hang's first report.
class BlameSink final : public watchdog::HangSink {
 public:
  bool OnHang(const watchdog::HangEvent& event) override {
    std::lock_guard lock(mutex_);
    if (has_report_) return true;
    has_report_ = true;
    is_right_ = HasGuilty(*event.expensive_stack);
    leaf_is_right_ =
        HasGuilty(watchdog::PickExpensiveSample(event.samples, policies::ExpensiveStackRule::kLeaf).stack);
    guilty_count_ = std::ranges::count_if(
        event.samples, [](const watchdog::LoopSample* sample) { return HasGuilty(sample->stack); });
    sample_count_ = event.samples.size();
    return true;
  }
  void OnHangEnd(const base::Uuid&, int64_t duration_ns) override {
    std::lock_guard lock(mutex_);
    duration_ns_ = duration_ns;
  }
  void OnRoundDone() override {}

  struct Outcome {
    bool has_report = false;
    bool is_right = false;
    bool leaf_is_right = false;
    int64_t guilty_count = 0;
    size_t sample_count = 0;
    int64_t duration_ns = 0;
  };
  // Whether there is no report, or its hang has ended.
  bool IsDone() const {
    std::lock_guard lock(mutex_);
    return !has_report_ || duration_ns_ != 0;
  }
  Outcome Take() {
    std::lock_guard lock(mutex_);
    return {std::exchange(has_report_, false), is_right_, leaf_is_right_, guilty_count_, sample_count_,
            std::exchange(duration_ns_, 0)};
  }

 private:
  mutable std::mutex mutex_;
  bool has_report_ = false;
  bool is_right_ = false;
  bool leaf_is_right_ = false;
  int64_t guilty_count_ = 0;
  size_t sample_count_ = 0;
  int64_t duration_ns_ = 0;
};

// Returns the dispatch's true time, when its report has an end.
TrueTime RunDispatch(const Shape& shape, Work work, watchdog::LoopRegistry* registry, const BlameSink& sink) {
  TrueTime time;
  std::thread([&] {
    watchdog::WatchedLoop* loop = registry->Add(shape.name, gettid());
    const int64_t before_ns = NowNs();
    loop->probe.Begin(shape.name);
    const int64_t begin_ns = NowNs();
    for (const Step& step : shape.steps) Query(step.caller, work, step.ms, step.layers);
    const int64_t end_ns = NowNs();
    loop->probe.End();
    time = {.least_ns = end_ns - begin_ns, .most_ns = NowNs() - before_ns};
    for (const int64_t patience_ns = NowNs() + 3 * base::kNsPerSecond;
         !sink.IsDone() && NowNs() < patience_ns;)
      usleep(5000);
    registry->Remove(loop);
  }).join();
  return time;
}

struct Arguments {
  int runs = 3;
  std::string outcomes;
};

struct Figures {
  int recipes = 0;
  int runs = 0;
  int reports = 0;
  int right = 0;
  int leaf_right = 0;
  int right_durations = 0;

  // Without braces around them.
  std::string Text(int load) const {
    const std::string prefix = "\"" + KeyPrefix(load);
    return prefix + "recipes\": " + std::to_string(recipes) + ", " + prefix +
           "right_pct\": " + Percent(right, runs) + ", " + prefix +
           "leaf_rule_right_pct\": " + Percent(leaf_right, runs) + ", " + prefix +
           "durations_within_2_pct\": " + Percent(right_durations, reports);
  }
};

// Runs a recipe, and prints its row.
void RunRecipe(const NamedWork& work, const Shape& shape, const Arguments& arguments, int load,
               watchdog::LoopRegistry* registry, BlameSink* sink, Figures* figures) {
  const std::string name = std::string(work.name) + ", " + shape.name;
  int right = 0;
  int leaf_right = 0;
  std::string samples;
  for (int run = 0; run < arguments.runs; ++run) {
    const TrueTime time = RunDispatch(shape, work.work, registry, *sink);
    const BlameSink::Outcome outcome = sink->Take();
    const bool is_right = outcome.has_report && outcome.is_right;
    right += is_right;
    leaf_right += outcome.has_report && outcome.leaf_is_right;
    figures->reports += outcome.has_report;
    figures->right_durations += outcome.has_report && time.IsRight(outcome.duration_ns);
    samples += outcome.has_report
                   ? " " + std::to_string(outcome.guilty_count) + "/" + std::to_string(outcome.sample_count)
                   : " (no report)";
    AppendRow(arguments.outcomes, {.suite = "blame",
                                   .recipe = name,
                                   .load = load,
                                   .expected = "",
                                   .word = "",
                                   .right = JsonMember("function", is_right)});
  }
  std::printf("%-24s  %d of %d    %d of %d  %s\n", name.c_str(), right, arguments.runs, leaf_right,
              arguments.runs, samples.c_str());
  std::fflush(stdout);
  ++figures->recipes;
  figures->runs += arguments.runs;
  figures->right += right;
  figures->leaf_right += leaf_right;
}

// Empty if the watchdog cannot start or stop.
std::string Measure(const Arguments& arguments, int load) {
  watchdog::WatchOptions options;
  options.threshold_ns = kThresholdMs * base::kNsPerMs;
  options.sample_interval_ns = kSampleIntervalMs * base::kNsPerMs;
  auto registry = std::make_unique<watchdog::LoopRegistry>();
  BlameSink sink;
  auto unwinder = stack::CreateTableUnwinder();
  if (!unwinder.ok()) return "";
  auto capturer = stack::StackCapturer::Create({}, std::move(unwinder).value());
  if (!capturer.ok()) return "";
  std::unique_ptr<stack::StackCapturer> owned_capturer = std::move(capturer).value();
  watchdog::Watchdog watchdog(options, registry.get(), owned_capturer.get(), &sink);
  if (!watchdog.Start().ok()) return "";

  Figures figures;
  std::printf("load %d\n%-24s  %-8s  %-8s  samples with the guilty function\n", load, "recipe", "path",
              "leaf");
  for (const NamedWork& work : Works()) {
    for (const Shape& shape : Shapes())
      RunRecipe(work, shape, arguments, load, registry.get(), &sink, &figures);
  }
  return watchdog.TryStop() ? figures.Text(load) : "";
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--runs") arguments.runs = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--outcomes") arguments.outcomes = argv[i + 1];
  }
  std::string figures;
  for (int load : Loads(argc, argv)) {
    const std::string text = MeasureAtLoad(load, [&] { return Measure(arguments, load); });
    if (text.empty()) return 1;
    figures += (figures.empty() ? "" : ", ") + text;
  }
  std::printf("{%s}\n", figures.c_str());
  return 0;
}

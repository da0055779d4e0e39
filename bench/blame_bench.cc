// SPDX-License-Identifier: Apache-2.0
// Measures how often reports blame the right function: in each recipe a dispatch calls several functions that
// all spend their time in the same inner function, most of it for the guilty one, and never for the guilty
// one last. The real watchdog watches; a report is right if its expensive stack has the function that took
// most of the time from its first sample to its last: the guilty one, unless the machine was so busy that
// another step took longer. The rule of the innermost function is applied to the same samples. Prints
// recipes, right_pct, leaf_rule_right_pct, durations_within_2_pct, and the same beside 20 processes that
// compute (load20_…).
// --load 1 or --load 20 measures one of them, --runs N each recipe so often, and --outcomes FILE appends a
// row for each run (scripts/confidence).
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
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

// The caller that the stack leads through; null if there is none.
Caller CallerIn(const stack::Stack& stack) {
  static const uint64_t base = ProgramBase();
  for (const stack::Frame& frame : stack.view()) {
    for (Caller caller : Callers()) {
      if (frame.function_offset == reinterpret_cast<uint64_t>(caller) - base) return caller;
    }
  }
  return nullptr;
}

struct Span {
  Caller caller = nullptr;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// A report's blame, and the time from its first sample to its last.
struct Blame {
  bool is_there = false;
  Caller path = nullptr;
  Caller leaf = nullptr;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t guilty_count = 0;
  size_t sample_count = 0;
  int64_t duration_ns = 0;  // 0 before the hang's end
};

// Of the hang's first report.
class BlameSink final : public watchdog::HangSink {
 public:
  bool OnHang(const watchdog::HangEvent& event) override {
    std::lock_guard lock(mutex_);
    if (blame_.is_there) return true;
    const auto is_guilty = [](const watchdog::LoopSample* sample) {
      return CallerIn(sample->stack) == LoadContacts;
    };
    const auto& leaf = watchdog::PickExpensiveSample(event.samples, policies::ExpensiveStackRule::kLeaf);
    blame_ = {.is_there = true,
              .path = CallerIn(*event.expensive_stack),
              .leaf = CallerIn(leaf.stack),
              .begin_ns = event.samples.front()->mono_ns,
              .end_ns = event.samples.back()->mono_ns,
              .guilty_count = std::ranges::count_if(event.samples, is_guilty),
              .sample_count = event.samples.size()};
    return true;
  }
  void OnHangEnd(const base::Uuid&, int64_t duration_ns) override {
    std::lock_guard lock(mutex_);
    blame_.duration_ns = duration_ns;
  }
  void OnRoundDone() override {}

  // Whether there is no report, or its hang has ended.
  bool IsDone() const {
    std::lock_guard lock(mutex_);
    return !blame_.is_there || blame_.duration_ns != 0;
  }
  Blame Take() {
    std::lock_guard lock(mutex_);
    return std::exchange(blame_, {});
  }

 private:
  mutable std::mutex mutex_;
  Blame blame_;
};

// A dispatch as it was: on a busy machine a step may take far longer than it should.
struct Truth {
  TrueTime time;
  std::vector<Span> spans;

  // Whether no caller took much more of the time from the first sample to the last than this one.
  bool IsGuilty(Caller caller, const Blame& blame) const {
    std::map<Caller, int64_t> times_ns;
    int64_t most_ns = 0;
    for (const Span& span : spans) {
      const int64_t part_ns = std::min(span.end_ns, blame.end_ns) - std::max(span.begin_ns, blame.begin_ns);
      most_ns = std::max(most_ns, times_ns[span.caller] += std::max(int64_t{0}, part_ns));
    }
    return caller != nullptr && times_ns[caller] * 10 >= most_ns * 9;
  }
};

// Returns when the dispatch's report has an end.
Truth RunDispatch(const Shape& shape, Work work, watchdog::LoopRegistry* registry, const BlameSink& sink) {
  Truth truth;
  std::thread([&] {
    watchdog::WatchedLoop* loop = registry->Add(shape.name, gettid());
    const int64_t before_ns = NowNs();
    loop->probe.Begin(shape.name);
    const int64_t begin_ns = NowNs();
    for (const Step& step : shape.steps) {
      const int64_t step_begin_ns = NowNs();
      Query(step.caller, work, step.ms, step.layers);
      truth.spans.push_back({step.caller, step_begin_ns, NowNs()});
    }
    const int64_t end_ns = NowNs();
    loop->probe.End();
    truth.time = {.least_ns = end_ns - begin_ns, .most_ns = NowNs() - before_ns};
    for (const int64_t patience_ns = NowNs() + 3 * base::kNsPerSecond;
         !sink.IsDone() && NowNs() < patience_ns;)
      usleep(5000);
    registry->Remove(loop);
  }).join();
  return truth;
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
    const Truth truth = RunDispatch(shape, work.work, registry, *sink);
    const Blame blame = sink->Take();
    const bool is_right = blame.is_there && truth.IsGuilty(blame.path, blame);
    right += is_right;
    const bool is_duration_right = truth.time.IsRight(blame.duration_ns);
    const std::string duration = blame.is_there ? ", " + JsonMember("duration", is_duration_right) : "";
    leaf_right += blame.is_there && truth.IsGuilty(blame.leaf, blame);
    figures->reports += blame.is_there;
    figures->right_durations += blame.is_there && is_duration_right;
    samples += blame.is_there
                   ? " " + std::to_string(blame.guilty_count) + "/" + std::to_string(blame.sample_count)
                   : " (no report)";
    AppendRow(arguments.outcomes, {.suite = "blame",
                                   .recipe = name,
                                   .load = load,
                                   .expected = "",
                                   .word = "",
                                   .right = JsonMember("function", is_right) + duration});
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

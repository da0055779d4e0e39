// SPDX-License-Identifier: Apache-2.0
// Whether verdicts are right: known stalls, run again and again under the real watchdog at small thresholds,
// against the words that their reports get: recipes, runs (of each), accuracy_pct, confusion; words_pct,
// in which a starved thread counts by its word with a processor, as `lagwatch report` shows it; and
// durations_within_2_pct. All of it once more beside 20 processes that compute, without the priority that the
// stalls have otherwise: keys that begin with load20_. A recipe that this machine does not permit is skipped
// and named; all of them need root (control groups). --load 1 or --load 20 measures one of them,
// --runs is of the first, --loaded-runs of the second, and --outcomes FILE appends a row for each run
// (scripts/confidence).
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/load.h"
#include "bench/outcomes.h"
#include "bench/verdict/look_costs.h"
#include "bench/verdict/recipes.h"
#include "policies/verdict.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "watchdog/watchdog.h"

namespace {

using namespace lagwatch;
using namespace lagwatch::bench;
using policies::VerdictWord;

constexpr int kDefaultRuns = 10;
constexpr int kDefaultLoadedRuns = 4;

struct Outcome {
  std::optional<policies::Verdict> verdict;  // none when there was no report
  std::optional<bool> is_duration_right;     // none where the dispatch cannot end
  std::string durations;                     // the reported and the true one, where they differ
};

// Within a stall's thread: the dispatch's true time, once it is over.
struct Dispatch {
  std::atomic<watchdog::WatchedLoop*> loop{nullptr};
  std::atomic<bool> is_over{false};
  TrueTime time;

  void Run(const Recipe& recipe, watchdog::LoopRegistry* registry, VerdictSink* sink) {
    watchdog::WatchedLoop* own_loop = registry->Add(recipe.name, gettid());
    loop = own_loop;
    Stall stall(*sink);
    const int64_t before_ns = NowNs();
    own_loop->probe.Begin(recipe.name);
    const int64_t begin_ns = NowNs();
    recipe.run(stall);
    const int64_t end_ns = NowNs();
    own_loop->probe.End();
    time = {.least_ns = end_ns - begin_ns, .most_ns = NowNs() - before_ns};
    is_over = true;
  }
};

// One run of `recipe`.
Outcome Run(const Recipe& recipe, watchdog::LoopRegistry* registry, VerdictSink* sink) {
  sink->Forget();
  // By value what outlives this call where a thread cannot end.
  auto dispatch = std::make_shared<Dispatch>();
  std::thread thread([recipe, registry, sink, dispatch] { dispatch->Run(recipe, registry, sink); });
  const int64_t deadline_ns = NowNs() + 2 * kDeadlineNs;
  const bool can_end = recipe.expected != VerdictWord::kDeadlock;
  while (!(can_end ? dispatch->is_over.load() : sink->verdict().has_value()) && NowNs() < deadline_ns)
    SleepMs(5);
  Outcome outcome;
  if (can_end) {
    thread.join();
    const int64_t seen_by_ns = NowNs() + kDeadlineNs;
    while (sink->verdict() && !sink->duration_ns() && NowNs() < seen_by_ns) SleepMs(5);
    if (sink->verdict()) {
      const int64_t reported_ns = sink->duration_ns().value_or(0);
      outcome.is_duration_right = dispatch->time.IsRight(reported_ns);
      if (!*outcome.is_duration_right)
        outcome.durations = "             reported as " + std::to_string(reported_ns / base::kNsPerMs) +
                            " ms, lasted " + std::to_string(dispatch->time.most_ns / base::kNsPerMs) +
                            " ms\n";
    }
  } else {
    thread.detach();
  }
  registry->Remove(dispatch->loop);
  outcome.verdict = sink->verdict();
  return outcome;
}

// As `lagwatch report` shows it first.
VerdictWord ShownWord(const policies::Verdict& verdict) {
  const bool is_queued = verdict.word == VerdictWord::kStarved || verdict.word == VerdictWord::kThrottled;
  const VerdictWord word = is_queued ? policies::JudgeWithProcessor(verdict.shares) : verdict.word;
  return word == VerdictWord::kUnknown ? verdict.word : word;
}

std::string SharesText(const policies::TimeShares& shares) {
  auto percent = [&](int64_t ns) {
    return shares.wall_ns == 0 ? 0.0 : 100.0 * static_cast<double>(ns) / static_cast<double>(shares.wall_ns);
  };
  std::string text;
  for (const policies::TimeShare& share : policies::kTimeShares) {
    const double share_percent = percent(shares.*share.ns);
    char number[64];
    std::snprintf(number, sizeof number, " %s %.0f", share.label, share_percent);
    if (share_percent >= 0.5) text += number;
  }
  return text;
}

// Other load of this machine must not starve the stalls. Each session has a share of the processors, and a
// priority of its own, where the kernel groups them.
void TakePriority() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a session of its own hears of no Ctrl-C
  setsid();
  WriteFile("/proc/self/autogroup", "-15");
  setpriority(PRIO_PROCESS, 0, -15);
}

struct Arguments {
  int runs = kDefaultRuns;
  int loaded_runs = kDefaultLoadedRuns;
  bool is_verbose = false;
  std::string only;
  std::string outcomes;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--verbose") arguments.is_verbose = true;
    if (i + 1 == argc) continue;
    if (word == "--runs") arguments.runs = std::atoi(argv[i + 1]);
    if (word == "--loaded-runs") arguments.loaded_runs = std::atoi(argv[i + 1]);
    if (word == "--only") arguments.only = argv[i + 1];
    if (word == "--outcomes") arguments.outcomes = argv[i + 1];
  }
  return arguments;
}

// The sums over all recipes at one load.
class Figures {
 public:
  Figures(const Arguments& arguments, int load) : arguments_(arguments), load_(load) {}

  void Add(const Recipe& recipe, const std::vector<Outcome>& outcomes) {
    std::map<std::string, int> words;
    std::string shares;
    for (const Outcome& outcome : outcomes) {
      const bool is_first = &outcome == &outcomes.front();
      const auto& verdict = outcome.verdict;
      ++words[verdict ? VerdictName(verdict->word) : "(no report)"];
      const bool is_right = verdict && verdict->word == recipe.expected;
      // A thread that is starved on purpose has no better word.
      const bool is_shown_right = is_right || (verdict && recipe.expected != VerdictWord::kStarved &&
                                               ShownWord(*verdict) == recipe.expected);
      right_ += is_right;
      shown_right_ += is_shown_right;
      durations_ += outcome.is_duration_right.has_value();
      right_durations_ += outcome.is_duration_right.value_or(false);
      if (verdict && (!is_right || is_first || arguments_.is_verbose)) {
        shares += "             " + std::string(VerdictName(verdict->word)) + ":" +
                  SharesText(verdict->shares) + "\n";
      }
      shares += outcome.durations;
      Keep(recipe, outcome, is_shown_right);
    }
    ++recipes_;
    runs_ += static_cast<int>(outcomes.size());
    Print(recipe, words, shares);
  }

  // Without braces around them.
  std::string Text() const {
    const std::string prefix = KeyPrefix(load_);
    std::string text =
        load_ == 1 ? "\"recipes\":" + std::to_string(recipes_) + ",\"runs\":" + std::to_string(runs_) + ","
                   : "\"" + prefix + "runs\":" + std::to_string(runs_) + ",";
    text += "\"" + prefix + "accuracy_pct\":" + Percent(right_, runs_);
    text += ",\"" + prefix + "words_pct\":" + Percent(shown_right_, runs_);
    text += ",\"" + prefix + "durations_within_2_pct\":" + Percent(right_durations_, durations_);
    return text + ",\"" + prefix + "confusion\":{" + confusion_ + "}";
  }

 private:
  void Print(const Recipe& recipe, const std::map<std::string, int>& words, const std::string& shares) {
    std::printf("%-12s %-11s ", recipe.name, VerdictName(recipe.expected));
    confusion_ += std::string(confusion_.empty() ? "" : ",") + "\"" + recipe.name + "\":{";
    const char* separator = "";
    for (const auto& [word, count] : words) {
      std::printf(" %s %d", word.c_str(), count);
      confusion_ += separator + ("\"" + word + "\":") + std::to_string(count);
      separator = ",";
    }
    confusion_ += "}";
    std::printf("\n%s", shares.c_str());
    std::fflush(stdout);
  }

  void Keep(const Recipe& recipe, const Outcome& outcome, bool is_right) const {
    const char* word = is_right          ? VerdictName(recipe.expected)
                       : outcome.verdict ? VerdictName(ShownWord(*outcome.verdict))
                                         : "";
    const auto& duration = outcome.is_duration_right;
    AppendRow(arguments_.outcomes, {.suite = "verdict",
                                    .recipe = recipe.name,
                                    .load = load_,
                                    .expected = VerdictName(recipe.expected),
                                    .word = word,
                                    .right = duration ? JsonMember("duration", *duration) : ""});
  }

  const Arguments& arguments_;
  const int load_;
  int recipes_ = 0;
  int runs_ = 0;
  int right_ = 0;
  int shown_right_ = 0;
  int durations_ = 0;
  int right_durations_ = 0;
  std::string confusion_;
};

// Runs all recipes. Empty if the watchdog cannot start or stop.
std::string Measure(const Arguments& arguments, int load) {
  if (load == 1) TakePriority();
  watchdog::WatchOptions options;
  options.threshold_ns = kThresholdNs;
  options.sample_interval_ns = kSampleIntervalNs;
  auto registry = std::make_unique<watchdog::LoopRegistry>();
  VerdictSink sink;
  auto unwinder = stack::CreateTableUnwinder();
  if (!unwinder.ok()) return "";
  auto capturer = stack::StackCapturer::Create({}, std::move(unwinder).value());
  if (!capturer.ok()) return "";
  std::unique_ptr<stack::StackCapturer> owned_capturer = std::move(capturer).value();
  watchdog::Watchdog watchdog(options, registry.get(), owned_capturer.get(), &sink);
  if (!watchdog.Start().ok()) return "";

  std::unique_ptr<ThreadGroup> quota = CreateQuotaGroup();
  std::unique_ptr<ThreadGroup> slow_disk = CreateSlowDiskGroup();
  if (!slow_disk->is_usable())
    std::printf("the disk is as fast as it is: no control group can slow it down\n");
  Figures figures(arguments, load);
  std::printf("load %d\n%-12s %-11s  verdicts\n", load, "recipe", "expected");
  for (const Recipe& recipe : AllRecipes(*quota, *slow_disk)) {
    if (!arguments.only.empty() && arguments.only != recipe.name) continue;
    if (!recipe.impossible.empty()) {
      std::printf("%-12s %-11s  skipped: %s\n", recipe.name, VerdictName(recipe.expected),
                  recipe.impossible.c_str());
      continue;
    }
    std::vector<Outcome> outcomes;
    for (int run = 0; run < (load == 1 ? arguments.runs : arguments.loaded_runs); ++run)
      outcomes.push_back(Run(recipe, registry.get(), &sink));
    figures.Add(recipe, outcomes);
  }
  const bool is_stopped = watchdog.TryStop();
  if (load == 1) PrintLookCosts();
  quota.reset();
  slow_disk.reset();
  if (!is_stopped) return "";
  // The threads of deadlocks are still there: what they use stays.
  registry.release();
  owned_capturer.release();
  return figures.Text();
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  std::string figures;
  for (int load : Loads(argc, argv)) {
    const std::string text = MeasureAtLoad(load, [&] { return Measure(arguments, load); });
    if (text.empty()) return 1;
    figures += (figures.empty() ? "" : ",") + text;
  }
  std::printf("{%s}\n", figures.c_str());
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// One call of an instrumented function, by lagwatch and by others. Each way is a program of its own
// (workload.c), from whose time per call that of the same program without instrumentation is taken off.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/ticks.h"
#include "bench/trace/figures.h"

namespace lagwatch::bench {
namespace {

constexpr int kTakes = 9;

// A way to run the workload.
struct Way {
  std::string key;
  std::string program;  // its name's last part; empty: the raw tick counter
  std::string base;     // the program without instrumentation
  std::string before;   // of the command line
  long calls = 0;
  std::vector<double> takes_ns = {};
};

std::string ProgramPath(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / ("trace_workload_" + name))
      .string();
}

std::optional<double> RunWorkload(const std::string& name, const std::string& before, long calls) {
  const std::string path = ProgramPath(name);
  if (access(path.c_str(), X_OK) != 0) return std::nullopt;
  FILE* pipe = popen((before + " " + path + " " + std::to_string(calls) + " 2>/dev/null").c_str(), "r");
  double ns_per_call = 0;
  const bool is_read = pipe != nullptr && std::fscanf(pipe, "%lf", &ns_per_call) == 1;
  const bool is_done = pipe != nullptr && pclose(pipe) == 0;
  return is_read && is_done ? std::optional(ns_per_call) : std::nullopt;
}

// Of the quietest of many rounds, as the workload has it.
double TickNs() {
  constexpr int kRounds = 20;
  constexpr int kReads = 50'000;
  const base::Clock& clock = base::SystemClock();
  double best_ns = 1e9;
  uint64_t sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t begin_ns = clock.MonoNs();
    for (int i = 0; i < kReads; ++i) {
      sum += base::ReadTicks();
      asm volatile("" ::"r"(sum));
    }
    best_ns = std::min(best_ns, static_cast<double>(clock.MonoNs() - begin_ns) / kReads);
  }
  return best_ns;
}

void Take(Way* way) {
  if (way->program.empty()) {
    way->takes_ns.push_back(TickNs());
    return;
  }
  const auto base_ns = RunWorkload(way->base, "", 1'000'000);
  const auto ns = RunWorkload(way->program, way->before, way->calls);
  if (base_ns && ns) way->takes_ns.push_back(*ns - *base_ns);
}

// The recorders' output goes there.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    char path[] = "/tmp/lagwatch-bench-XXXXXX";
    if (mkdtemp(path) != nullptr) path_ = path;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void TakeAll(std::vector<Way> ways, Figures* figures) {
  for (int take = 0; take < kTakes; ++take)
    for (Way& way : ways) Take(&way);
  for (const Way& way : ways)
    figures->emplace_back(way.key,
                          way.takes_ns.empty() ? std::nullopt : std::optional(MedianOf(way.takes_ns)));
}

}  // namespace

void MeasureInstrumentation(Figures* figures) {
  TakeAll(
      {
          {"tick_ns", "", "", "", 0},
          {"instr_precise_ns", "hooked", "plain", "LAGWATCH_BENCH_CLOCK=precise", 1'000'000},
          {"instr_coarse_ns", "hooked", "plain", "LAGWATCH_BENCH_CLOCK=coarse", 1'000'000},
          {"instr_off_ns", "patchable", "plain", "", 1'000'000},
          {"hooks_off_ns", "hooked", "plain", "", 1'000'000},
          {"patched_precise_ns", "patched", "plain", "LAGWATCH_BENCH_PATCH=1 LAGWATCH_BENCH_CLOCK=precise",
           1'000'000},
          {"patched_coarse_ns", "patched", "plain", "LAGWATCH_BENCH_PATCH=1 LAGWATCH_BENCH_CLOCK=coarse",
           1'000'000},
      },
      figures);
  MeasureOtherTracers(figures);
}

void MeasureOtherTracers(Figures* figures) {
  const ScratchDirectory scratch;
  const std::string xray =
      "XRAY_OPTIONS='patch_premain=true xray_mode=xray-fdr verbosity=0 xray_logfile_base=" + scratch.path() +
      "/xray.' XRAY_FDR_OPTIONS=func_duration_threshold_us=0";
  const std::string uftrace = "uftrace record --no-libcall -d " + scratch.path() + "/uftrace";
  TakeAll({{"uftrace_ns", "hooks_only", "plain", uftrace, 200'000},
           {"uftrace_pg_ns", "mcount", "plain", uftrace, 200'000},
           {"xray_fdr_ns", "xray", "xray_plain", xray, 300'000}},
          figures);
}

}  // namespace lagwatch::bench

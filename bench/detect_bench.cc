// SPDX-License-Identifier: Apache-2.0
// Whether each kind of hang is found, in time and as what it is, and nothing else: scenarios with a known
// truth (bench/detect/), played again and again with the real monitor at thresholds of a tenth.
//
//   bench_detect [RUNS [NAME…]]
//
// Each scenario has a process of its own, which this one stops, freezes and traces as the scenario asks.
// Prints scenarios, runs (in all), missed, false_positives, wrong_kind, late_ticks_max. Needs root for one of
// the scenarios (a frozen control group).
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/detect/scenarios.h"

namespace {

using namespace lagwatch::bench;

constexpr int kDefaultRuns = 20;
// A machine that disturbs more runs than that is not to be trusted with the rest.
constexpr int kMaxDisturbedShare = 4;

struct Row {
  int runs = 0;
  int disturbed = 0;
  int missed = 0;
  int false_positives = 0;
  int wrong_kind = 0;
  double late_ticks = 0;
  bool is_skipped = false;

  void Add(const Outcome& outcome) {
    if (outcome.is_disturbed) {
      ++disturbed;
      return;
    }
    ++runs;
    missed += outcome.missed;
    false_positives += outcome.false_positives;
    wrong_kind += outcome.wrong_kind;
    late_ticks = std::max(late_ticks, outcome.late_ticks);
  }
};

// --- the child's side

int PlayRuns(const Scenario& scenario, int runs) {
  Row row;
  while (row.runs < runs && row.disturbed <= kMaxDisturbedShare * runs) {
    Stage stage;
    scenario.play(&stage);
    row.Add(stage.Judge());
  }
  std::cout << "row " << row.runs << " " << row.disturbed << " " << row.missed << " " << row.false_positives
            << " " << row.wrong_kind << " " << row.late_ticks << std::endl;
  return 0;
}

// --- the parent's side

class FrozenGroup {
 public:
  explicit FrozenGroup(pid_t pid) {
    for (const char* root : {"/sys/fs/cgroup/freezer", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      std::string folder = std::string(root) + "/lagwatch-detect-" + std::to_string(getpid());
      if (mkdir(folder.c_str(), 0755) != 0) continue;
      is_v1_ = access((folder + "/freezer.state").c_str(), W_OK) == 0;
      bool can_freeze = is_v1_ || access((folder + "/cgroup.freeze").c_str(), W_OK) == 0;
      if (can_freeze && Write(folder + "/cgroup.procs", std::to_string(pid))) {
        root_ = root;
        folder_ = folder;
        return;
      }
      rmdir(folder.c_str());
    }
  }
  ~FrozenGroup() {
    if (folder_.empty()) return;
    std::ifstream members(folder_ + "/cgroup.procs");
    for (std::string pid; members >> pid;) Write(root_ + "/cgroup.procs", pid);
    rmdir(folder_.c_str());
  }
  bool ok() const { return !folder_.empty(); }
  void Set(bool is_frozen) {
    if (is_v1_) {
      Write(folder_ + "/freezer.state", is_frozen ? "FROZEN" : "THAWED");
    } else {
      Write(folder_ + "/cgroup.freeze", is_frozen ? "1" : "0");
    }
  }

 private:
  static bool Write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
  }

  std::string root_;
  std::string folder_;
  bool is_v1_ = false;
};

bool Trace(pid_t pid) { return ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0; }

bool Untrace(pid_t pid) {
  if (ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0) return false;
  int status = 0;
  return waitpid(pid, &status, __WALL) == pid && ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0;
}

bool Do(pid_t pid, const std::string& action, int64_t ms) {
  if (action == "stop") {
    kill(pid, SIGSTOP);
    SleepMs(ms);
    return kill(pid, SIGCONT) == 0;
  }
  if (action == "freeze") {
    FrozenGroup group(pid);
    if (!group.ok()) return false;
    group.Set(true);
    SleepMs(ms);
    group.Set(false);
    return true;
  }
  return action == "trace" ? Trace(pid) : Untrace(pid);
}

Row Play(const Scenario& scenario, int runs) {
  int to_child[2];
  int from_child[2];
  if (pipe2(to_child, O_CLOEXEC) != 0 || pipe2(from_child, O_CLOEXEC) != 0) std::abort();
  pid_t pid = fork();
  if (pid == 0) {
    dup2(to_child[0], STDIN_FILENO);
    dup2(from_child[1], STDOUT_FILENO);
    execl("/proc/self/exe", "bench_detect", "--play", scenario.name, std::to_string(runs).c_str(), nullptr);
    _exit(127);
  }
  close(to_child[0]);
  close(from_child[1]);
  FILE* told = fdopen(from_child[0], "r");
  Row row;
  char line[256];
  while (std::fgets(line, sizeof line, told) != nullptr) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "row") {
      words >> row.runs >> row.disturbed >> row.missed >> row.false_positives >> row.wrong_kind >>
          row.late_ticks;
    } else if (word == "do") {
      std::string action;
      int64_t ms = 0;
      words >> action >> ms;
      bool is_done = Do(pid, action, ms);
      row.is_skipped |= !is_done;
      if (write(to_child[1], is_done ? "done\n" : "no!!\n", 5) != 5) break;
    }
  }
  std::fclose(told);
  close(to_child[1]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++row.missed;
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::vector<Scenario> scenarios;
  for (std::span<const Scenario> some : {Dispatches(), OtherKinds(), Discounts(), StartsAndEnds()})
    scenarios.insert(scenarios.end(), some.begin(), some.end());
  if (words.size() == 3 && words[0] == "--victim") return PlayVictim(words[1], words[2]);
  if (words.size() == 3 && words[0] == "--play") {
    for (const Scenario& scenario : scenarios) {
      if (scenario.name == words[1]) return PlayRuns(scenario, std::atoi(words[2].c_str()));
    }
    return 2;
  }
  int runs = words.empty() ? kDefaultRuns : std::max(1, std::atoi(words[0].c_str()));
  auto is_wanted = [&](const Scenario& scenario) {
    return words.size() < 2 || std::find(words.begin() + 1, words.end(), scenario.name) != words.end();
  };
  Row total;
  int played = 0;
  std::printf("%-20s %-22s %5s %6s %6s %6s %10s\n", "scenario", "is to be found", "runs", "missed", "false",
              "wrong", "late ticks");
  for (const Scenario& scenario : scenarios) {
    if (!is_wanted(scenario)) continue;
    Row row = Play(scenario, runs);
    if (row.is_skipped) {
      std::printf("%-20s skipped: this machine does not permit it\n", scenario.name);
      continue;
    }
    std::printf("%-20s %-22s %5d %6d %6d %6d %10.2f", scenario.name, scenario.says, row.runs, row.missed,
                row.false_positives, row.wrong_kind, row.late_ticks);
    if (row.disturbed != 0) std::printf("  (%d more were disturbed)", row.disturbed);
    std::printf("\n");
    std::fflush(stdout);
    ++played;
    total.runs += row.runs;
    total.missed += row.missed;
    total.false_positives += row.false_positives;
    total.wrong_kind += row.wrong_kind;
    total.late_ticks = std::max(total.late_ticks, row.late_ticks);
  }
  std::printf(
      "{\"scenarios\": %d, \"runs\": %d, \"missed\": %d, \"false_positives\": %d, \"wrong_kind\": %d, "
      "\"late_ticks_max\": %.2f}\n",
      played, total.runs, total.missed, total.false_positives, total.wrong_kind, total.late_ticks);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Load that a suite makes itself, and figures that are measured in a process of their own.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace lagwatch::bench {

// So many processes that compute, each in a session of its own, as programs of other users are. They end with
// this object, and with the thread that made it, however that ends.
class OtherLoad {
 public:
  explicit OtherLoad(int processes) {
    for (int i = 0; i < processes; ++i) {
      const pid_t child = fork();
      if (child == 0) Compute();
      if (child > 0) children_.push_back(child);
    }
  }
  ~OtherLoad() {
    for (pid_t child : children_) kill(child, SIGKILL);
    for (pid_t child : children_) waitpid(child, nullptr, 0);
  }
  OtherLoad(const OtherLoad&) = delete;

 private:
  [[noreturn]] static void Compute() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    for (;;) asm volatile("");
  }

  std::vector<pid_t> children_;
};

// The result of `measure`, beside so many processes that compute; none at load 1. A process of its own keeps
// the passes of a suite apart: their priorities, and threads that cannot end. Empty if that did not end well.
inline std::string MeasureAtLoad(int load, const std::function<std::string()>& measure) {
  std::fflush(stdout);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string figures;
    {
      OtherLoad others(load > 1 ? load : 0);
      figures = measure();
    }
    std::fflush(stdout);
    const bool is_written =
        write(ends[1], figures.data(), figures.size()) == static_cast<ssize_t>(figures.size());
    std::_Exit(is_written ? 0 : 1);
  }
  close(ends[1]);
  std::string figures;
  char bytes[4096];
  for (ssize_t size; (size = read(ends[0], bytes, sizeof bytes)) > 0;)
    figures.append(bytes, static_cast<size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? figures : "";
}

// The loads that the arguments ask for: 1 and 20 without one.
inline std::vector<int> Loads(int argc, char** argv) {
  std::vector<int> loads;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--load") loads.push_back(std::atoi(argv[i + 1]));
  }
  return loads.empty() ? std::vector<int>{1, 20} : loads;
}

// Before the key of a figure.
inline std::string KeyPrefix(int load) { return load == 1 ? "" : "load" + std::to_string(load) + "_"; }

// Whether the time is that of a dispatch, to 2 %: it began and ended between these.
struct TrueTime {
  int64_t least_ns = 0;
  int64_t most_ns = 0;

  bool IsRight(int64_t duration_ns) const {
    return duration_ns >= least_ns - least_ns / 50 && duration_ns <= most_ns + most_ns / 50;
  }
};

inline std::string Percent(int part, int all) {
  if (all == 0) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", 100.0 * part / all);
  return text;
}

}  // namespace lagwatch::bench

// SPDX-License-Identifier: Apache-2.0
// Measures what the watch of files (io_watch_ms) adds to calls that are fast, in a dispatch of a watched
// loop: a read of an invalid descriptor, which the kernel refuses at once, a read of one cached byte, a stat,
// and an open with its close. In nanoseconds; each figure is the least of many rounds with the watch, less
// the least of as many bare calls before it and after it: refused_read_added_ns, read_added_ns,
// stat_added_ns, open_close_added_ns (of both calls). For a refused read also unwatched_added_ns, on a thread
// without a loop, and off_added_ns, after the watch.
#include <fcntl.h>
#include <lagwatch/c.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>

namespace {

constexpr int kRounds = 400;
constexpr int kCallsPerRound = 2000;
constexpr uint32_t kLongestMs = 3'600'000;

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

struct Costs {
  double refused_ns = std::numeric_limits<double>::max();
  double read_ns = refused_ns;
  double stat_ns = refused_ns;
  double open_close_ns = refused_ns;
};

template <typename Call>
void Least(double* least_ns, int calls, Call call) {
  const int64_t begin_ns = NowNs();
  for (int i = 0; i < calls; ++i) call();
  *least_ns = std::min(*least_ns, static_cast<double>(NowNs() - begin_ns) / calls);
}

// `loop` may be null.
void Measure(int fd, lw_loop* loop, Costs* costs) {
  char byte = 0;
  struct stat status {};
  for (int round = 0; round < kRounds; ++round) {
    if (loop != nullptr) lw_dispatch_begin(loop, "bench");
    Least(&costs->refused_ns, kCallsPerRound, [&] { return read(-1, &byte, 1); });
    Least(&costs->read_ns, kCallsPerRound, [&] { return pread(fd, &byte, 1, 0); });
    Least(&costs->stat_ns, kCallsPerRound / 4, [&] { return stat("/usr/share/zoneinfo", &status); });
    Least(&costs->open_close_ns, kCallsPerRound / 8, [&] { return close(open("/etc/hostname", O_RDONLY)); });
    if (loop != nullptr) lw_dispatch_end(loop);
  }
}

int Run(const char* spool) {
  char path[] = "/tmp/lagwatch-io-bench-file-XXXXXX";
  const int fd = mkstemp(path);
  unlink(path);
  if (fd < 0 || write(fd, "x", 1) != 1) return 1;
  lw_options options;
  lw_options_init(&options);
  options.spool_directory = spool;
  options.io_watch_ms = kLongestMs;
  options.io_watch_calls = 0;
  options.threshold_ms = kLongestMs;
  options.anr_threshold_ms = 0;

  Costs bare, watched, unwatched, off;
  for (int part = 0; part < 3; ++part) {
    Measure(fd, nullptr, &bare);
    if (lw_start(&options) != LW_OK) return 1;
    Measure(fd, nullptr, &unwatched);
    lw_loop* loop = lw_watch_loop("bench");
    Measure(fd, loop, &watched);
    lw_unwatch_loop(loop);
    lw_stop(0);
    Measure(fd, nullptr, &off);
  }
  std::printf(
      "{\"refused_read_added_ns\": %.1f, \"read_added_ns\": %.1f, \"stat_added_ns\": %.1f, "
      "\"open_close_added_ns\": %.1f, \"unwatched_added_ns\": %.1f, \"off_added_ns\": %.1f, "
      "\"bare_refused_read_ns\": %.1f, \"bare_read_ns\": %.1f, \"bare_stat_ns\": %.1f, "
      "\"bare_open_close_ns\": %.1f}\n",
      watched.refused_ns - bare.refused_ns, watched.read_ns - bare.read_ns, watched.stat_ns - bare.stat_ns,
      watched.open_close_ns - bare.open_close_ns, unwatched.refused_ns - bare.refused_ns,
      off.refused_ns - bare.refused_ns, bare.refused_ns, bare.read_ns, bare.stat_ns, bare.open_close_ns);
  return 0;
}

}  // namespace

int main() {
  char spool[] = "/tmp/lagwatch-io-bench-XXXXXX";
  if (mkdtemp(spool) == nullptr) return 1;
  const int status = Run(spool);
  const std::string command = std::string("rm -rf ") + spool;
  return std::system(command.c_str()) == 0 ? status : 1;
}

// SPDX-License-Identifier: Apache-2.0
// Measures the size of a real program's sample in the flight recorder, its part of the call-stack table
// included, and its size with all its program counters.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "bench/trace/figures.h"
#include "sdk/preload/environment/preload_config.h"
#include "trace/record/arena.h"
#include "trace/record/stack_table.h"

namespace lagwatch::bench {
namespace {

// Work of several kinds, in several threads, with pauses, as programs have them.
constexpr char kScript[] =
    "import threading, time, json, hashlib, re\n"
    "def work(seconds):\n"
    "  end = time.time() + seconds\n"
    "  while time.time() < end:\n"
    "    text = json.dumps([{'name': 'n%d' % i, 'values': list(range(i))} for i in range(60)])\n"
    "    hashlib.sha256(text.encode()).hexdigest()\n"
    "    len(re.findall('n[0-9]+', text)); json.loads(text)\n"
    "    time.sleep(0.002)\n"
    "threads = [threading.Thread(target=work, args=(4,)) for _ in range(3)]\n"
    "threads += [threading.Thread(target=time.sleep, args=(4,)) for _ in range(4)]\n"
    "[thread.start() for thread in threads]; work(4); [thread.join() for thread in threads]\n";

}  // namespace

bool RecordPython(const char* script, const std::string& arena_path, bool has_hooks) {
  const auto library = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
                       "lib/liblagwatch-preload.so";
  const pid_t child = fork();
  if (child == 0) {
    sdk::PreloadConfig config;
    config.is_watched = 0;
    config.trace_arena = arena_path;
    config.trace_pid = static_cast<uint32_t>(getpid());
    if (!has_hooks) config.trace_hook_interval_us = 0;
    setenv("LD_PRELOAD", library.c_str(), 1);
    setenv(sdk::kPreloadConfigVariable, config.ToText().c_str(), 1);
    execl("/usr/bin/python3", "python3", "-c", script, nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void MeasureSampleBytes(Figures* figures) {
  for (bool has_hooks : {false, true}) {
    const std::string path = "/dev/shm/lagwatch-bench-" + std::to_string(getpid());
    const auto arena = trace::Arena::CreateFile(path, {});
    if (!arena.ok()) return;
    const bool is_recorded = RecordPython(kScript, path, has_hooks);
    unlink(path.c_str());
    const trace::ArenaHeader& header = (*arena)->header();
    const auto looks =
        static_cast<double>(header.counters.samples.value() + header.counters.captures.value());
    if (!is_recorded || looks == 0) return;
    const double nodes = header.generations[1].node_count.load();
    const std::string prefix = has_hooks ? "hooks_" : "";
    figures->emplace_back(
        prefix + "bytes_per_sample",
        (static_cast<double>(header.counters.run_bytes.value()) + nodes * sizeof(trace::StackNodeBytes)) /
            looks);
    figures->emplace_back(prefix + "raw_bytes_per_sample",
                          static_cast<double>(header.counters.raw_bytes.value()) / looks);
  }
}

}  // namespace lagwatch::bench

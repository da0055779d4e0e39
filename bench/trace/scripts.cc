// SPDX-License-Identifier: Apache-2.0
// Measures the cost of script frames: of a Python program that computes, 22 frames deep, and is looked at
// every 10 ms.
#include <unistd.h>

#include <string>

#include "bench/trace/figures.h"
#include "trace/record/arena.h"

namespace lagwatch::bench {
namespace {

constexpr char kScript[] =
    "import time\n"
    "def add(n):\n"
    "  total = 0\n"
    "  for i in range(n): total += i * i % 7\n"
    "  return total\n"
    "def call(depth, end):\n"
    "  if depth: return call(depth - 1, end)\n"
    "  while time.monotonic() < end: add(1000); add(3000)\n"
    "call(20, time.monotonic() + 4)\n";

}  // namespace

void MeasureScripts(Figures* figures) {
  const std::string path = "/dev/shm/lagwatch-bench-" + std::to_string(getpid());
  const auto arena = trace::Arena::CreateFile(path, {});
  if (!arena.ok()) return;
  const bool is_recorded = RecordPython(kScript, path, false);
  unlink(path.c_str());
  const trace::RecordCounters& counters = (*arena)->header().counters;
  const auto samples = static_cast<double>(counters.script_samples.value());
  if (!is_recorded || samples == 0) return;
  figures->emplace_back("script_copy_us", static_cast<double>(counters.copy_ns.value()) / samples / 1e3);
  figures->emplace_back("script_read_us", static_cast<double>(counters.script_ns.value()) / samples / 1e3);
}

}  // namespace lagwatch::bench

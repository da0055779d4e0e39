// SPDX-License-Identifier: Apache-2.0
// Measures the cost of recording a trace. Its parts are in bench/trace/.
//
// Looks at 17 threads every 10 ms, of which 12 sleep: sample_us_per_thread of CPU, sampling_cpu_pct of a
// core; bytes_per_sample of a real program (raw_bytes_per_sample with all its program counters),
// script_copy_us for a thread of Python to copy its frames, and script_read_us of the recorder's CPU time to
// read them, for each look; hooks_… where threads capture their own stacks, too; sync_capture_ns for one such
// capture 30 frames deep, hook_skip_ns added to a malloc and its free when none is due (hook_skip_clock_ns,
// …: to other calls).
//
// A call of an instrumented function, entered and left: instr_precise_ns and instr_coarse_ns by
// -finstrument-functions with either clock, instr_off_ns that could be patched and is not, hooks_off_ns
// hooked and not recorded, patched_precise_ns and patched_coarse_ns patched at run time; against tick_ns (one
// read of the tick counter) and uftrace_ns, uftrace_pg_ns, xray_fdr_ns (others' ways; null where they are not
// installed).
#include <cstdio>

#include "bench/trace/figures.h"
#include "bench/trace/hooks_part.h"

int main() {
  lagwatch::bench::Figures figures;
  lagwatch::bench::MeasureSampling(&figures);
  lagwatch::bench::MeasureSampleBytes(&figures);
  lagwatch::bench::MeasureScripts(&figures);
  const lagwatch::bench::HookCosts hooks = lagwatch::bench::MeasureHooks();
  figures.emplace_back("sync_capture_ns", hooks.sync_capture_ns);
  figures.emplace_back("hook_skip_ns", hooks.hook_skip_ns);
  figures.emplace_back("hook_skip_clock_ns", hooks.hook_skip_clock_ns);
  figures.emplace_back("hook_skip_mutex_ns", hooks.hook_skip_mutex_ns);
  figures.emplace_back("hook_skip_read_ns", hooks.hook_skip_read_ns);
  lagwatch::bench::MeasureInstrumentation(&figures);
  const char* separator = "{";
  for (const auto& [key, value] : figures) {
    std::printf("%s\"%s\":", separator, key.c_str());
    value ? std::printf("%.2f", *value) : std::printf("null");
    separator = ",";
  }
  std::printf("}\n");
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Measures the cost of recording a trace. Its parts are in bench/trace/.
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

// SPDX-License-Identifier: Apache-2.0
// The configuration that `lagwatch run` passes to the preloaded library, in one environment variable that the
// library removes before the program's main() runs.
#pragma once

#include <lagwatch/options.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace lagwatch::sdk {

inline constexpr char kPreloadConfigVariable[] = "LAGWATCH_PRELOAD_CONFIG";

// The programs that are watched besides the first one.
enum class ChildrenFollowed : uint8_t {
  kNone,
  kExec,  // what a watched process becomes by exec, and the children of one that has watched no loop (yet)
  kAll,   // each child process, too
};

// Strings must not hold line ends.
struct PreloadConfig {
  Options options;                // of the monitor; app: empty for the file name of each program
  std::string script;             // the name of the next program alone: env(1) runs a script's interpreter
  std::string threads = "auto";   // "auto", "main", "all", or the name of the threads to watch
  std::string children = "exec";  // ChildrenFollowed, by its name
  uint32_t is_sent = 0;           // 1: MonitorOptions::is_sent
  uint32_t soft_watchdog = 0;     // 1: a dump when the program's notification of systemd's watchdog is late
  // The service manager of a process that runs already, as it was started: it may have unset its variables.
  std::string notify_socket;         // empty: as the environment says
  uint32_t watchdog_timeout_ms = 0;  // likewise
  uint32_t is_watched = 1;           // 0: no loop is
  uint32_t is_verbose = 0;           // 1: print on stderr at the end what was watched
  uint32_t run_pid = 0;              // the process that `lagwatch run` became; 0: unknown
  uint32_t seccomp_filters = 0;      // that the command itself is confined by
  uint32_t is_probing_forbidden = 0;  // 1: by `lagwatch run --no-probes`
  std::string probe_directory;        // of the socket for consoles; empty: /tmp/lagwatch-USER
  // So long the start of process `probe_pid` waits for its probes (`lagwatch run --probe`).
  uint32_t probe_wait_ms = 0;
  uint32_t probe_pid = 0;
  // The file of the trace::Arena that process `trace_pid` is recorded into; empty: it is not recorded. The
  // rest is for that case.
  std::string trace_arena;
  uint32_t trace_pid = 0;
  uint32_t trace_main_interval_us = 10'000;    // 0: the main thread is not looked at
  uint32_t trace_worker_interval_us = 10'000;  // 0: the others are not
  uint32_t trace_worker_groups = 2;
  uint32_t trace_calls = 1;                 // of instrumented functions: 0 off, 1 precise, 2 coarse
  std::string trace_patched_modules;        // separated by commas; empty: nothing is patched
  std::string trace_patched_functions;      // of these; empty: all
  std::string trace_unpatched_functions;    // but not these
  std::string trace_rules;                  // the file of trace::InstrumentRules; empty: none
  uint32_t trace_call_limit = 100'000;      // CallOptions::most_calls_per_s
  uint32_t trace_hook_interval_us = 1'000;  // 0: no captures in hooked calls

  ChildrenFollowed children_followed() const;
  // Whether some text contains one, and so cannot be passed.
  bool HasLineEnd() const;
  // One "name=value" a line; options only if they differ from their defaults. Names that Parse does not know
  // are skipped, numbers of options brought into their range.
  std::string ToText() const;
  static PreloadConfig Parse(std::string_view text);
};

}  // namespace lagwatch::sdk

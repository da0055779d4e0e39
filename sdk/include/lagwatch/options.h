// SPDX-License-Identifier: Apache-2.0
// The monitor's options for C++: first those that most programs set, then groups of others.
// Written by lagwatch-schema from policies/options/options.def.
#pragma once

#include <lagwatch/c_options.h>
#include <lagwatch/option_groups.h>

#include <cstdint>
#include <string>

namespace lagwatch {

// lw_options has the meanings. An empty string selects the default.
struct Options {
  std::string app = {};
  std::string app_version = {};
  std::string endpoint = {};  // http://, https://, file:///, sentry:
  std::string key = {};       // no blanks
  std::string user = {};
  std::string spool_directory = {};
  uint32_t threshold_ms = 2000;      // 16 to 3600000
  uint32_t anr_threshold_ms = 5000;  // 16 to 3600000; 0: off
  lw_listener listener = {};
  DetectionOptions detection = {};
  SlowOptions slow = {};
  StartOptions start = {};
  CpuOptions cpu = {};
  TraceOptions trace = {};
  DumpOptions dump = {};
  UploadOptions upload = {};
  PrivacyOptions privacy = {};
  ProcessOptions process = {};
};

// The texts are those of `options`.
inline lw_options ToRaw(const Options& options) noexcept {
  lw_options raw = {};
  raw.struct_size_bytes = sizeof raw;
  raw.app = options.app.c_str();
  raw.app_version = options.app_version.c_str();
  raw.endpoint = options.endpoint.c_str();
  raw.key = options.key.c_str();
  raw.user = options.user.c_str();
  raw.spool_directory = options.spool_directory.c_str();
  raw.threshold_ms = options.threshold_ms;
  raw.anr_threshold_ms = options.anr_threshold_ms;
  raw.listener = options.listener;
  raw.idle_handler_threshold_ms = options.detection.idle_handler_threshold_ms;
  raw.input_threshold_ms = options.detection.input_threshold_ms;
  raw.slow_frame_ms = options.detection.slow_frame_ms;
  raw.sensitive_ms = options.detection.sensitive_ms;
  raw.check_period_ms = options.detection.check_period_ms;
  raw.sample_interval_ms = options.detection.sample_interval_ms;
  raw.ring_size = options.detection.ring_size;
  raw.expensive = options.detection.expensive;
  raw.usage_period_s = options.detection.usage_period_s;
  raw.slow_reports = options.slow.is_reported ? 1 : 0;
  raw.slow_dispatch_ms = options.slow.dispatch_ms;
  raw.start = options.start.kind;
  raw.cold_start_ms = options.start.cold_ms;
  raw.warm_start_ms = options.start.warm_ms;
  raw.watch_cpu = options.cpu.is_watched ? 1 : 0;
  raw.cpu_percent = options.cpu.percent;
  raw.cpu_average_percent = options.cpu.average_percent;
  raw.cpu_background_percent = options.cpu.background_percent;
  raw.cpu_window_ms = options.cpu.window_ms;
  raw.trace = options.trace.is_on ? 1 : 0;
  raw.trace_interval_ms = options.trace.interval_ms;
  raw.trace_hooks = options.trace.has_hooks ? 1 : 0;
  raw.trace_before_s = options.trace.before_s;
  raw.trace_slow_ms = options.trace.slow_ms;
  raw.trace_buffer_kib = options.trace.buffer_kib;
  raw.trace_max_kib = options.trace.max_kib;
  raw.trace_patch = options.trace.patch.c_str();
  raw.dump_signal = options.dump.signal;
  raw.dump_interval_ms = options.dump.interval_ms;
  raw.user_rate_ppm = options.upload.user_rate_ppm;
  raw.reports_per_day = options.upload.reports_per_day;
  raw.reports_per_cause = options.upload.reports_per_cause;
  raw.slow_reports_per_day = options.upload.slow_reports_per_day;
  raw.traces_per_day = options.upload.traces_per_day;
  raw.unmetered_only = options.upload.unmetered_only ? 1 : 0;
  raw.ca_file = options.upload.ca_file.c_str();
  raw.proxy = options.upload.proxy.c_str();
  raw.transport = options.upload.transport;
  raw.config_key = options.upload.config_key.c_str();
  raw.consent = options.privacy.consent;
  raw.scrub_tags = options.privacy.scrub_tags.c_str();
  raw.seal_key = options.privacy.seal_key.c_str();
  raw.capture_signal = options.process.capture_signal;
  raw.spool_sync = options.process.spool_sync;
  raw.feed_systemd = options.process.feed_systemd ? 1 : 0;
  raw.seccomp_allows_lagwatch = options.process.seccomp_allows_lagwatch ? 1 : 0;
  raw.on_last_exit = options.process.on_last_exit;
  raw.on_last_exit_context = options.process.on_last_exit_context;
  raw.scripts = options.process.scripts;
  raw.hide_peers = options.process.hide_peers ? 1 : 0;
  raw.user_proof = options.upload.user_proof.c_str();
  raw.io_watch_ms = options.detection.io_watch_ms;
  raw.io_watch_calls = options.detection.io_watch_calls;
  raw.usage_keys = options.detection.usage_keys.c_str();
  raw.trace_rules = options.trace.rules.c_str();
  return raw;
}

}  // namespace lagwatch

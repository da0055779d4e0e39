// SPDX-License-Identifier: Apache-2.0
// The groups of lagwatch::Options. lw_options has the meanings.
// Written by lagwatch-schema from policies/options/options.def.
#pragma once

#include <lagwatch/c_options.h>

#include <cstdint>
#include <string>

namespace lagwatch {

// Other hangs, and how they are looked at.
struct DetectionOptions {
  uint32_t idle_handler_threshold_ms = 2000;  // 16 to 3600000
  uint32_t input_threshold_ms = 2000;         // 16 to 3600000
  uint32_t slow_frame_ms = 120;               // 16 to 3600000; 0: off
  uint32_t sensitive_ms = 250;                // 16 to 3600000; 0: never
  uint32_t check_period_ms = 1000;            // 1 to 3600000
  uint32_t sample_interval_ms = 50;           // 1 to 3600000
  uint32_t ring_size = 20;                    // 1 to 100
  lw_expensive expensive = LW_EXPENSIVE_PATH;
  uint32_t usage_period_s = 3600;  // 60 to 86400; 0: never
  uint32_t io_watch_ms = 0;        // 1 to 3600000; 0: off
  uint32_t io_watch_calls = 1000;  // 1 to 1000000; 0: any number
  std::string usage_keys = {};     // 4 keys of 32 bytes
};

// Slow dispatches that are no hangs.
struct SlowOptions {
  bool is_reported = false;
  uint32_t dispatch_ms = 700;  // 1 to 3600000
};

// The program's start.
struct StartOptions {
  lw_start_kind kind = LW_START_UNWATCHED;
  uint32_t cold_ms = 10000;  // 16 to 3600000
  uint32_t warm_ms = 4000;   // 16 to 3600000
};

// Reports of CPU use, kinds cpu and cpu-average.
struct CpuOptions {
  bool is_watched = false;
  uint32_t percent = 80;             // 1 to 100; 0: off
  uint32_t average_percent = 80;     // 1 to 100; 0: off
  uint32_t background_percent = 20;  // 1 to 100; 0: off
  uint32_t window_ms = 60000;        // 1000 to 3600000
};

// Traces of the time before a hang.
struct TraceOptions {
  bool is_on = false;
  uint32_t interval_ms = 10;  // 1 to 100
  bool has_hooks = false;
  uint32_t before_s = 10;      // 0 to 600
  uint32_t slow_ms = 0;        // 16 to 3600000; 0: off
  uint32_t buffer_kib = 8192;  // 1024 to 262144
  uint32_t max_kib = 256;      // 4 to 900
  std::string patch = {};      // file names or patterns (*, ?), separated by commas
  std::string rules = {};      // a file's path
};

// Dumps, as by lw_dump_now().
struct DumpOptions {
  int32_t signal = 0;            // a signal
  uint32_t interval_ms = 10000;  // 0 to 3600000
};

// Sending of reports; reports that are not sent are counted, and the counts are sent.
struct UploadOptions {
  uint32_t user_rate_ppm = 50000;     // 0 to 1000000; 1000000: all
  uint32_t reports_per_day = 20;      // from 0; 4294967295: all
  uint32_t reports_per_cause = 3;     // from 0; 4294967295: all
  uint32_t slow_reports_per_day = 5;  // from 0; 4294967295: all
  uint32_t traces_per_day = 5;        // from 0; 4294967295: all
  bool unmetered_only = false;
  std::string ca_file = {};  // a PEM file
  std::string proxy = {};    // http://host:port
  lw_transport transport = {};
  std::string config_key = {};  // 64 hexadecimal digits
  std::string user_proof = {};  // 32 hexadecimal digits
};

// Privacy.
struct PrivacyOptions {
  lw_consent consent = LW_CONSENT_GIVEN;
  std::string scrub_tags = {};  // 8 lines of 63 bytes
  std::string seal_key = {};    // 64 hexadecimal digits
};

// The process and its system.
struct ProcessOptions {
  int32_t capture_signal = 0;  // a real-time signal
  lw_spool_sync spool_sync = LW_SPOOL_SYNC_HANGS;
  bool feed_systemd = false;
  bool seccomp_allows_lagwatch = false;
  lw_on_last_exit on_last_exit = {};
  void* on_last_exit_context = {};
  lw_scripts scripts = {};
  bool hide_peers = false;
};

}  // namespace lagwatch

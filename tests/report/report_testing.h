// SPDX-License-Identifier: Apache-2.0
// Helpers of several tests of report/.
#pragma once

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.h"
#include "report/format/report.h"
#include "report/format/report_encoder.h"
#include "report/format/trace_record.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

inline void WriteFile(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

// The output of `command`; throws if it failed.
inline std::string OutputOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char piece[4096];
  while (size_t got = fread(piece, 1, sizeof piece, pipe)) output.append(piece, got);
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return output;
}

// An id of 16 printable characters.
inline base::Uuid IdOf(std::string_view text) { return *base::TryUuidFromBytes(text); }

// Without a sample rate, which is added later.
inline report::TraceRecord FullTraceRecord() {
  return {.id = IdOf("trace-0123456789"),
          .session_id = IdOf("session-01234567"),
          .report_id = IdOf("id-0123456789abc"),
          .hang_id = IdOf("lag-0123456789ab"),
          .app = "editor",
          .app_version = "2.3.1",
          .user = "u-71",
          .begin_wall_ms = 1'700'000'000'000,
          .duration_ns = 12'000'000'000,
          .reason = "lag",
          .trace = "gzip",
          .cause = 77};
}

inline constexpr policies::Verdict kFullVerdict = [] {
  policies::Verdict verdict{
      .word = policies::VerdictWord::kStarved, .shares = {.wall_ns = 2000}, .use = {11, 12, 13, 14, 15}};
  int64_t ns = 100;
  for (const policies::TimeShare& share : policies::kTimeShares) verdict.shares.*share.ns = ++ns;
  return verdict;
}();
inline constexpr policies::DiscountedTime kFullDiscount{
    .suspended_ns = 21, .stopped_ns = 22, .late_ns = 23, .debugger_pid = 24};

// Sets every field there is, so that none can be forgotten by a test.
inline const base::Uuid kPeerSession = IdOf("peer-session-012");

inline void EncodeFullReport(report::ReportEncoder* encoder) {
  encoder->SetHeader({.id = IdOf("id-0123456789abc"),
                      .session_id = IdOf("session-01234567"),
                      .hang_id = IdOf("lag-0123456789ab"),
                      .ordinal = 4,
                      .app = "editor",
                      .app_version = "2.3.1",
                      .user = "u-71",
                      .os = "Linux 6.1",
                      .machine = "x86_64",
                      .distribution = "Debian GNU/Linux 12",
                      .pid = 10,
                      .tid = 11,
                      .loop = "ui",
                      .tag = "key-press",
                      .kind = report::HangKind::kBusyLoop,
                      .level = report::HangLevel::kAnr,
                      .threshold_ms = 2000,
                      .start_wall_ms = 1'700'000'000'000,
                      .elapsed_ns = 2'500'000'000,
                      .cpu_window_ns = 1'000'000'000,
                      .cpu_thread_ns = 900'000'000,
                      .cpu_process_ns = 1'900'000'000});
  uint32_t program = encoder->AddModule("/opt/editor", "build-one", 0x400000);
  uint32_t library = encoder->AddModule("/lib/libc.so.6", "build-two", 0x7f0000000000);
  const report::Frame waiting[] = {
      {library, 0x1234, 0x1200}, {program, 0x42, 0}, {report::kNoModule, 0xdead, 0}};
  const report::Frame running[] = {{program, 0x99, 0x90}};
  uint32_t wait_stack = encoder->AddStack(waiting, report::Completeness::kIncomplete, {2, 9744});
  uint32_t run_stack = encoder->AddStack(running, report::Completeness::kComplete);
  encoder->AddSample(
      {.age_ns = 50'000'000, .stack = run_stack, .use = {1, 2, 3, 4, 5}, .wall_ns = 6, .calls = 7});
  encoder->AddSample({.age_ns = 1'000, .stack = wait_stack});
  encoder->SetExpensiveStack(run_stack);
  encoder->AddThread({.tid = 11, .name = "main", .state = 'R', .stack = run_stack, .cpu_ns = 5'000});
  encoder->AddThread(
      {.tid = 12, .name = "indexer", .state = 'D', .wait_channel = "io_schedule", .syscall_number = 0});
  encoder->SetThreadsDropped(7);
  encoder->AddWait({.tid = 11,
                    .stack = wait_stack,
                    .lock = {.address = 0x1000,
                             .kind = report::LockKind::kMutex,
                             .waits_for = report::WaitsFor::kOwner,
                             .has_timeout = true,
                             .owner_tid = 12},
                    .owner_name = "indexer",
                    .owner_stack = run_stack});
  encoder->AddWait({.tid = 14,
                    .lock = {.address = 77,
                             .kind = policies::LockKind::kPipe,
                             .waits_for = report::WaitsFor::kOwner,
                             .owner_tid = 16},
                    .owner_name = "reader",
                    .pid = 13,
                    .owner_pid = 15,
                    .owner_process = "viewer",
                    .owner_state = 'S',
                    .is_owner_idle = true,
                    .owner_session_id = kPeerSession});
  encoder->SetWaitOutcome(report::WaitOutcome::kDeadlock);
  encoder->SetVerdict(kFullVerdict);
  encoder->SetDiscount(kFullDiscount);
  encoder->AddPastDispatch({.tag = "paint", .age_ns = 31, .wall_ns = 32, .cpu_ns = 33, .queue_wait_ns = 34});
  encoder->AddNumber("rss_kib", -41);
  encoder->AddText("scene", "editor");
}

inline std::string FullReport() {
  std::vector<char> bytes(1 << 16);
  report::FixedBuffer buffer(bytes.data(), bytes.size());
  report::ReportEncoder encoder(&buffer);
  EncodeFullReport(&encoder);
  if (!encoder.ok()) throw std::runtime_error("the buffer is too small");
  std::string encoded(buffer.content());
  report::AppendSymbol({.module = 1, .function_offset = 0x1200, .name = "futex_wait"}, &encoded);
  return encoded;
}

// A usage with all fields set.
inline report::Usage FullUsage() {
  policies::LoopUsage ui{.watched_ns = 3'600'000'000'000,
                         .dispatches = 1000,
                         .untimed_dispatches = 7,
                         .hangs = 2,
                         .hang_ns = 5'000'000'000,
                         .background = {.watched_ns = 31, .hangs = 32, .hang_ns = 33}};
  ui.durations.counts = {900, 80, 0, 13};
  policies::SlowDispatches open{.count = 3, .total_ns = 2'700'000'000, .longest_ns = 1'100'000'000};
  open.durations.counts[10] = 2;
  open.durations.counts[15] = 1;
  return {.id = IdOf("id-0123456789abc"),
          .session_id = IdOf("session-01234567"),
          .app = "editor",
          .app_version = "2.3.1",
          .user = "u-71",
          .begin_wall_ms = 1'700'000'000'000,
          .end_wall_ms = 1'700'003'600'000,
          .loops = {{"ui", ui}},
          .slow = {{"ui", "open", open}},
          .suppressed = {{policies::SuppressedReason::kUnchangedStack, 12}},
          .values = {{"scene", "inbox", {.watched_ns = 41, .hangs = 42, .hang_ns = 43}}}};
}

// A run's end with all fields set.
inline report::RunEnd FullRunEnd() {
  return {.session_id = IdOf("session-01234567"),
          .reason = policies::ExitReason::kCrash,
          .signal = 11,
          .report_id = IdOf("id-0123456789abc"),
          .hang_ns = 4'000'000'000,
          .loop = "ui",
          .run_start_wall_ms = 1'700'000'000'000,
          .last_seen_wall_ms = 1'700'000'005'000,
          .scene = "inbox",
          .app = "editor",
          .app_version = "2.3.1",
          .user = "u-71"};
}

// Encoded; every field has a value of its own.
inline std::string FullFrameSlice() {
  char bytes[1024];
  report::FixedBuffer buffer(bytes, sizeof bytes);
  report::EncodeFrameSlice({.id = IdOf("id-0123456789abc"),
                            .session_id = IdOf("session-01234567"),
                            .app = "editor",
                            .app_version = "2.3.1",
                            .user = "u-71",
                            .loop = "ui",
                            .scene = "inbox",
                            .begin_wall_ms = 1'700'000'000'000,
                            .duration_ns = 9'500'000'000,
                            .refresh_interval_ns = 16'666'667,
                            .frames = {.frames = 15,
                                       .dropped = 99,
                                       .by_level = {1, 2, 3, 4, 5},
                                       .by_stage_ns = {10, 11, 12, 13, 14, 15}}},
                           &buffer);
  return std::string(buffer.content());
}

}  // namespace lagwatch::testing

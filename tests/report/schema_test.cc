// SPDX-License-Identifier: Apache-2.0
// protoc, which knows the schema and nothing of our code, reads what our encoder wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policies/verdict.h"
#include "report/format/field_codec.h"
#include "report/format/losses.h"
#include "report/format/packed_batch.h"
#include "report/format/sealed.h"
#include "report/format/trace_record.h"
#include "tests/report/report_testing.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EncodeEnd;
using lagwatch::testing::FullReport;
using lagwatch::testing::FullTraceRecord;
using lagwatch::testing::IdOf;

constexpr char kSchemaDirectory[] = LAGWATCH_SCHEMA_DIR;

constexpr char kExpectedBatch[] = R"(reports {
  id: "id-0123456789abc"
  session_id: "session-01234567"
  hang_id: "lag-0123456789ab"
  ordinal: 4
  app: "editor"
  app_version: "2.3.1"
  user: "u-71"
  os: "Linux 6.1"
  machine: "x86_64"
  pid: 10
  tid: 11
  loop: "ui"
  tag: "key-press"
  kind: KIND_BUSY_LOOP
  threshold_ms: 2000
  start_wall_ms: 1700000000000
  elapsed_ns: 2500000000
  cpu {
    window_ns: 1000000000
    thread_ns: 900000000
    process_ns: 1900000000
  }
  modules {
    path: "/opt/editor"
    build_id: "build-one"
    load_bias: 4194304
  }
  modules {
    path: "/lib/libc.so.6"
    build_id: "build-two"
    load_bias: 139637976727552
  }
  stacks {
    module: 2
    module: 1
    module: 0
    offset: 4660
    offset: 66
    offset: 57005
    function_offset: 4608
    function_offset: 0
    function_offset: 0
    completeness: INCOMPLETE
    gap_at: 2
    gap_frames: 9744
  }
  stacks {
    module: 1
    offset: 153
    function_offset: 144
  }
  samples {
    age_ns: 50000000
    stack: 1
    used_cpu_ns: 1
    used_minor_faults: 2
    used_major_faults: 3
    used_voluntary_switches: 4
    used_involuntary_switches: 5
    wall_ns: 6
    calls: 7
  }
  samples {
    age_ns: 1000
  }
  expensive_stack: 1
  threads {
    tid: 11
    name: "main"
    state: "R"
    stack: 2
    cpu_ns: 5000
  }
  threads {
    tid: 12
    name: "indexer"
    state: "D"
    wait_channel: "io_schedule"
    syscall: 1
  }
  symbols {
    module: 2
    function_offset: 4608
    name: "futex_wait"
  }
  threads_dropped: 7
  waits {
    tid: 11
    stack: 1
    lock: 4096
    kind: MUTEX
    waits_for: OWNER
    has_timeout: true
    owner_tid: 12
    owner_name: "indexer"
    owner_stack: 2
  }
  waits {
    tid: 14
    lock: 77
    kind: PIPE_END
    waits_for: OWNER
    owner_tid: 16
    owner_name: "reader"
    pid: 13
    owner_pid: 15
    owner_process: "viewer"
    owner_state: "S"
    is_owner_idle: true
    owner_session_id: "peer-session-012"
  }
  wait_outcome: DEADLOCK
  level: LEVEL_ANR
  verdict {
VERDICT  }
  guard {
    suspended_ns: 21
    stopped_ns: 22
    late_ns: 23
    debugger_pid: 24
  }
  history {
    tag: "paint"
    age_ns: 31
    wall_ns: 32
    cpu_ns: 33
    queue_wait_ns: 34
  }
  facts {
    name: "rss_kib"
    number: -41
  }
  facts {
    name: "scene"
    text: "editor"
  }
  sample_rate_ppm: 50000
  cause: 77
  distribution: "Debian GNU/Linux 12"
}
ends {
  report_id: "id-0123456789abc"
  duration_ns: 3000000000
}
run_ends {
  session_id: "session-01234567"
  reason: EXIT_CRASH
  signal: 11
  report_id: "id-0123456789abc"
  hang_ns: 4000000000
  loop: "ui"
  run_start_wall_ms: 1700000000000
  last_seen_wall_ms: 1700000005000
  scene: "inbox"
  app: "editor"
  app_version: "2.3.1"
  user: "u-71"
}
frames {
  id: "id-0123456789abc"
  session_id: "session-01234567"
  app: "editor"
  app_version: "2.3.1"
  user: "u-71"
  loop: "ui"
  scene: "inbox"
  begin_wall_ms: 1700000000000
  duration_ns: 9500000000
  refresh_interval_ns: 16666667
  frame_count: 15
  dropped: 99
  frames_by_level: 1
  frames_by_level: 2
  frames_by_level: 3
  frames_by_level: 4
  frames_by_level: 5
  ns_by_stage: 10
  ns_by_stage: 11
  ns_by_stage: 12
  ns_by_stage: 13
  ns_by_stage: 14
  ns_by_stage: 15
}
usages {
  id: "id-0123456789abc"
  session_id: "session-01234567"
  app: "editor"
  app_version: "2.3.1"
  user: "u-71"
  begin_wall_ms: 1700000000000
  end_wall_ms: 1700003600000
  loops {
    loop: "ui"
    watched_ns: 3600000000000
    dispatches: 1000
    untimed_dispatches: 7
    hangs: 2
    hang_ns: 5000000000
    durations: 900
    durations: 80
    durations: 0
    durations: 13
    background_watched_ns: 31
    background_hangs: 32
    background_hang_ns: 33
  }
  slow {
    loop: "ui"
    tag: "open"
    count: 3
    total_ns: 2700000000
    longest_ns: 1100000000
    durations: 0
    durations: 0
    durations: 0
    durations: 0
    durations: 0
    durations: 0
    durations: 0
    durations: 0
    durations: 0
    durations: 0
    durations: 2
    durations: 0
    durations: 0
    durations: 0
    durations: 0
    durations: 1
  }
  suppressed {
    reason: UNCHANGED_STACK
    count: 12
  }
  values {
    key: "scene"
    value: "inbox"
    watched_ns: 41
    hangs: 42
    hang_ns: 43
  }
}
losses {
  id: "losses-012345678"
  app: "editor"
  app_version: "2.3.1"
  user: "u-71"
  begin_wall_ms: 1700000000000
  end_wall_ms: 1700000003000
  losses {
    reason: CAUSE_IS_FULL
    cause: 77
    count: 3
    sample_rate_ppm: 50000
  }
}
packed {
  version: 1
  texts: "canvas"
  ids: "3456789abc"
  columns: "\001\001\006\001\001\344\304\201\323\205\3314\002\001\006\004\000\000\000\000\000\000\000\001\002\n\003\000\001\003\000\000\000\000\001e\001\343\304\201\323\205\3314\000\000\000\000\000\000\000"
}
sealed {
  type: 1
  id: "id-0123456789abc"
  cause: 77
  priority: 3
  ephemeral_key: "key-0123456789abcdefghijklmnopqr"
  nonce: "nonce-012345"
  sealed: "what nobody reads"
  sample_rate_ppm: 50000
}
traces {
  id: "trace-0123456789"
  session_id: "session-01234567"
  report_id: "id-0123456789abc"
  hang_id: "lag-0123456789ab"
  app: "editor"
  app_version: "2.3.1"
  user: "u-71"
  begin_wall_ms: 1700000000000
  duration_ns: 12000000000
  reason: "lag"
  trace: "gzip"
  sample_rate_ppm: 50000
  cause: 77
}
)";

// Its verdict has a line for each row of policies/verdict.def, in the order of the fields.
std::string ExpectedBatch() {
  std::map<uint32_t, std::string> fields = {
      {1, "word: STARVED"},     {2, "wall_ns: 2000"},           {13, "minor_faults: 12"},
      {14, "major_faults: 13"}, {15, "voluntary_switches: 14"}, {16, "involuntary_switches: 15"},
      {17, "cpu_ns: 11"}};
  for (const policies::TimeShare& share : policies::kTimeShares) {
    std::string name = share.json_name;
    name.replace(name.size() - 2, 2, "ns: ");
    fields[share.field] = name + std::to_string(testing::kFullVerdict.shares.*share.ns);
  }
  std::string lines;
  for (const auto& [number, line] : fields) lines += "    " + line + "\n";
  std::string batch = kExpectedBatch;
  constexpr std::string_view kPlace = "VERDICT";
  return batch.replace(batch.find(kPlace), kPlace.size(), lines);
}

std::string DecodedByProtoc(const std::string& bytes, const std::string& message = "Batch") {
  lagwatch::testing::ScopedTempDirectory directory;
  std::string file = directory / "batch";
  lagwatch::testing::WriteFile(file, bytes);
  return lagwatch::testing::OutputOf(std::string("protoc --decode=lagwatch.") + message + " -I '" +
                                     kSchemaDirectory + "' lagwatch.proto < '" + file + "'");
}

TEST(Schema, ProtocShowsEveryFieldByItsName) {
  std::string batch;
  std::string report = FullReport();
  AppendSampleRate(RecordType::kReport, 50'000, &report);
  AppendCause(77, &report);
  AppendToBatch({RecordType::kReport, report}, &batch);
  AppendToBatch({RecordType::kHangEnd, EncodeEnd(IdOf("id-0123456789abc"), 3'000'000'000)}, &batch);
  AppendToBatch({RecordType::kRunEnd, EncodeRunEnd(lagwatch::testing::FullRunEnd())}, &batch);
  AppendToBatch({RecordType::kFrameSlice, lagwatch::testing::FullFrameSlice()}, &batch);
  std::string usage = lagwatch::testing::EncodeUsage(lagwatch::testing::FullUsage());
  AppendToBatch({RecordType::kUsage, usage}, &batch);
  const Losses losses{.id = IdOf("losses-012345678"),
                      .app = "editor",
                      .app_version = "2.3.1",
                      .user = "u-71",
                      .begin_wall_ms = 1'700'000'000'000,
                      .end_wall_ms = 1'700'000'003'000,
                      .losses = {{LossReason::kCauseIsFull, 77, 3, 50'000}}};
  AppendToBatch({RecordType::kLosses, EncodeLosses(losses)}, &batch);
  // The example of docs/report_format.md.
  const std::string run_end = EncodeRunEnd({.session_id = IdOf("id-0123456789abc"), .loop = "canvas"});
  const std::string hang_end = EncodeEnd(IdOf("id-0123456789abc"), 3'000'000'000);
  const std::string packed =
      PackBatch(std::vector<Record>{{RecordType::kRunEnd, run_end}, {RecordType::kHangEnd, hang_end}}, 1);
  AppendToBatch({RecordType::kPacked, packed}, &batch);
  std::vector<char> bytes(4096);
  FixedBuffer buffer(bytes.data(), bytes.size());
  const Sealed sealed{.label = {RecordType::kReport, IdOf("id-0123456789abc"), 77, 3},
                      .ephemeral_key = "key-0123456789abcdefghijklmnopqr",
                      .nonce = "nonce-012345",
                      .sealed = "what nobody reads"};
  ASSERT_TRUE(EncodeSealed(sealed, &buffer));
  std::string sent(buffer.content());
  AppendSampleRate(RecordType::kSealed, 50'000, &sent);
  AppendToBatch({RecordType::kSealed, sent}, &batch);
  std::string trace = EncodeTraceRecord(FullTraceRecord());
  AppendSampleRate(RecordType::kTrace, 50'000, &trace);
  AppendToBatch({RecordType::kTrace, trace}, &batch);
  EXPECT_EQ(DecodedByProtoc(batch), ExpectedBatch());
}

// A value that no other field has, and protoc's text of it.
std::string Fill(uint32_t number, std::string& text) {
  text = "text " + std::to_string(number);
  return "\"" + text + "\"";
}
std::string Fill(uint32_t number, base::Uuid& id) {
  const std::string text = "id of field " + std::to_string(1000 + number);
  id = IdOf(text);
  return "\"" + text + "\"";
}
std::string Fill(uint32_t, bool& is_so) {
  is_so = true;
  return "true";
}
std::string Fill(uint32_t, char& letter) {
  letter = 'Z';
  return "\"Z\"";
}
template <std::integral Value>
std::string Fill(uint32_t number, Value& value) {
  value = static_cast<Value>(100 + number);
  return std::to_string(value);
}
template <typename Value>
requires std::is_enum_v<Value> std::string Fill(uint32_t, Value& value) {
  value = static_cast<Value>(1);
  return "";
}
template <size_t kCount>
std::string Fill(uint32_t number, std::array<uint64_t, kCount>& counts) {
  return Fill(number, counts[0]);
}
std::string Fill(uint32_t number, policies::DurationHistogram& histogram) {
  return Fill(number, histogram.counts);
}
template <typename Value>
std::string Fill(uint32_t number, Always<Value> value) {
  return Fill(number, value.number);
}
template <typename Value>
std::string Fill(uint32_t number, Fixed<Value> value) {
  return Fill(number, value.number);
}
template <typename Value>
std::string Fill(uint32_t number, Signed<Value> value) {
  Fill(number, value.number);
  value.number = -value.number;
  return std::to_string(value.number);
}
template <typename Value>
std::string Fill(uint32_t number, PlusOne<Value> value) {
  Fill(number, value.number);
  return std::to_string(value.number + 1);
}
template <typename Value>
std::string Fill(uint32_t number, Bytes<Value> bytes) {
  return Fill(number, bytes.text);
}

// Each field of `table` is in the schema's message by its name, with a type that holds its values.
template <typename Part, typename Table>
void ExpectInSchema(const std::string& message, const Table& table) {
  Part part;
  std::string bytes;
  std::vector<std::string> lines;
  std::set<uint32_t> numbers;
  protozero::pbf_writer writer(bytes);
  table(part, [&](const Field& field, auto&& member) {
    EXPECT_TRUE(numbers.insert(field.number).second) << message << " has " << field.number << " twice";
    if constexpr (requires { Fill(field.number, member); }) {
      lines.push_back(std::string(field.name) + ": " + Fill(field.number, member));
      Put(&writer, field.number, member);
    }
    return false;
  });
  const std::string shown = DecodedByProtoc(bytes, message);
  for (const std::string& line : lines)
    EXPECT_THAT("\n" + shown, ::testing::HasSubstr("\n" + line)) << message;
}
template <typename Part>
void ExpectInSchema() {
  ExpectInSchema<Part>(std::string(MessageOf<Part>::kName), MessageOf<Part>::kTable);
}

TEST(Schema, EveryFieldOfATableIsInIt) {
  ExpectInSchema<Report>("Report", kReportTable);
  ExpectInSchema<Report>("Cpu", kCpuTable);
  ExpectInSchema<Module>();
  ExpectInSchema<Sample>();
  ExpectInSchema<Thread>();
  ExpectInSchema<Wait>();
  ExpectInSchema<policies::Verdict>();
  ExpectInSchema<policies::DiscountedTime>();
  ExpectInSchema<PastDispatch>();
  ExpectInSchema<Fact>();
  ExpectInSchema<Symbol>();
  ExpectInSchema<HangEnd>("HangEnd", kHangEndTable);
  ExpectInSchema<RunEnd>("RunEnd", kRunEndTable);
  ExpectInSchema<FrameSlice>("FrameSlice", kFrameSliceTable);
  ExpectInSchema<Usage>("Usage", kUsageTable);
  ExpectInSchema<LoopUsage>();
  ExpectInSchema<SlowTag>();
  ExpectInSchema<ValueUsage>();
  ExpectInSchema<Suppressed>();
  ExpectInSchema<Losses>("Losses", kLossesTable);
  ExpectInSchema<Loss>();
  ExpectInSchema<TraceRecord>("TraceRecord", kTraceRecordTable);
}

TEST(Schema, EveryCompletenessHasItsName) {
  const char* names[] = {"COMPLETE", "CUT", "INCOMPLETE", "NONE"};
  for (int32_t value = 0; value < 4; ++value) {
    char bytes[256];
    FixedBuffer buffer(bytes, sizeof bytes);
    ReportEncoder encoder(&buffer);
    encoder.AddStack({}, static_cast<Completeness>(value));
    std::string batch;
    AppendToBatch({RecordType::kReport, buffer.content()}, &batch);
    // proto3 does not print the default, COMPLETE.
    std::string shown = value == 0 ? "stacks {\n  }" : std::string("completeness: ") + names[value] + "\n";
    EXPECT_THAT(DecodedByProtoc(batch), ::testing::HasSubstr(shown));
  }
}

// protoc's text of a report that `add` adds to.
template <typename Add>
std::string Shown(Add add) {
  char bytes[256];
  FixedBuffer buffer(bytes, sizeof bytes);
  ReportEncoder encoder(&buffer);
  add(&encoder);
  std::string batch;
  AppendToBatch({RecordType::kReport, buffer.content()}, &batch);
  return DecodedByProtoc(batch);
}

TEST(Schema, EveryKindOfWaitHasItsName) {
  const char* kinds[] = {nullptr,       "MUTEX",     "RWLOCK",           "THREAD",     "CONDITION",
                         "SEMAPHORE",   "BARRIER",   "INTERPRETER_LOCK", "SAFEPOINT",  "CLASS",
                         "COMPILATION", "PIPE_END",  "UNIX_SOCKET",      "CONNECTION", "DISPLAY_SOCKET",
                         "CHILD",       "FILE_LOCK", "BUS_CALL"};
  for (int32_t value = 1; value < 18; ++value) {
    auto add = [&](ReportEncoder* encoder) {
      encoder->AddWait({.lock = {.kind = static_cast<LockKind>(value)}});
    };
    EXPECT_THAT(Shown(add), ::testing::HasSubstr(std::string("    kind: ") + kinds[value] + "\n"));
  }
  const char* targets[] = {nullptr, "OWNER", "READERS", "SIGNAL"};
  for (int32_t value = 1; value < 4; ++value) {
    auto add = [&](ReportEncoder* encoder) {
      encoder->AddWait({.lock = {.waits_for = static_cast<WaitsFor>(value)}});
    };
    EXPECT_THAT(Shown(add), ::testing::HasSubstr(std::string("    waits_for: ") + targets[value] + "\n"));
  }
  const char* outcomes[] = {nullptr, "LOCK", "DEADLOCK"};
  for (int32_t value = 1; value < 3; ++value) {
    auto add = [&](ReportEncoder* encoder) { encoder->SetWaitOutcome(static_cast<WaitOutcome>(value)); };
    EXPECT_THAT(Shown(add), ::testing::HasSubstr(std::string("  wait_outcome: ") + outcomes[value] + "\n"));
  }
}

TEST(Schema, EveryExitReasonHasItsName) {
  const char* names[] = {
      nullptr,       "EXIT_CLEAN", "EXIT_KILLED_IN_HANG", "EXIT_OOM_KILL",      "EXIT_UPDATE",
      "EXIT_REBOOT", "EXIT_CRASH", "EXIT_STOPPED",        "EXIT_CRASH_IN_HANG", "EXIT_HANG_IN_CRASH"};
  for (int32_t value = 1; value <= policies::kLastExitReason; ++value) {
    std::string batch;
    AppendToBatch({RecordType::kRunEnd, EncodeRunEnd({.reason = static_cast<policies::ExitReason>(value)})},
                  &batch);
    EXPECT_THAT(DecodedByProtoc(batch),
                ::testing::HasSubstr(std::string("  reason: ") + names[value] + "\n"));
  }
}

TEST(Schema, EverySuppressedReasonHasItsName) {
  const char* names[] = {nullptr,       "UNCHANGED_STACK", "REPORT_LIMIT", "DEBUGGER",
                         "WAS_STOPPED", "WAS_SUSPENDED",   "ENDED_FIRST",  "TOO_LARGE",
                         "NOT_WRITTEN", "LOOP_REFUSED",    "NOTE_LOST",    "UNPROVEN"};
  for (size_t value = 1; value < policies::kSuppressedReasons; ++value) {
    std::string batch;
    auto reason = static_cast<policies::SuppressedReason>(value);
    std::string usage = lagwatch::testing::EncodeUsage({.suppressed = {{reason, 1}}});
    AppendToBatch({RecordType::kUsage, usage}, &batch);
    EXPECT_THAT(DecodedByProtoc(batch),
                ::testing::HasSubstr(std::string("    reason: ") + names[value] + "\n"));
  }
}

}  // namespace
}  // namespace lagwatch::report

// SPDX-License-Identifier: Apache-2.0
// The fields of a report's parts: the one place with their numbers, names and meanings. From here come the
// encoder, the decoder, lagwatch.proto, the columns of packed batches, the JSON of a report and its schema in
// openapi.json. After a change run `lagwatch-schema --write .`. Numbers are persisted: do not renumber, do
// not use one again.
//
// A table is called as table(part, visit): it calls visit(field, member) for the fields of `part`, in the
// order in which they are written, until a call returns true, and returns whether one did. Members whose form
// on the wire differs are wrapped. Context: watchdog for parts that the watchdog writes; pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "policies/time_discount.h"
#include "policies/verdict.h"
#include "report/format/fields.h"
#include "report/format/losses.h"
#include "report/format/report.h"
#include "report/format/trace_record.h"

namespace lagwatch::report {

// In JSON the field is written by other code, or is not there.
inline constexpr std::string_view kByHand = "-";

struct Field {
  constexpr Field(pbf_tag_type field_number, std::string_view field_name = {},
                  std::string_view field_help = {},
                  std::string_view json_name = {})  // NOLINT: internal messages have numbers alone
      : number(field_number), name(field_name), help(field_help), json(json_name) {}

  pbf_tag_type number;
  std::string_view name;  // in lagwatch.proto; `x_ns` is `x_ms` in JSON
  std::string_view help;  // goes on after the name
  // Its name in JSON where that is another one; with a dot, that in an object; with a ? at its end, it is
  // left out where it is 0 or empty.
  std::string_view json;
};

// On the wire, `number` is larger by one: 0 stands for kNoStack, kNoModule or -1.
template <typename Number>
struct PlusOne {
  Number& number;
};
template <typename Number>
PlusOne(Number&) -> PlusOne<Number>;

// Written even when it is zero: protozero drops a nested message that stays empty.
template <typename Number>
struct Always {
  Number& number;
};
template <typename Number>
Always(Number&) -> Always<Number>;

// On the wire, 8 bytes of fixed size.
template <typename Number>
struct Fixed {
  Number& number;
};
template <typename Number>
Fixed(Number&) -> Fixed<Number>;

// May be negative.
template <typename Number>
struct Signed {
  Number& number;
};
template <typename Number>
Signed(Number&) -> Signed<Number>;

// Bytes that are no text.
template <typename Text>
struct Bytes {
  Text& text;
};
template <typename Text>
Bytes(Text&) -> Bytes<Text>;

// On the wire, a message; in C++, members of the part itself.
template <typename Part, typename Table>
struct Within {
  std::string_view message;
  Part& part;
  const Table& table;
};
template <typename Part, typename Table>
Within(std::string_view, Part&, const Table&) -> Within<Part, Table>;

// clang-format off

inline constexpr auto kHeaderTable = [](auto& part, auto visit) {
  return visit(Field{1, "id", "UUIDv7, 16 bytes"}, part.id) ||
         visit(Field{2, "session_id", "UUIDv7 of the monitor's start"}, part.session_id) ||
         visit(Field{3, "hang_id", "id of the hang's first report"}, part.hang_id) ||
         visit(Field{4, "ordinal", "0 for the hang's first report"}, part.ordinal) ||
         visit(Field{5, "app"}, part.app) ||
         visit(Field{6, "app_version", "", "version"}, part.app_version) ||
         visit(Field{7, "user"}, part.user) ||
         visit(Field{8, "os", "\"Linux 6.1.0-18-amd64\""}, part.os) ||
         visit(Field{9, "machine", "\"x86_64\""}, part.machine) ||
         visit(Field{10, "pid"}, part.pid) ||
         visit(Field{11, "tid", "the watched thread"}, part.tid) ||
         visit(Field{12, "loop"}, part.loop) ||
         visit(Field{13, "tag"}, part.tag) ||
         visit(Field{14, "kind"}, part.kind) ||
         visit(Field{28, "level"}, part.level) ||
         visit(Field{15, "threshold_ms"}, part.threshold_ms) ||
         visit(Field{16, "start_wall_ms"}, part.start_wall_ms) ||
         visit(Field{17, "elapsed_ns", "age of the dispatch when this report was made; 0 for kinds cpu and cpu-average"},
               part.elapsed_ns) ||
         visit(Field{35, "distribution", "\"Debian GNU/Linux 12 (bookworm)\", as os-release(5) names it; empty "
                     "without that file"}, part.distribution);
};

inline constexpr auto kCpuTable = [](auto& part, auto visit) {
  return visit(Field{1, "window_ns"}, part.cpu_window_ns) ||
         visit(Field{2, "thread_ns"}, part.cpu_thread_ns) ||
         visit(Field{3, "process_ns"}, part.cpu_process_ns);
};

inline constexpr auto kModuleTable = [](auto& part, auto visit) {
  return visit(Field{1, "path", "\"[jit]\" for code made at run time: its offsets are addresses, and mean nothing "
                     "later. \"[java]\", \"[python]\" and the like for scripts and managed code: a frame's "
                     "function_offset is a number made of the function's name and file, the same in every run, and "
                     "its offset that number plus the line in the file (plus 0: not known)"}, part.path) ||
         visit(Field{2, "build_id"}, Bytes{part.build_id}) ||
         visit(Field{3, "load_bias", "address = load_bias + offset"}, part.load_bias);
};

inline constexpr auto kSampleTable = [](auto& part, auto visit) {
  return visit(Field{1, "age_ns", "before the report was made"}, Always{part.age_ns}) ||
         visit(Field{2, "stack", "index into stacks", kByHand}, Always{part.stack}) ||
         visit(Field{3, "used_cpu_ns", "the watched thread's activity since the sample before; of cpu-average "
                     "the use of all threads there", "cpu_ms"}, part.use.cpu_ns) ||
         visit(Field{4, "used_minor_faults", "", "minor_faults"}, part.use.minor_faults) ||
         visit(Field{5, "used_major_faults", "", "major_faults"}, part.use.major_faults) ||
         visit(Field{6, "used_voluntary_switches", "", "voluntary_switches"}, part.use.voluntary_switches) ||
         visit(Field{7, "used_involuntary_switches", "", "involuntary_switches"}, part.use.involuntary_switches) ||
         visit(Field{8, "wall_ns", "of the kind slow, where a sample stands for the function at the innermost frame, "
                     "called by the others: how long the dispatch was in that function itself"}, part.wall_ns) ||
         visit(Field{9, "calls", "of the kind slow: of that function, all in all; 0 when they were not recorded"},
               part.calls);
};

inline constexpr auto kThreadTable = [](auto& part, auto visit) {
  return visit(Field{1, "tid"}, part.tid) ||
         visit(Field{2, "name"}, part.name) ||
         visit(Field{3, "state", "the kernel's letter: R S D T …"}, part.state) ||
         visit(Field{4, "stack", "index into stacks", kByHand}, PlusOne{part.stack}) ||
         visit(Field{5, "cpu_ns", "since the thread started"}, part.cpu_ns) ||
         visit(Field{6, "wait_channel", "the kernel's function that it sleeps in, if no stack was available or the "
                     "state is D"}, part.wait_channel) ||
         visit(Field{7, "syscall", "number of the system call that it sleeps in; none if it is not known"},
               PlusOne{part.syscall_number});
};

inline constexpr auto kWaitTable = [](auto& part, auto visit) {
  return visit(Field{1, "tid", "", kByHand}, part.tid) ||
         visit(Field{2, "stack", "where it waits: index into stacks",
                     kByHand}, PlusOne{part.stack}) ||
         visit(Field{3, "lock", "address of the lock", kByHand}, part.lock.address) ||
         visit(Field{4, "kind", "", kByHand}, part.lock.kind) ||
         visit(Field{5, "waits_for", "", kByHand}, part.lock.waits_for) ||
         visit(Field{6, "has_timeout", "", kByHand}, part.lock.has_timeout) ||
         visit(Field{7, "owner_tid", "this and the following only where waits_for is OWNER",
                     kByHand}, part.lock.owner_tid) ||
         visit(Field{8, "owner_name", "", kByHand}, part.owner_name) ||
         visit(Field{9, "owner_stack", "what it was doing: index into stacks",
                     kByHand}, PlusOne{part.owner_stack}) ||
         visit(Field{10, "pid", "of the waiting thread, where it is not one of the report's process: "
                     "docs/design/peers.md", kByHand}, part.pid) ||
         visit(Field{11, "owner_pid", "of the owner, likewise", kByHand}, part.owner_pid) ||
         visit(Field{12, "owner_process", "the name of that process; may be empty", kByHand}, part.owner_process) ||
         visit(Field{13, "owner_state", "the kernel's letter, of an owner in another process",
                     kByHand}, part.owner_state) ||
         visit(Field{14, "is_owner_idle", "it waits for what the waiting thread should send, and has not answered",
                     kByHand}, part.is_owner_idle) ||
         visit(Field{15, "owner_session_id", "of that process's own reports, if it is watched: 16 bytes",
                     kByHand}, part.owner_session_id) ||
         visit(Field{16, "owner_nice", "of an owner in another process, -20 to 19: with more than 0 it leaves the "
                     "processors to others", "owner.nice?"}, Signed{part.owner_nice}) ||
         visit(Field{17, "owner_age_ns", "of an owner in another process: the time since that process started, if "
                     "known", "owner.age_ms?"}, part.owner_age_ns);
};

inline constexpr auto kVerdictTable = [](auto& part, auto visit) {
  auto& use = part.use;
  if (visit(Field{1, "word"}, part.word) || visit(Field{2, "wall_ns"}, part.shares.wall_ns)) return true;
  for (const policies::TimeShare& share : policies::kTimeShares)
    if (visit(Field{share.field, share.name}, part.shares.*share.ns)) return true;
  return visit(Field{17, "cpu_ns", "of the thread, in wall_ns", "use.cpu_ms"}, use.cpu_ns) ||
         visit(Field{13, "minor_faults", "of the thread, in wall_ns", "use.minor_faults"}, use.minor_faults) ||
         visit(Field{14, "major_faults", "", "use.major_faults"}, use.major_faults) ||
         visit(Field{15, "voluntary_switches", "", "use.voluntary_switches"}, use.voluntary_switches) ||
         visit(Field{16, "involuntary_switches", "", "use.involuntary_switches"}, use.involuntary_switches);
};

inline constexpr auto kDiscountTable = [](auto& part, auto visit) {
  return visit(Field{1, "suspended_ns"}, part.suspended_ns) ||
         visit(Field{2, "stopped_ns"}, part.stopped_ns) ||
         visit(Field{3, "late_ns"}, part.late_ns) ||
         visit(Field{4, "debugger_pid"}, part.debugger_pid);
};

inline constexpr auto kPastDispatchTable = [](auto& part, auto visit) {
  return visit(Field{1, "tag"}, part.tag) ||
         visit(Field{2, "age_ns", "of its end, before the report was made"}, part.age_ns) ||
         visit(Field{3, "wall_ns"}, part.wall_ns) ||
         visit(Field{4, "cpu_ns", "0 when not known"}, part.cpu_ns) ||
         visit(Field{5, "queue_wait_ns", "0 when not known"}, part.queue_wait_ns);
};

inline constexpr auto kFactTable = [](auto& part, auto visit) {
  return visit(Field{1, "name"}, part.name) ||
         visit(Field{2, "number"}, Signed{part.number}) ||
         visit(Field{3, "text"}, part.text);
};

inline constexpr auto kSymbolTable = [](auto& part, auto visit) {
  return visit(Field{1, "module", "index into modules"}, PlusOne{part.module}) ||
         visit(Field{2, "function_offset", "as in Stack; where that is 0, the frame's own offset"},
               part.function_offset) ||
         visit(Field{3, "name", "as in the symbol table, mangled; of a script's function \"NAME (FILE)\""}, part.name);
};

inline constexpr auto kFrameSliceTable = [](auto& part, auto visit) {
  return visit(Field{1, "id", "UUIDv7"}, part.id) ||
         visit(Field{2, "session_id"}, part.session_id) ||
         visit(Field{3, "app"}, part.app) ||
         visit(Field{4, "app_version"}, part.app_version) ||
         visit(Field{5, "user"}, part.user) ||
         visit(Field{6, "loop"}, part.loop) ||
         visit(Field{7, "scene"}, part.scene) ||
         visit(Field{8, "begin_wall_ms"}, part.begin_wall_ms) ||
         visit(Field{9, "duration_ns", "from the first to the last time that the watchdog saw new frames; 0 when it "
                     "did once"}, part.duration_ns) ||
         visit(Field{10, "refresh_interval_ns"}, part.refresh_interval_ns) ||
         visit(Field{11, "frame_count"}, part.frames.frames) ||
         visit(Field{12, "dropped", "refreshes that the frames came late, together"}, part.frames.dropped) ||
         visit(Field{13, "frames_by_level", "best, normal, middle, high, frozen"}, part.frames.by_level) ||
         visit(Field{14, "ns_by_stage", "other, input, animation, layout, draw, submit"}, part.frames.by_stage_ns) ||
         visit(Field{15, "sample_rate_ppm", "as in Report"}, part.sample_rate_ppm);
};

inline constexpr auto kUsageHeaderTable = [](auto& part, auto visit) {
  return visit(Field{1, "id", "UUIDv7"}, part.id) ||
         visit(Field{2, "session_id"}, part.session_id) ||
         visit(Field{3, "app"}, part.app) ||
         visit(Field{4, "app_version"}, part.app_version) ||
         visit(Field{5, "user"}, part.user) ||
         visit(Field{6, "begin_wall_ms"}, part.begin_wall_ms) ||
         visit(Field{7, "end_wall_ms"}, part.end_wall_ms) ||
         visit(Field{11, "sample_rate_ppm", "as in Report"}, part.sample_rate_ppm);
};

inline constexpr auto kLoopUsageTable = [](auto& part, auto visit) {
  auto& usage = part.usage;
  return visit(Field{1, "loop"}, part.loop) ||
         visit(Field{2, "watched_ns", "the loop was there, and the process was neither stopped nor suspended"},
               usage.watched_ns) ||
         visit(Field{3, "dispatches", "that have ended"}, usage.dispatches) ||
         visit(Field{4, "untimed_dispatches", "of them, those of which only the number is known"},
               usage.untimed_dispatches) ||
         visit(Field{5, "hangs", "dispatches and busy stretches that were found over the threshold"}, usage.hangs) ||
         visit(Field{6, "hang_ns", "their whole durations"}, usage.hang_ns) ||
         visit(Field{7, "durations", "timed dispatches by duration: up to 1 ms, up to 2, 4, 8 … ms; the 16th is all "
                     "from 2^14 ms on"}, usage.durations) ||
         visit(Field{8, "background_watched_ns", "of watched_ns, hangs and hang_ns, the part in which the application "
                     "was in the background"}, usage.background.watched_ns) ||
         visit(Field{9, "background_hangs"}, usage.background.hangs) ||
         visit(Field{10, "background_hang_ns"}, usage.background.hang_ns);
};

inline constexpr auto kSlowTagTable = [](auto& part, auto visit) {
  auto& dispatches = part.dispatches;
  return visit(Field{1, "loop"}, part.loop) ||
         visit(Field{2, "tag"}, part.tag) ||
         visit(Field{3, "count"}, dispatches.count) ||
         visit(Field{4, "total_ns"}, dispatches.total_ns) ||
         visit(Field{5, "longest_ns"}, dispatches.longest_ns) ||
         visit(Field{6, "durations", "as in LoopUsage"}, dispatches.durations);
};

inline constexpr auto kValueUsageTable = [](auto& part, auto visit) {
  auto& usage = part.usage;
  return visit(Field{1, "key"}, part.key) ||
         visit(Field{2, "value", "empty: none was set; (others): of all that had no place"}, part.value) ||
         visit(Field{3, "watched_ns", "of all loops, as the next"}, usage.watched_ns) ||
         visit(Field{4, "hangs", "that were found while it was set"}, usage.hangs) ||
         visit(Field{5, "hang_ns"}, usage.hang_ns);
};

inline constexpr auto kSuppressedTable = [](auto& part, auto visit) {
  return visit(Field{1, "reason"}, part.reason) ||
         visit(Field{2, "count"}, part.count);
};

inline constexpr auto kHangEndTable = [](auto& part, auto visit) {
  return visit(Field{1, "report_id"}, part.report_id) ||
         visit(Field{2, "duration_ns"}, part.duration_ns) ||
         visit(Field{3, "is_blamed", "of its hang's reports, this one blames what took most of the time"},
               part.is_blamed);
};

inline constexpr auto kRunEndTable = [](auto& part, auto visit) {
  return visit(Field{1, "session_id", "of the run that ended, not of the one that reports it"}, part.session_id) ||
         visit(Field{2, "reason"}, part.reason) ||
         visit(Field{3, "signal", "of a crash"}, part.signal) ||
         visit(Field{4, "report_id", "the first report of the hang that it was in; empty when in none"},
               part.report_id) ||
         visit(Field{5, "hang_ns", "how long that hang had lasted when it was last seen: a lower bound"},
               part.hang_ns) ||
         visit(Field{6, "loop", "whose hang it was"}, part.loop) ||
         visit(Field{7, "run_start_wall_ms"}, part.run_start_wall_ms) ||
         visit(Field{8, "last_seen_wall_ms"}, part.last_seen_wall_ms) ||
         visit(Field{9, "scene", "what the program last said it was at"}, part.scene) ||
         visit(Field{10, "app"}, part.app) ||
         visit(Field{11, "app_version"}, part.app_version) ||
         visit(Field{12, "user"}, part.user) ||
         visit(Field{13, "sample_rate_ppm", "as in Report"}, part.sample_rate_ppm);
};

inline constexpr auto kTraceRecordTable = [](auto& part, auto visit) {
  return visit(Field{1, "id", "UUIDv7"}, part.id) ||
         visit(Field{2, "session_id"}, part.session_id) ||
         visit(Field{3, "report_id", "of the report it belongs to; empty when it was asked for otherwise"},
               part.report_id) ||
         visit(Field{4, "hang_id", "of the hang that report is of; empty likewise"}, part.hang_id) ||
         visit(Field{5, "app"}, part.app) ||
         visit(Field{6, "app_version"}, part.app_version) ||
         visit(Field{7, "user"}, part.user) ||
         visit(Field{8, "begin_wall_ms", "of the window"}, part.begin_wall_ms) ||
         visit(Field{9, "duration_ns"}, part.duration_ns) ||
         visit(Field{10, "reason", "`lag`, `anr`, `slow`, `cpu`, `frames`, `request`, `api`, `signal` or `probe`"},
               part.reason) ||
         visit(Field{11, "trace", "trace.proto's Trace, gzipped; of the reason `probe` a probe's result, see probes.md"}, Bytes{part.trace}) ||
         visit(Field{12, "sample_rate_ppm", "as in Report"}, part.sample_rate_ppm) ||
         visit(Field{13, "cause", "likewise; 0 when it belongs to no report"}, Fixed{part.cause});
};


inline constexpr auto kLossTable = [](auto& part, auto visit) {
  return visit(Field{1, "reason"}, Always{part.reason}) ||
         visit(Field{2, "cause", "as in Report; 0 when not known"}, Fixed{part.cause}) ||
         visit(Field{3, "count"}, Always{part.count}) ||
         visit(Field{4, "sample_rate_ppm", "as in Report"}, part.sample_rate_ppm);
};

// clang-format on
// The message that holds a part: its name in lagwatch.proto, and its table.
template <typename Part>
struct MessageOf;
template <const auto& kFields>
struct WithFields {
  static constexpr const auto& kTable = kFields;
};
template <>
struct MessageOf<Module> : WithFields<kModuleTable> {
  static constexpr std::string_view kName = "Module";
};
template <>
struct MessageOf<Sample> : WithFields<kSampleTable> {
  static constexpr std::string_view kName = "Sample";
};
template <>
struct MessageOf<Thread> : WithFields<kThreadTable> {
  static constexpr std::string_view kName = "Thread";
};
template <>
struct MessageOf<Wait> : WithFields<kWaitTable> {
  static constexpr std::string_view kName = "Wait";
};
template <>
struct MessageOf<policies::Verdict> : WithFields<kVerdictTable> {
  static constexpr std::string_view kName = "Verdict";
};
template <>
struct MessageOf<policies::DiscountedTime> : WithFields<kDiscountTable> {
  static constexpr std::string_view kName = "Guard";
};
template <>
struct MessageOf<PastDispatch> : WithFields<kPastDispatchTable> {
  static constexpr std::string_view kName = "PastDispatch";
};
template <>
struct MessageOf<Fact> : WithFields<kFactTable> {
  static constexpr std::string_view kName = "Fact";
};
template <>
struct MessageOf<Symbol> : WithFields<kSymbolTable> {
  static constexpr std::string_view kName = "Symbol";
};
template <>
struct MessageOf<LoopUsage> : WithFields<kLoopUsageTable> {
  static constexpr std::string_view kName = "LoopUsage";
};
template <>
struct MessageOf<SlowTag> : WithFields<kSlowTagTable> {
  static constexpr std::string_view kName = "SlowTag";
};
template <>
struct MessageOf<ValueUsage> : WithFields<kValueUsageTable> {
  static constexpr std::string_view kName = "ValueUsage";
};
template <>
struct MessageOf<Suppressed> : WithFields<kSuppressedTable> {
  static constexpr std::string_view kName = "Suppressed";
};
template <>
struct MessageOf<Loss> : WithFields<kLossTable> {
  static constexpr std::string_view kName = "Loss";
};
// Its frames are parallel lists, which have code of their own.
template <>
struct MessageOf<Stack> {
  static constexpr std::string_view kName = "Stack";
};
template <typename Part>
concept HasFields = requires {
  MessageOf<Part>::kTable;
};

// clang-format off

// Those fields of a report that say where it hung, with its header.
inline constexpr auto kReportStacksTable = [](auto& part, auto visit) {
  return kHeaderTable(part, visit) ||
         visit(Field{Number(ReportField::kModules), "modules", "", kByHand}, part.modules) ||
         visit(Field{Number(ReportField::kStacks), "stacks", "each distinct stack once", kByHand}, part.stacks) ||
         visit(Field{Number(ReportField::kExpensiveStack), "expensive_stack", "index into stacks",
                     kByHand}, Always{part.expensive_stack}) ||
         visit(Field{Number(ReportField::kSymbols), "symbols", "of functions in scripts and managed code, and in "
                     "modules whose file is gone or elsewhere; all others are appended before the upload", kByHand}, part.symbols) ||
         visit(Field{Number(ReportField::kCause), "cause", "see docs/report_format.md; 0 when there is no stack. "
                     "Added before the upload", kByHand}, Fixed{part.cause});
};

// All fields of a report. A client writes its parts one by one (report_encoder.h).
inline constexpr auto kReportTable = [](auto& part, auto visit) {
  return kReportStacksTable(part, visit) ||
         visit(Field{Number(ReportField::kCpu), "cpu", "", kByHand}, Within{"Cpu", part, kCpuTable}) ||
         visit(Field{Number(ReportField::kSamples), "samples", "the ring, oldest first; of cpu-average the "
                     "heaviest stack first", kByHand}, part.samples) ||
         visit(Field{Number(ReportField::kThreads), "threads", "", kByHand}, part.threads) ||
         visit(Field{Number(ReportField::kThreadsDropped), "threads_dropped", "threads that did not fit"},
               part.threads_dropped) ||
         visit(Field{Number(ReportField::kWaits), "waits", "the wait chain, from the watched thread on",
                     kByHand}, part.waits) ||
         visit(Field{Number(ReportField::kWaitOutcome), "wait_outcome", "", kByHand}, part.wait_outcome) ||
         visit(Field{Number(ReportField::kVerdict), "verdict"}, part.verdict) ||
         visit(Field{Number(ReportField::kDiscount), "guard"}, part.discounted) ||
         visit(Field{Number(ReportField::kHistory), "history", "what the loop did just before, oldest first"},
               part.history) ||
         visit(Field{Number(ReportField::kFacts), "facts", "", kByHand}, part.facts) ||
         visit(Field{33, "sample_rate_ppm", "of users whose reports of that day are sent, this one's among them; 0: "
                     "all are. Added before the upload", kByHand}, part.sample_rate_ppm);
};

inline constexpr auto kUsageTable = [](auto& part, auto visit) {
  return kUsageHeaderTable(part, visit) ||
         visit(Field{Number(UsageField::kLoops), "loops"}, part.loops) ||
         visit(Field{Number(UsageField::kSlow), "slow"}, part.slow) ||
         visit(Field{Number(UsageField::kSuppressed), "suppressed"}, part.suppressed) ||
         visit(Field{Number(UsageField::kValues), "values"}, part.values);
};

inline constexpr auto kLossesTable = [](auto& part, auto visit) {
  return visit(Field{1, "id", "UUIDv7"}, part.id) ||
         visit(Field{2, "app"}, part.app) ||
         visit(Field{3, "app_version"}, part.app_version) ||
         visit(Field{4, "user"}, part.user) ||
         visit(Field{5, "begin_wall_ms", "when the first and the last of them were given up"}, part.begin_wall_ms) ||
         visit(Field{6, "end_wall_ms"}, part.end_wall_ms) ||
         visit(Field{7, "losses"}, part.losses);
};

// clang-format on

}  // namespace lagwatch::report

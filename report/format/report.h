// SPDX-License-Identifier: Apache-2.0
// A report as background code handles it, and how it is read back from bytes. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "policies/exit_reason.h"
#include "policies/time_discount.h"
#include "policies/usage.h"
#include "policies/verdict.h"
#include "report/format/fields.h"
#include "report/format/parts.h"
#include "report/format/record.h"

namespace lagwatch::report {

struct Module {
  std::string path;
  std::string build_id;  // raw bytes
  uint64_t load_bias = 0;
};

struct Stack {
  std::vector<Frame> frames;  // innermost first
  Completeness completeness = Completeness::kComplete;
  // So many frames are left out before frames[gap_at]; none when 0.
  uint32_t gap_at = 0;
  uint64_t gap_frames = 0;
};

struct Fact {
  std::string name;
  int64_t number = 0;
  std::string text;  // empty when it is a number
};

struct Symbol {
  uint32_t module = kNoModule;  // index into Report::modules
  uint64_t function_offset = 0;
  std::string name;
};

// Every index in a decoded report is within its array: DecodeReport refuses others.
struct Report : policies::HangHeader<std::string> {
  std::vector<Module> modules;
  std::vector<Stack> stacks;
  std::vector<Sample> samples;
  uint32_t expensive_stack = 0;
  std::vector<Thread> threads;
  std::vector<Symbol> symbols;
  uint32_t threads_dropped = 0;
  uint32_t own_threads = 0;  // of lagwatch, which are in no list
  std::vector<Wait> waits;
  WaitOutcome wait_outcome = WaitOutcome::kNone;
  policies::Verdict verdict;
  policies::DiscountedTime discounted;
  std::vector<PastDispatch> history;  // oldest first
  std::vector<Fact> facts;
  uint32_t sample_rate_ppm = 0;  // of users, as in Losses; 0: all
  uint64_t cause = 0;            // 0 when not known
};

struct HangEnd {
  base::Uuid report_id;
  int64_t duration_ns = 0;
  bool is_blamed = false;
};

// The end of an earlier run of the program.
struct RunEnd {
  base::Uuid session_id = {};
  policies::ExitReason reason = policies::ExitReason::kUnknown;
  int32_t signal = 0;
  base::Uuid report_id = {};  // the first report of the hang that the run was in; zero when in none
  uint64_t hang_ns = 0;       // age of that hang when it was last seen
  std::string loop = {};      // the loop that hung
  uint64_t run_start_wall_ms = 0;
  uint64_t last_seen_wall_ms = 0;
  std::string scene = {};
  std::string app = {};
  std::string app_version = {};
  std::string user = {};
  uint32_t sample_rate_ppm = 0;
};

// The usage of a run's loops in a period; lagwatch.proto describes the numbers.
struct LoopUsage {
  std::string loop;
  policies::LoopUsage usage;
};
struct SlowTag {
  std::string loop;
  std::string tag;
  policies::SlowDispatches dispatches;
};
// The part of the use in which one of the program's own values was set.
struct ValueUsage {
  std::string key;
  std::string value;
  policies::UsagePart usage;
};
struct Suppressed {
  policies::SuppressedReason reason = policies::SuppressedReason::kUnknown;
  uint64_t count = 0;
};
struct Usage {
  base::Uuid id = {};
  base::Uuid session_id = {};
  std::string app = {};
  std::string app_version = {};
  std::string user = {};
  uint64_t begin_wall_ms = 0;
  uint64_t end_wall_ms = 0;
  std::vector<LoopUsage> loops = {};
  std::vector<SlowTag> slow = {};
  std::vector<Suppressed> suppressed = {};
  uint32_t sample_rate_ppm = 0;
  std::vector<ValueUsage> values = {};
};

// Errors: kInvalid, with what is wrong in words. Unknown fields are skipped, so newer clients are welcome.
base::Result<Report> DecodeReport(std::string_view bytes);
// The header, the stacks with their modules and symbols, and the cause: a part of the work, for readers that
// need no more. The other lists are empty.
base::Result<Report> DecodeReportStacks(std::string_view bytes);
base::Result<HangEnd> DecodeHangEnd(std::string_view bytes);
// A reason that is not known here is read as kUnknown.
base::Result<RunEnd> DecodeRunEnd(std::string_view bytes);
// Levels and stages that are not known here are left out.
base::Result<FrameSlice> DecodeFrameSlice(std::string_view bytes);
// No number of it is negative; a reason that is not known here is read as kUnknown.
base::Result<Usage> DecodeUsage(std::string_view bytes);
// Also those of types that are not known here.
base::Result<std::vector<Record>> SplitBatch(std::string_view bytes);

std::string EncodeRunEnd(const RunEnd& end);

// Adds a record to a batch under construction.
void AppendToBatch(const Record& record, std::string* batch);
// Adds a name to an encoded report: in Protocol Buffers, appended fields are part of the message.
void AppendSymbol(const Symbol& symbol, std::string* encoded_report);
// Likewise, a tag in the place of the one that it has.
void AppendTag(std::string_view tag, std::string* encoded_report);
// Gives the dispatches of the history other tags: those that `tag_of` returns, if any. The rest of the report
// stays as it is, also if it is damaged.
void ReplaceHistoryTags(const std::function<std::optional<std::string>(std::string_view tag)>& tag_of,
                        std::string* encoded_report);
// Likewise, what its cause is.
void AppendCause(uint64_t cause, std::string* encoded_report);
// Likewise, what share of users it stands for: to a report, run's end, frame slice, usage, trace or
// sealed record; others stay.
void AppendSampleRate(RecordType type, uint32_t sample_rate_ppm, std::string* encoded_record);

}  // namespace lagwatch::report

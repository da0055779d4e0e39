// SPDX-License-Identifier: Apache-2.0
#include "probe/verify/declarations.h"

#include <bit>
#include <set>
#include <string_view>

#include "probe/block.h"

namespace lagwatch::probe {
namespace {

std::string Number(uint64_t number) { return std::to_string(number); }

bool IsPowerOf2UpTo(uint32_t number, uint32_t most) { return std::has_single_bit(number) && number <= most; }

std::string CheckField(const Field& field, bool may_be_literal) {
  const std::string named = "the value \"" + field.name + "\"";
  if (field.name.size() > kMaxNameBytes) return "the name of a value is too long";
  if (field.shown == Shown::kLiteral && !may_be_literal)
    return named + " is a text of the script: it is no key";
  if (field.shown != Shown::kText && field.width != 0) return named + " is no text, but has a width";
  if (field.shown == Shown::kText && (field.width == 0 || field.width > kMaxTextBytes)) {
    return named + " is a text of " + Number(field.width) + " bytes; the most is " + Number(kMaxTextBytes);
  }
  return {};
}

std::string CheckKeys(const Aggregate& aggregate) {
  if (aggregate.keys.size() > kMaxKeys) return "a key has more than " + Number(kMaxKeys) + " parts";
  size_t words = 0;
  for (const Field& key : aggregate.keys) {
    if (std::string reason = CheckField(key, false); !reason.empty()) return reason;
    if (key.shown == Shown::kFloat) return "the key \"" + key.name + "\" is no whole number";
    words += WordsOf(key.shown, key.width);
  }
  if (8 * words > kMaxKeyBytes) {
    return "the key of " + aggregate.name + " has " + Number(8 * words) + " bytes; the most is " +
           Number(kMaxKeyBytes) + ": use shorter texts, as in str(path, 64)";
  }
  return {};
}

std::string CheckBuckets(const Aggregate& aggregate) {
  if (aggregate.kind != AggregateKind::kLinearHistogram) {
    return aggregate.buckets != 0 || aggregate.step != 0 || aggregate.lowest != 0
               ? aggregate.name + " is no linear histogram, but has buckets"
               : "";
  }
  if (aggregate.step < 1) return "the step of a histogram is at least 1";
  if (aggregate.buckets < 1 || aggregate.buckets > kMaxLinearBuckets) {
    return "a linear histogram has 1 to " + Number(kMaxLinearBuckets) + " buckets: use a larger step";
  }
  int64_t width = 0;
  int64_t end = 0;
  if (__builtin_mul_overflow(aggregate.step, int64_t{aggregate.buckets}, &width) ||
      __builtin_add_overflow(aggregate.lowest, width, &end)) {
    return "a histogram's end is beyond 2^63";
  }
  return {};
}

std::string CheckAggregate(const Aggregate& aggregate) {
  if (aggregate.name.empty() || aggregate.name.size() > kMaxNameBytes)
    return "an aggregate has no name, or a long one";
  if (std::string reason = CheckKeys(aggregate); !reason.empty()) return reason;
  if (std::string reason = CheckBuckets(aggregate); !reason.empty()) return reason;
  if (!IsPowerOf2UpTo(aggregate.cells, kMaxCells))
    return "the cells of an aggregate are a power of 2 up to " + Number(kMaxCells);
  if (!IsPowerOf2UpTo(aggregate.shards, kMaxShards))
    return "the shards of an aggregate are a power of 2 up to " + Number(kMaxShards);
  if (aggregate.keys.empty() && aggregate.cells != 1) return "an aggregate without a key has one cell";
  if (aggregate.shown >= Shown::kText || (CountsHits(aggregate.kind) && aggregate.shown == Shown::kFloat)) {
    return "the value of " + aggregate.name + " is no number";
  }
  return {};
}

std::string CheckPrint(const Print& print) {
  if (print.fields.empty() || print.fields.size() > kMaxFields)
    return "a record has 1 to " + Number(kMaxFields) + " values";
  size_t words = 0;
  for (const Field& field : print.fields) {
    if (std::string reason = CheckField(field, true); !reason.empty()) return reason;
    words += WordsOf(field.shown, field.width);
  }
  return 8 * words > kMaxRecordBytes
             ? "a record has " + Number(8 * words) + " bytes; the most is " + Number(kMaxRecordBytes)
             : "";
}

std::string CheckRequest(const Request& request) {
  if ((request.kind == RequestKind::kArm) == request.script.empty())
    return "arm names a script, and nothing else does";
  const bool lasts = request.kind != RequestKind::kDump;
  if (request.duration_ns > kMaxRequestNs || lasts == (request.duration_ns == 0)) {
    return "arm and trace last for up to an hour";
  }
  return {};
}

std::string CheckLimits(const Program& program) {
  const auto is_between = [](uint64_t number, uint64_t least, uint64_t most) {
    return number >= least && number <= most;
  };
  if (!is_between(program.budget.share_ppm, 1, kMaxBudgetPpm))
    return "the budget is at most 10 % of a thread's time";
  if (!is_between(program.budget.hits_per_second, 1, kMaxHitsPerSecond)) {
    return "the budget is at most " + Number(kMaxHitsPerSecond) + " hits a second";
  }
  if (!is_between(program.output_per_second, 1, kMaxOutputPerSecond)) {
    return "the output is at most " + Number(kMaxOutputPerSecond) + " records a second";
  }
  if (program.counters > kMaxCounters)
    return "there are more than " + Number(kMaxCounters) + " samples and limits";
  if (!IsPowerOf2UpTo(program.records, kMaxRecords))
    return "the records that wait are a power of 2 up to " + Number(kMaxRecords);
  if (!IsPowerOf2UpTo(program.stacks, kMaxStacks))
    return "the stacks are a power of 2 up to " + Number(kMaxStacks);
  if (program.level > 100) return "a level is at most 100";
  if (program.int_constants.size() > kMaxConstants || program.float_constants.size() > kMaxConstants ||
      program.texts.size() > kMaxTexts || program.aggregates.size() > kMaxAggregates ||
      program.prints.size() > kMaxPrints || program.requests.size() > kMaxRequests) {
    return "the script is too large: split it";
  }
  if (program.probes.empty() || program.probes.size() > kMaxProbes)
    return "a script has 1 to " + Number(kMaxProbes) + " probes";
  return {};
}

template <typename List, typename Check>
std::string CheckAll(const List& list, Check check) {
  for (const auto& member : list) {
    if (std::string reason = check(member); !reason.empty()) return reason;
  }
  return {};
}

std::string CheckInnerPlace(const Place& place, bool is_in_method) {
  constexpr Places kWithTarget = At(PlaceKind::kInnerCall) | At(PlaceKind::kCreation) | kWithField;
  if (is_in_method && !place.is_java) return "only methods of Java have such places";
  if ((At(place.kind) & kWithTarget) == 0 && !place.target.empty()) return "the place has no second name";
  if (place.target.find_first_of(" \n") != std::string::npos) return "the second name of a place has a blank";
  return place.kind != PlaceKind::kLine && place.line != 0 ? "only lines have numbers" : "";
}

}  // namespace

std::string CheckDeclarations(const Program& program) {
  if (std::string reason = CheckLimits(program); !reason.empty()) return reason;
  for (const std::string& text : program.texts) {
    if (text.size() > kMaxTextBytes || text.find('\0') != std::string::npos) return "a text is too long";
  }
  std::set<std::string_view> names;
  for (const Aggregate& aggregate : program.aggregates) {
    if (std::string reason = CheckAggregate(aggregate); !reason.empty()) return reason;
    if (!names.insert(aggregate.name).second) return "there are two aggregates \"" + aggregate.name + "\"";
  }
  if (std::string reason = CheckAll(program.prints, CheckPrint); !reason.empty()) return reason;
  if (std::string reason = CheckAll(program.requests, CheckRequest); !reason.empty()) return reason;
  const size_t bytes = BlockBytes(program);
  if (bytes > kMaxMemoryBytes) {
    return "the script needs " + Number(bytes >> 20) + " MiB of the program's memory; the most is " +
           Number(kMaxMemoryBytes >> 20) + ": use fewer keys";
  }
  return {};
}

std::string CheckPlace(const Place& place) {
  if (place.module.size() > kMaxNameBytes || place.name.size() > kMaxNameBytes ||
      place.source_file.size() > kMaxNameBytes || place.target.size() > kMaxNameBytes) {
    return "the name of a place is too long";
  }
  const Places at = At(place.kind);
  const bool is_in_method = (at & kInMethods) != 0;
  const bool is_function = (at & kInFunctions) != 0 || is_in_method;
  if ((is_function || place.kind == PlaceKind::kEvent) && place.name.empty()) return "the place has no name";
  if (!is_function && (!place.module.empty() || place.is_java)) return "only functions are of a module";
  if (place.is_java && (!place.module.empty() || place.kind == PlaceKind::kCall))
    return "a Java method has no module";
  if (std::string reason = CheckInnerPlace(place, is_in_method); !reason.empty()) return reason;
  if (!is_function && !place.source_file.empty()) return "only functions are of a source file";
  const size_t colon = place.name.find(':');
  if (place.kind == PlaceKind::kUsdt &&
      (colon == 0 || colon == std::string::npos || colon + 1 == place.name.size())) {
    return "a note is named PROVIDER:NAME";
  }
  if ((place.kind == PlaceKind::kTimer) != (place.period_ns != 0))
    return "a timer has a period, and nothing else has";
  if (place.kind == PlaceKind::kTimer && (place.period_ns < kMinTimerNs || place.period_ns > kMaxRequestNs)) {
    return "a timer's period is 10 ms to an hour";
  }
  return {};
}

}  // namespace lagwatch::probe

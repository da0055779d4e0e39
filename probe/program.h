// SPDX-License-Identifier: Apache-2.0
// A probe script in the form in which it is sent to the process that it asks: places, operations and
// declarations of what they fill, all as values. A program that was parsed may hold anything within the
// limits of probe/limits.h; the verifier (probe/verify/verifier.h) says whether it may run. Context:
// background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "probe/hit.h"
#include "probe/limits.h"
#include "probe/operation.h"

namespace lagwatch::probe {

inline constexpr uint16_t kProgramVersion = 2;

// A place in the script's text; both from 1, or 0 if unknown.
struct Position {
  uint16_t line = 0;
  uint16_t column = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

enum class PatternKind : uint8_t {
  kGlob,    // `*` and `?`; a plain name is one without them
  kRegex,   // on demangled names
  kQuoted,  // a demangled name, letter for letter
};

// The form in which a value is shown, which is also the form in which it is stored: 8 bytes, or for kText a
// length (2 bytes) and at most `width` bytes.
enum class Shown : uint8_t {
  kNumber,
  kUnsigned,
  kHex,
  kAddress,   // by the name of the function there
  kDuration,  // ns
  kTime,      // CLOCK_MONOTONIC, ns
  kFloat,
  kText,
  kStack,    // the number of a stack of the block, or 0
  kLiteral,  // of records only: the field's name itself; takes no register and is not stored
};

// A part of a key or a field of a record.
struct Field {
  std::string name;  // as in the script
  Shown shown = Shown::kNumber;
  uint16_t width = 0;  // the most bytes of a text; 0 for the others

  friend bool operator==(const Field&, const Field&) = default;
};

enum class AggregateKind : uint8_t { kCount, kSum, kMin, kMax, kAverage, kHistogram, kLinearHistogram };

constexpr bool IsHistogram(AggregateKind kind) { return kind >= AggregateKind::kHistogram; }
// Whether it counts hits: the values themselves are not kept.
constexpr bool CountsHits(AggregateKind kind) { return kind == AggregateKind::kCount || IsHistogram(kind); }

// A map from keys to numbers. Its memory is `shards` tables of `cells` keys; threads are spread over the
// shards, and the reader adds them up.
struct Aggregate {
  std::string name{};  // as in the script, or made of its text; unique
  AggregateKind kind = AggregateKind::kCount;
  std::vector<Field> keys{};     // none: one cell
  Shown shown = Shown::kNumber;  // of the value
  uint32_t cells = 1;            // a power of 2
  uint32_t shards = 1;           // a power of 2
  int64_t lowest = 0;            // kLinearHistogram: the first bucket's beginning,
  int64_t step = 0;              // the buckets' width, at least 1,
  uint32_t buckets = 0;          // and their number, without those below and above
  uint32_t top = 0;              // the rows that are shown; 0: all

  friend bool operator==(const Aggregate&, const Aggregate&) = default;
};

// A kind of record that the script prints.
struct Print {
  std::vector<Field> fields;

  friend bool operator==(const Print&, const Print&) = default;
};

enum class RequestKind : uint8_t { kDump, kTrace, kArm };

// Something that a background thread does once a probe has asked for it.
struct Request {
  RequestKind kind = RequestKind::kDump;
  std::string script;        // kArm: the name of a script
  uint64_t duration_ns = 0;  // kArm, kTrace

  friend bool operator==(const Request&, const Request&) = default;
};

struct Place {
  PlaceKind kind = PlaceKind::kEntry;
  bool is_java = false;  // `name` is CLASS::METHOD, kind one of functions
  PatternKind pattern = PatternKind::kGlob;
  std::string module{};       // a glob on the file's name; empty: any
  std::string name{};         // of functions, events, loops, types of exceptions, notes (PROVIDER:NAME)
  std::string source_file{};  // a glob; empty: any
  uint64_t period_ns = 0;     // kTimer
  std::string target{};       // a glob on what the method calls, makes, reads or sets; empty: any
  uint32_t line = 0;          // kLine; 0: each

  friend bool operator==(const Place&, const Place&) = default;
};

struct Probe {
  Place place;
  Position position;
  std::vector<Operation> operations;
  std::vector<Position> positions;  // of each operation

  friend bool operator==(const Probe&, const Probe&) = default;
};

struct Budget {
  uint32_t share_ppm = 10'000;        // of each thread's time: 1 %
  uint32_t hits_per_second = 10'000;  // of each thread

  friend bool operator==(const Budget&, const Budget&) = default;
};

struct Program {
  std::vector<int64_t> int_constants;
  std::vector<double> float_constants;
  std::vector<std::string> texts;
  std::vector<Aggregate> aggregates;
  std::vector<Print> prints;
  std::vector<Request> requests;
  std::vector<Probe> probes;
  Budget budget;
  uint32_t counters = 0;               // of samples and limits
  uint32_t records = 1'024;            // that wait for the reader; a power of 2
  uint32_t output_per_second = 1'000;  // records
  uint32_t stacks = 1'024;             // different ones; a power of 2
  uint32_t level = 0;                  // the level to begin with

  friend bool operator==(const Program&, const Program&) = default;
};

// The program as bytes without pointers, little-endian, behind a magic number and kProgramVersion.
std::string Serialize(const Program& program);

// The program that `bytes`, from a stranger, hold. Refuses other versions, what is longer or shorter than it
// says, names of enumerations that do not exist and counts above probe/limits.h: kInvalid, with the byte at
// which it fails.
Result<Program> ParseProgram(std::string_view bytes);

}  // namespace lagwatch::probe

// SPDX-License-Identifier: Apache-2.0
// The interface between what hits a probe (the native mechanism, the JVM's, the monitor) and its program: the
// state of the thread as values, and functions for what is too expensive to have ready. Context of all of it:
// signal or hot.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::probe {

// The kind of a place; probe/places.def says when each is hit.
enum class PlaceKind : uint8_t {
#define PROBE_PLACE(name, ...) k##name,
#include "probe/places.def"
};
inline constexpr size_t kPlaceKinds = 0
#define PROBE_PLACE(...) +1
#include "probe/places.def"
    ;

// The numbers of ReadArgument at methods of Java: six numbers, of objects the identity hash or what a box
// holds; their texts; `this` as a number, and as a text.
inline constexpr size_t kJavaNumbers = 6;
inline constexpr size_t kJavaThis = 2 * kJavaNumbers;
inline constexpr size_t kJavaThisText = kJavaThis + 1;
inline constexpr size_t kJavaArguments = kJavaThisText + 1;
// The numbers of ReadReturned there.
inline constexpr size_t kJavaReturnedNumber = 0;
inline constexpr size_t kJavaReturnedText = 1;

// A set of places.
using Places = uint32_t;
constexpr Places At(PlaceKind kind) { return Places{1} << static_cast<int>(kind); }

inline constexpr Places kEverywhere = (Places{1} << kPlaceKinds) - 1;
inline constexpr Places kInFunctions = At(PlaceKind::kEntry) | At(PlaceKind::kReturn) |
                                       At(PlaceKind::kError) | At(PlaceKind::kDuration) |
                                       At(PlaceKind::kCall);
// Inside of methods of Java.
inline constexpr Places kWithField = At(PlaceKind::kFieldRead) | At(PlaceKind::kFieldWrite);
inline constexpr Places kInMethods = At(PlaceKind::kInnerCall) | At(PlaceKind::kLine) |
                                     At(PlaceKind::kCreation) | At(PlaceKind::kMonitor) | kWithField;
inline constexpr Places kInCode = kInFunctions | At(PlaceKind::kThrow) | At(PlaceKind::kAlloc) |
                                  At(PlaceKind::kLock) | At(PlaceKind::kIo) | At(PlaceKind::kUsdt);
inline constexpr Places kWithArguments = kInFunctions | At(PlaceKind::kUsdt);
inline constexpr Places kWithReturned = At(PlaceKind::kReturn);
inline constexpr Places kWithDuration = At(PlaceKind::kReturn) | At(PlaceKind::kError) |
                                        At(PlaceKind::kDuration) | At(PlaceKind::kDispatch) |
                                        At(PlaceKind::kHang) | At(PlaceKind::kInnerCall);
inline constexpr Places kWithException = At(PlaceKind::kThrow) | At(PlaceKind::kError);
inline constexpr Places kWithBytes = At(PlaceKind::kAlloc) | At(PlaceKind::kIo);
inline constexpr Places kOfLoops = At(PlaceKind::kDispatch) | At(PlaceKind::kHang);

// A value that a hit has besides arguments and the returned value; probe/values.def lists them.
enum class HitValue : uint8_t {
#define PROBE_VALUE(name, ...) k##name,
#include "probe/values.def"
};
inline constexpr size_t kHitValues = 0
#define PROBE_VALUE(...) +1
#include "probe/values.def"
    ;

// The parts of a hit that a program reads: a mechanism leaves out what no bit asks for
// (VerifiedProbe::needs()).
enum HitNeeds : uint32_t {
  kNeedsIntArguments = 1 << 0,
  kNeedsFloatArguments = 1 << 1,
  kNeedsStackArguments = 1 << 2,
  kNeedsReturned = 1 << 3,  // returned_ints and returned_floats
  kNeedsDuration = 1 << 4,
  kNeedsCaller = 1 << 5,
  kNeedsStack = 1 << 6,    // HitServices::capture_stack
  kNeedsMemory = 1 << 7,   // HitServices::read
  kNeedsCpuTime = 1 << 8,  // HitServices::cpu_time_ns
  kNeedsDetails = 1 << 9,
  kNeedsFunction = 1 << 10,
};

// Values that only some kinds of places have, by the names of probe/values.def; the others are 0.
struct HitDetails {
  const char* thrown_type = nullptr;  // texts: readable by HitServices::read, at most kMaxTextBytes are read
  uint64_t thrown_object = 0;
  uint64_t bytes = 0;
  uint64_t address = 0;
  uint64_t waited_ns = 0;
  uint64_t held_ns = 0;
  int64_t descriptor = 0;
  const char* operation = nullptr;
  const char* loop = nullptr;
  const char* tag = nullptr;
  int64_t number = 0;
  int64_t status = 0;
  const char* target = nullptr;  // a text as above: kCallee, kObjectType, kField
  int64_t line = 0;
  int64_t field_value = 0;
};

struct HitServices;

// One hit of one probe. All pointers are the mechanism's, valid during the hit. A mechanism that needs more
// for its services derives from it.
struct Hit {
  const HitServices* services = nullptr;  // never null

  // The registers at the function's beginning, in the order of the System V ABI, also at its end: a mechanism
  // keeps them if the program needs them there. For USDT and Java the arguments in their order,
  // floating-point ones among `float_arguments` only. Null where there are none; then reading one ends the
  // hit.
  const uint64_t* int_arguments = nullptr;  // 6; usdt: 12; Java: kJavaArguments
  const double* float_arguments = nullptr;  // 8, the low 64 bits of each vector register
  uint64_t stack_arguments = 0;  // the address of the first argument on the stack, read by services->read

  uint64_t returned_ints[2] = {};  // rax, rdx; Java: see kJavaReturnedNumber
  double returned_floats[2] = {};  // xmm0, xmm1
  uint64_t now_ticks = 0;          // the tick counter at the hit, if the mechanism has read it; else 0
  uint64_t duration_ticks = 0;
  uint64_t caller = 0;    // the return address; Java: the method, by a number that the mechanism can name
  uint64_t function = 0;  // the address of the function's first instruction; usdt: of the note
  const HitDetails* details = nullptr;
  uint32_t tid = 0;
  PlaceKind kind = PlaceKind::kEntry;  // of a probe of kind kDuration: kReturn or kError
};

// Functions of the mechanism. They neither allocate nor lock nor fault, and keep errno. Each may be null if
// the program does not need it.
struct HitServices {
  // Copies `size` bytes (at most kMaxTextBytes) at `address` of this process and returns the number copied:
  // fewer if the rest is unreadable.
  size_t (*read)(const Hit& hit, uint64_t address, void* to, size_t size) = nullptr;
  // Writes at most `most` return addresses, the caller's first, and returns their number.
  size_t (*capture_stack)(const Hit& hit, uint64_t* addresses, size_t most) = nullptr;
  uint64_t (*cpu_time_ns)(const Hit& hit) = nullptr;
};

}  // namespace lagwatch::probe

// SPDX-License-Identifier: Apache-2.0
// Properties of the system calls in which threads sleep; base/system/system_calls.def has the rows. Linux.
// Context: any; pure.
#pragma once

#include <cstdint>
#include <iterator>

namespace lagwatch::base {

enum class Processor : uint8_t { kX86_64, kAarch64 };

// The thing that a thread waits for in the call.
enum class CallAwaits : uint8_t {
  kUnknown,
  kEvents,      // of a set of descriptors
  kDescriptor,  // the file, pipe or socket that is the first argument
  kConnection,  // that another makes
  kQueue,       // a message of a queue, or room for one
  kRing,        // the requests that an io_uring has
  kLock,
  kFileLock,  // if its command is one for locks
  kTime,      // or a signal
  kChild,
  kMemory,
  kOpen,  // a file, or the other end of a pipe
  kDisk,
};

// The kind of the set of descriptors that it waits for.
enum class DescriptorSet : uint8_t { kNoSet, kPoll, kSelect, kEpoll };

// The use that it makes of the descriptor that is its first argument.
enum class DescriptorUse : uint8_t { kNoUse, kReads, kWrites, kConnects, kAccepts };

// The argument that has the time after which the call ends by itself.
struct TimeLimit {
  enum class Form : uint8_t {
    kNever,
    kMilliseconds,  // an int; none if it is negative
    kTimeAt,        // the address of a time; none without one
    kAlways,
  };
  Form form = Form::kNever;
  uint8_t argument = 0;  // from 0; of kMilliseconds and kTimeAt

  // `arguments`: all six of the call.
  constexpr bool IsSet(const uint64_t* arguments) const {
    if (form == Form::kMilliseconds) return static_cast<int32_t>(arguments[argument]) >= 0;
    return form == Form::kAlways || (form == Form::kTimeAt && arguments[argument] != 0);
  }
};

// The argument by which it names the file that it may wait for, whichever kind that is.
enum class FileArgument : uint8_t {
  kNoFile,
  kDescriptor,  // the first
  kPath,        // the first
  kPathAt,      // the second, below the folder that is the first one's descriptor; an empty one means that
};

// Whether the call, once it has ended with EINTR, has done nothing yet and means the same when it is made
// again.
enum class Repeat : uint8_t {
  kUnsafe,
  kAlways,
  kWithoutMask,        // of signals, for which it would wait, too
  kWithoutMaskOfPair,  // the same; the argument points to two words, and the first one is the mask's address
  kByCommand,          // of a futex
};

// Whether `attach` may have a thread make calls that it has stopped in this one.
enum class WhenStopped : uint8_t {
  kUnsafe,
  kHarmless,     // it waits for what is outside of the process; code makes it with no lock of the C library's
                 // held
  kHoldsNoLock,  // if its callers hold none: call_safety.h
};

struct SystemCall {
  const char* name;  // null of a call that has no row
  int16_t x86_64;    // its number, or kNoNumber
  int16_t aarch64;
  CallAwaits awaits = CallAwaits::kUnknown;
  DescriptorSet set = DescriptorSet::kNoSet;
  DescriptorUse use = DescriptorUse::kNoUse;
  FileArgument file = FileArgument::kNoFile;
  bool may_idle = false;  // threads wait in it for the next piece of work, if it has no limit of time
  TimeLimit limit = {};
  bool is_continued = false;   // by restart_syscall(2), after the process was stopped
  bool is_for_orders = false;  // they wait for what others ask of them: a signal, a connection, a message
  bool is_restarted = false;   // by the kernel, after a signal handler with SA_RESTART: signal(7)
  Repeat repeat = Repeat::kUnsafe;
  uint8_t mask_argument = 0;  // from 0, of Repeat::kWithoutMask…
  WhenStopped when_stopped = WhenStopped::kUnsafe;

  constexpr int NumberOn(Processor processor) const {
    return processor == Processor::kX86_64 ? x86_64 : aarch64;
  }
  // The file that it waits for, if it is one.
  constexpr FileArgument NamesFile() const {
    const bool is_of_descriptor = awaits == CallAwaits::kDescriptor || awaits == CallAwaits::kFileLock;
    return is_of_descriptor ? FileArgument::kDescriptor : file;
  }
  // Whether it waits for its first argument, a descriptor, and for nothing else.
  constexpr bool IsForDescriptor() const {
    const bool is_of_descriptor = awaits == CallAwaits::kDescriptor || awaits == CallAwaits::kQueue;
    return is_of_descriptor && use != DescriptorUse::kNoUse;
  }
};

inline constexpr int16_t kNoNumber = -1;

namespace system_call_rows {

using enum CallAwaits;
using enum DescriptorSet;
using enum DescriptorUse;
using enum WhenStopped;

constexpr FileArgument kOfDescriptor = FileArgument::kDescriptor;
constexpr FileArgument kOfPath = FileArgument::kPath;
constexpr FileArgument kOfPathAt = FileArgument::kPathAt;

constexpr TimeLimit Milliseconds(uint8_t argument) { return {TimeLimit::Form::kMilliseconds, argument}; }
constexpr TimeLimit TimeAt(uint8_t argument) { return {TimeLimit::Form::kTimeAt, argument}; }
constexpr TimeLimit Always() { return {TimeLimit::Form::kAlways}; }

#define SYSTEM_CALL(call, number, arm_number, ...) \
  {.name = #call, .x86_64 = number, .aarch64 = arm_number, __VA_ARGS__},
#define SYSTEM_CALL_X86_64(call, number, ...) SYSTEM_CALL(call, number, kNoNumber, __VA_ARGS__)
#define SET_CALL(call, number, arm_number, kind, ...)                                                  \
  SYSTEM_CALL(call, number, arm_number, .awaits = kEvents, .set = kind, .may_idle = true, __VA_ARGS__, \
              .when_stopped = kHarmless)
#define SET_CALL_X86_64(call, number, kind, ...) SET_CALL(call, number, kNoNumber, kind, __VA_ARGS__)
// The first one is that of all calls without a row.
inline constexpr SystemCall kAll[] = {
    {.name = nullptr, .x86_64 = kNoNumber, .aarch64 = kNoNumber},
#include "base/system/system_calls.def"
};

}  // namespace system_call_rows

// The rows by their number on a processor.
class SystemCallIndex {
 public:
  explicit consteval SystemCallIndex(Processor processor) {
    for (uint8_t i = 1; i < std::size(system_call_rows::kAll); ++i) {
      const int number = system_call_rows::kAll[i].NumberOn(processor);
      if (number != kNoNumber) places_[number] = i;
    }
  }
  // The call's row, or one with nothing in it.
  constexpr const SystemCall& Of(int64_t number) const {
    const bool is_listed = number >= 0 && number < kNumbers;
    return system_call_rows::kAll[is_listed ? places_[number] : 0];
  }

 private:
  static constexpr int64_t kNumbers = 512;
  uint8_t places_[kNumbers] = {};
};

inline constexpr SystemCallIndex kX86_64Calls(Processor::kX86_64);
inline constexpr SystemCallIndex kAarch64Calls(Processor::kAarch64);

// The row of a call by its number on this machine, or one with nothing in it; valid for ever.
const SystemCall& SystemCallOf(int64_t number);

}  // namespace lagwatch::base

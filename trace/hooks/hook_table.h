// SPDX-License-Identifier: Apache-2.0
// The hooked functions, with their replacements and their real functions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/hooks/capture.h"

namespace lagwatch::trace {

enum HookFamily : uint32_t {
  kAllocationHooks = 1 << 0,
  kLockHooks = 1 << 1,  // and condition variables, semaphores, barriers, joins, futexes
  kFileHooks = 1 << 2,
  kSocketHooks = 1 << 3,
  kPollHooks = 1 << 4,
  kSleepHooks = 1 << 5,
  kLoadHooks = 1 << 6,
  kClockHooks = 1 << 7,
  kSignalHooks = 1 << 8,  // nothing is captured in them
  kAllHooks = (1 << 9) - 1,
  kIoWatchHooks = 1 << 9,  // that count for trace/io
};

// The function that a hook stands in front of. Set before the hook is first called, and never taken back:
// a program may keep a hook's address for as long as it likes. Context: hot, signal.
template <typename Function>
class RealFunction;
template <typename R, typename... A>
class RealFunction<R(A...)> {
 public:
  R operator()(A... arguments) const {
    // Relaxed: the same value for ever.
    return reinterpret_cast<R (*)(A...)>(address.load(std::memory_order_relaxed))(arguments...);
  }

  std::atomic<void*> address{nullptr};
};

struct Hook {
  static constexpr size_t kMaxVersions = 4;
  // One of the names that a function's versions have, and whether it means the real function.
  struct Version {
    enum VersionState : uint8_t { kNew, kReal, kOther };

    char name[24];
    VersionState state;
  };

  std::string_view name;
  void* replacement;
  std::atomic<void*>* real;
  uint32_t families;  // HookFamily, ORed
  Version versions[kMaxVersions];
  size_t version_count;
};

// Thread safety: filled once, before anything else.
class HookTable {
 public:
  static constexpr size_t kMaxHooks = 250;

  template <typename R, typename... A>
  void Add(uint32_t families, std::string_view name, R (*replacement)(A...), RealFunction<R(A...)>* real) {
    AddAddress(families, name, reinterpret_cast<void*>(replacement), &real->address);
  }
  void AddAddress(uint32_t families, std::string_view name, void* replacement, std::atomic<void*>* real) {
    const uint32_t bucket = BucketOf(name);
    hooks_[size_] = {name, replacement, real, families, {}, 0};
    next_[size_] = first_[bucket];
    first_[bucket] = static_cast<uint8_t>(++size_);
  }

  // Null when there is none.
  Hook* Find(std::string_view name) {
    for (uint8_t i = first_[BucketOf(name)]; i != 0; i = next_[i - 1]) {
      if (hooks_[i - 1].name == name) return &hooks_[i - 1];
    }
    return nullptr;
  }
  Hook* begin() { return hooks_; }
  Hook* end() { return hooks_ + size_; }

 private:
  static constexpr uint32_t kBuckets = 256;

  static uint32_t BucketOf(std::string_view name) {
    uint32_t hash = 2166136261;  // FNV-1a
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
    return hash % kBuckets;
  }

  Hook hooks_[kMaxHooks];
  uint8_t next_[kMaxHooks];  // 1 + index of the next in the same bucket
  uint8_t first_[kBuckets];  // 1 + index
  size_t size_ = 0;
};

// A name as a template argument.
template <size_t kSize>
struct HookName {
  constexpr HookName(const char (&name)[kSize]) { std::copy_n(name, kSize, text); }  // NOLINT: implicit
  char text[kSize];
};

// A call that may take long: captured at its end.
template <HookName kName, CallKind kCall, typename Function>
struct TimedHook;
template <HookName kName, CallKind kCall, typename R, typename... A>
struct TimedHook<kName, kCall, R(A...)> {
  static inline constinit RealFunction<R(A...)> real;

  static R Replacement(A... arguments) {
    if (!IsRecording()) return real(arguments...);
    const uint64_t begin_ticks = base::ReadTicks();
    R result = real(arguments...);
    CaptureAfter(CallersRegisters(), kCall, 0, begin_ticks);
    return result;
  }
};
template <HookName kName, CallKind kCall, typename Function>
void AddTimed(HookTable* table, HookFamily family) {
  using Timed = TimedHook<kName, kCall, Function>;
  table->Add(family, kName.text, Timed::Replacement, &Timed::real);
}

// A poll, between two of which a loop has its turn.
template <HookName kName, typename Function>
struct PollHook;
template <HookName kName, typename R, typename... A>
struct PollHook<kName, R(A...)> {
  static inline constinit RealFunction<R(A...)> real;

  static R Replacement(A... arguments) {
    if (!IsRecording()) return real(arguments...);
    const uint64_t begin_ticks = base::ReadTicks();
    R result = real(arguments...);
    CaptureAfterPoll(CallersRegisters(), begin_ticks);
    return result;
  }
};
template <HookName kName, typename Function>
void AddPoll(HookTable* table) {
  using Poll = PollHook<kName, Function>;
  table->Add(kPollHooks, kName.text, Poll::Replacement, &Poll::real);
}

// A call that returns at once and is made often.
template <HookName kName, CallKind kCall, typename Function>
struct OftenHook;
template <HookName kName, CallKind kCall, typename R, typename... A>
struct OftenHook<kName, kCall, R(A...)> {
  static inline constinit RealFunction<R(A...)> real;

  static R Replacement(A... arguments) {
    R result = real(arguments...);
    CaptureOften(kCall);
    return result;
  }
};
template <HookName kName, CallKind kCall, typename Function>
void AddOften(HookTable* table, HookFamily family) {
  using Often = OftenHook<kName, kCall, Function>;
  table->Add(family, kName.text, Often::Replacement, &Often::real);
}

// All hooks that there are.
void AddAllocationHooks(HookTable* table);
void AddLockHooks(HookTable* table);
void AddFutexHooks(HookTable* table);
void AddFileHooks(HookTable* table);
void AddStreamHooks(HookTable* table);
void AddPathHooks(HookTable* table);
void AddSocketHooks(HookTable* table);
void AddWaitHooks(HookTable* table);
void AddClockHooks(HookTable* table);
void AddLoadHooks(HookTable* table);
void AddSignalHooks(HookTable* table);

// Finds the function that a name stands for in this process: the one that a call of it would reach. Context:
// background (takes the loader's lock).

// Null when no module has it.
void* FindRealFunction(const char* name);

// Whether `version` of the hook's function is the real one. If that is unknown, sets `has_new` and returns
// false until its state is what FindVersion() returns. Takes no lock.
bool IsRealVersion(Hook* hook, std::string_view version, bool* has_new);
// Looks that version up: kReal or kOther.
Hook::Version::VersionState FindVersion(const Hook& hook, const char* version);

}  // namespace lagwatch::trace

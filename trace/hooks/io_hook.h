// SPDX-License-Identifier: Apache-2.0
// Hooks of calls that use files, sockets or the name service: captured at their end, as TimedHook's, and
// counted for trace/io. Context: hot.
#pragma once

#include <cerrno>
#include <tuple>
#include <type_traits>

#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {

// A call's arguments and result, by their numbers; -1: it has none.
struct IoShape {
  IoOperation operation;
  int path = -1;
  int key = -1;            // a descriptor or a stream
  bool transfers = false;  // the result is a number of bytes, or of items
  bool opens = false;      // the result is a descriptor or a stream of the path
  bool closes = false;     // the first argument
  int size = -1;           // of an item, in bytes
};

// The calling thread's counts, if its calls are to be counted now: it is in a dispatch, whose number that is.
[[gnu::always_inline]] inline ThreadIo* CountingIo(uint64_t* number) {
  if (!g_thread_io.is_on()) return nullptr;
  const DispatchWords& words = t_slot.dispatch;
  if (words.number == nullptr || words.ended == nullptr) return nullptr;
  // Relaxed, both: the thread's own.
  *number = words.number->load(std::memory_order_relaxed);
  if (*number == words.ended->load(std::memory_order_relaxed)) return nullptr;
  return t_slot.io != nullptr ? t_slot.io : TakeThreadIo();
}

template <typename T>
uint64_t AsKey(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return value == nullptr ? IoContent::kNoKey : reinterpret_cast<uint64_t>(value);
  } else {
    return value < 0 ? IoContent::kNoKey : static_cast<uint64_t>(value);
  }
}
template <typename R>
bool HasFailed(R result) {
  if constexpr (std::is_pointer_v<R>) {
    return result == nullptr;
  } else {
    return static_cast<int64_t>(result) < 0;
  }
}

// The path of a call that has just returned `result`, if the kernel has read it: an invalid pointer is not.
template <IoShape kShape, typename R, typename Arguments>
const char* PathOf([[maybe_unused]] R result, [[maybe_unused]] const Arguments& arguments) {
  if constexpr (kShape.path < 0) {
    return nullptr;
  } else {
    const char* path = std::get<kShape.path>(arguments);
    return path != nullptr && (!HasFailed(result) || errno == ENOENT) ? path : nullptr;
  }
}
template <IoShape kShape, typename R, typename Arguments>
uint64_t BytesOf([[maybe_unused]] R result, [[maybe_unused]] const Arguments& arguments) {
  if constexpr (!kShape.transfers) {
    return 0;
  } else {
    const uint64_t count = HasFailed(result) ? 0 : static_cast<uint64_t>(result);
    if constexpr (kShape.size < 0) {
      return count;
    } else {
      return count * std::get<kShape.size>(arguments);
    }
  }
}

// kFamily: of the captures; 0: there are none.
template <HookName kName, uint32_t kFamily, CallKind kCall, IoShape kShape, typename Function>
struct IoHook;
template <HookName kName, uint32_t kFamily, CallKind kCall, IoShape kShape, typename R, typename... A>
struct IoHook<kName, kFamily, kCall, kShape, R(A...)> {
  static inline constinit RealFunction<R(A...)> real;

  static R Replacement(A... arguments) { return Call(CallersRegisters(), arguments...); }
  // `from`: of the hook that it is called in.
  [[gnu::always_inline]] static inline R Call(const CallRegisters& from, A... arguments) {
    uint64_t number = 0;
    ThreadIo* io = CountingIo(&number);
    const bool is_captured = kFamily != 0 && IsRecordingIn(kFamily);
    if (io == nullptr && !is_captured) {
      if constexpr (kShape.closes) NoteClosed(arguments...);
      return real(arguments...);
    }
    const uint64_t begin_ticks = base::ReadTicks();
    R result = real(arguments...);
    if (io != nullptr) Count(io, number, from, begin_ticks, result, arguments...);
    if (is_captured) CaptureAfter(from, kCall, 0, begin_ticks);
    return result;
  }

 private:
  [[gnu::always_inline]] static inline void Count(ThreadIo* io, uint64_t number, const CallRegisters& from,
                                                  uint64_t begin_ticks, R result, A... arguments) {
    const uint64_t end_ticks = base::ReadTicks();
    const std::tuple<A...> all(arguments...);
    IoCall call{.operation = kShape.operation,
                .name = kName.text,
                .path = PathOf<kShape>(result, all),
                .key = IoContent::kNoKey,
                .bytes = BytesOf<kShape>(result, all),
                .ticks = end_ticks - begin_ticks,
                .end_ticks = end_ticks};
    if constexpr (kShape.key >= 0) call.key = AsKey(std::get<kShape.key>(all));
    io->Note(number, t_slot.dispatch, from, call);
    if constexpr (kShape.opens) {
      if (!HasFailed(result) && call.path != nullptr) io->Opened(AsKey(result), call.path);
    }
    if constexpr (kShape.closes) io->Closed(call.key);
  }
  static void NoteClosed([[maybe_unused]] A... arguments) {
    if (t_slot.io != nullptr) t_slot.io->Closed(AsKey(std::get<0>(std::tuple<A...>(arguments...))));
  }
};

// Adds a hook that captures in `kFamily`, and counts.
template <HookName kName, uint32_t kFamily, CallKind kCall, IoShape kShape, typename Function>
void AddIo(HookTable* table) {
  using Io = IoHook<kName, kFamily, kCall, kShape, Function>;
  table->Add(kFamily | kIoWatchHooks, kName.text, Io::Replacement, &Io::real);
}
// Adds one that only counts.
template <HookName kName, IoShape kShape, typename Function>
void AddCounted(HookTable* table) {
  AddIo<kName, 0, CallKind::kFile, kShape, Function>(table);
}

}  // namespace lagwatch::trace

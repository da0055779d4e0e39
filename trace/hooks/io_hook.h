// SPDX-License-Identifier: Apache-2.0
// Hooks of calls that use files, sockets or the name service: captured at their end, as TimedHook's, and
// counted for trace/io. Context: hot.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "trace/hooks/hook_table.h"
#include "trace/hooks/io_buffer.h"

namespace lagwatch::trace {

// A buffer that a call may be served from.
enum class IoBuffer : uint8_t { kNone, kItemsRead, kLine, kAnyLine, kItemsWritten, kTextWritten, kEntry };

// A call's arguments and result, by their numbers; -1: it has none.
struct IoShape {
  IoOperation operation;
  int path = -1;
  int folder = -1;                    // the descriptor that the path is relative to
  int output = -1;                    // the buffer that the call writes, which may overlap the path
  int key = -1;                       // a descriptor, a stream or a folder
  bool transfers = false;             // the result is a number of bytes, or of items
  int size = -1;                      // of an item, in bytes
  int text = -1;                      // the text that the call writes: its size is the number of bytes
  bool opens = false;                 // the result is a folder
  bool closes = false;                // the first argument is one
  IoBuffer buffer = IoBuffer::kNone;  // of the stream or folder `key`
};

// The dispatch that a thread's calls are counted in.
struct IoDispatch {
  ThreadIo* io = nullptr;  // null: they are not to be counted
  const std::atomic<uint64_t>* word = nullptr;
  uint64_t number = 0;

  // Whether the thread is in it still: a call may have run handlers of its own, which end dispatches.
  bool GoesOn() const {
    const DispatchWords& words = t_slot.dispatch;
    // Relaxed, both: the thread's own.
    return words.number == word && t_slot.io == io && word->load(std::memory_order_relaxed) == number &&
           words.ended->load(std::memory_order_relaxed) != number;
  }
};
[[gnu::always_inline]] inline IoDispatch PresentDispatch() {
  if (!g_thread_io.is_on()) return {};
  const DispatchWords& words = t_slot.dispatch;
  if (words.number == nullptr || words.ended == nullptr) return {};
  // Relaxed, both: the thread's own.
  const uint64_t number = words.number->load(std::memory_order_relaxed);
  if (number == words.ended->load(std::memory_order_relaxed)) return {};
  return {t_slot.io != nullptr ? t_slot.io : TakeThreadIo(), words.number, number};
}

template <typename T>
IoKey AsKey(T value) {
  if constexpr (std::is_pointer_v<T>) {
    const bool is_stream = std::is_same_v<T, FILE*>;
    if (value == nullptr) return {};
    return {is_stream ? IoKey::kStream : IoKey::kFolder, reinterpret_cast<uint64_t>(value)};
  } else {
    if (value < 0) return {};
    return {IoKey::kDescriptor, static_cast<uint64_t>(value)};
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
// The first byte of the path that the call's output may have taken, with the NUL at the end; null: none.
template <IoShape kShape, typename R, typename Arguments>
const char* PathEndOf([[maybe_unused]] R result, [[maybe_unused]] const Arguments& arguments) {
  if constexpr (kShape.output < 0) {
    return nullptr;
  } else {
    using Output = std::remove_pointer_t<std::tuple_element_t<kShape.output, Arguments>>;
    const char* path = std::get<kShape.path>(arguments);
    const auto* output = reinterpret_cast<const char*>(std::get<kShape.output>(arguments));
    size_t size_bytes = sizeof(Output);
    if constexpr (std::is_same_v<Output, char>) {
      if constexpr (std::is_pointer_v<R>) {
        size_bytes = PATH_MAX;  // of realpath()
      } else {
        size_bytes = HasFailed(result) ? 0 : static_cast<size_t>(result);
      }
    }
    if (output == nullptr || path >= output + size_bytes) return nullptr;
    return std::max(path, output);
  }
}
template <IoShape kShape, typename R, typename Arguments>
uint64_t BytesOf([[maybe_unused]] R result, [[maybe_unused]] const Arguments& arguments) {
  if constexpr (kShape.text >= 0) {
    return HasFailed(result) ? 0 : std::strlen(std::get<kShape.text>(arguments));
  } else if constexpr (!kShape.transfers) {
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

// Whether the call takes from a buffer, or only writes to one, as far as that is known before.
template <IoShape kShape, typename Arguments>
[[gnu::always_inline]] inline bool IsBuffered(const BufferState& state, const Arguments& arguments) {
  if constexpr (kShape.buffer == IoBuffer::kEntry) {
    return HoldsEntry(state, std::get<kShape.key>(arguments));
  } else {
    const StreamBuffer buffer(std::get<kShape.key>(arguments));
    if constexpr (kShape.buffer == IoBuffer::kLine) {
      const auto room = std::get<kShape.key - 1>(arguments);
      return room > 1 && buffer.HoldsLine(state, static_cast<size_t>(room) - 1);
    } else if constexpr (kShape.buffer == IoBuffer::kAnyLine) {
      return buffer.HoldsLine(state, SIZE_MAX);
    } else if constexpr (kShape.buffer == IoBuffer::kTextWritten) {
      return buffer.HasRoomFor(1) && buffer.HasRoomFor(std::strlen(std::get<kShape.text>(arguments)));
    } else {
      size_t bytes = 0;
      const bool fits = !__builtin_mul_overflow(std::get<kShape.size>(arguments),
                                                std::get<kShape.size + 1>(arguments), &bytes);
      return fits && (kShape.buffer == IoBuffer::kItemsRead ? buffer.Holds(bytes) : buffer.HasRoomFor(bytes));
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
    const IoDispatch dispatch = PresentDispatch();
    const bool is_captured = kFamily != 0 && IsRecordingIn(kFamily);
    if (dispatch.io == nullptr && !is_captured) return real(arguments...);
    if constexpr (kShape.buffer != IoBuffer::kNone) {
      if (IsBuffered<kShape>(dispatch.io->buffers(), std::tuple<A...>(arguments...)))
        return CallBuffered(dispatch, from, arguments...);
    }
    const uint64_t inside_ticks = dispatch.io == nullptr ? 0 : dispatch.io->counted_ticks();
    const uint64_t begin_ticks = base::ReadTicks();
    R result = real(arguments...);
    if (dispatch.io != nullptr && dispatch.GoesOn()) {
      const uint64_t end_ticks = base::ReadTicks();
      const uint64_t inner_ticks = dispatch.io->counted_ticks() - inside_ticks;
      const uint64_t ticks = std::max(end_ticks - begin_ticks, inner_ticks) - inner_ticks;
      Count(dispatch, from, ticks, end_ticks, result, arguments...);
    }
    if (is_captured) CaptureAfter(from, kCall, 0, begin_ticks);
    return result;
  }

 private:
  // Reads no clock.
  [[gnu::always_inline]] static inline R CallBuffered(const IoDispatch& dispatch, const CallRegisters& from,
                                                      A... arguments) {
    constexpr bool kIsLine = kShape.buffer == IoBuffer::kLine || kShape.buffer == IoBuffer::kAnyLine;
    if constexpr (kIsLine) {
      FILE* stream = std::get<kShape.key>(std::tuple<A...>(arguments...));
      const StreamBuffer before(stream);
      R result = real(arguments...);
      if (!dispatch.GoesOn()) return result;
      before.LearnLine(StreamBuffer(stream), &dispatch.io->buffers());
      Count(dispatch, from, 0, 0, result, arguments...);
      return result;
    } else {
      R result = real(arguments...);
      if (dispatch.GoesOn()) Count(dispatch, from, 0, 0, result, arguments...);
      return result;
    }
  }
  [[gnu::always_inline]] static inline void Count(const IoDispatch& dispatch, const CallRegisters& from,
                                                  uint64_t ticks, uint64_t end_ticks, R result,
                                                  A... arguments) {
    const std::tuple<A...> all(arguments...);
    IoCall call{.operation = kShape.operation,
                .name = kName.text,
                .path = PathOf<kShape>(result, all),
                .path_end = PathEndOf<kShape>(result, all),
                .is_below_descriptor = false,
                .key = {},
                .bytes = BytesOf<kShape>(result, all),
                .ticks = ticks,
                .end_ticks = end_ticks};
    if constexpr (kShape.key >= 0) call.key = AsKey(std::get<kShape.key>(all));
    if constexpr (kShape.folder >= 0) {
      const bool is_absolute = call.path != nullptr && call.path != call.path_end && call.path[0] == '/';
      call.is_below_descriptor = !is_absolute && std::get<kShape.folder>(all) != AT_FDCWD;
    }
    BufferState& buffers = dispatch.io->buffers();
    if constexpr (kShape.buffer == IoBuffer::kEntry) LearnEntry(std::get<0>(all), result, &buffers);
    if constexpr (kShape.opens) ForgetFolder(result, &buffers);
    if constexpr (kShape.closes) ForgetFolder(std::get<0>(all), &buffers);
    dispatch.io->Note(dispatch.number, t_slot.dispatch, from, call);
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

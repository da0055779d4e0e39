// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>

#include <algorithm>
#include <string_view>

#include "base/system/system_calls.h"
#include "stack/unwind/processor.h"
#include "watchdog/waits/candidates/object_use.h"
#include "watchdog/waits/chain/signal_stop.h"

namespace lagwatch::watchdog {
namespace {

// Frames of a handler, with those of the call that it waits in.
constexpr uint32_t kMostInHandler = 12;

// Whether the library has the outermost frames of threads that others have started.
bool StartsThreads(std::string_view file) {
  constexpr std::string_view kLibraries[] = {"libc.so", "libc-", "libpthread", "libstdc++", "ld-"};
  return std::ranges::any_of(kLibraries, [&](std::string_view name) { return file.starts_with(name); });
}

bool IsSignalReturnAt(const base::Process& process, uint64_t address) {
  constexpr uint64_t kLowestCode = 4096;
  unsigned char code[stack::kMaxCodeBytes];
  return address >= kLowestCode && process.ReadValue(address, &code) && stack::IsSignalReturn(code);
}

// The frame has the byte before the address that the handler returns to.
bool IsSignalFrame(const stack::Frame& frame, const stack::ModuleMap& modules) {
  return frame.module != stack::kNoModule &&
         IsSignalReturnAt(modules.process(), modules.module(frame.module).load_bias + frame.offset + 1);
}

}  // namespace

bool IsStopCall(const stack::BlockedThread& blocked) {
#if defined(SYS_pause)
  if (blocked.syscall_number == SYS_pause) return true;
#endif
  return blocked.syscall_number == SYS_rt_sigsuspend;
}

std::optional<SignalStop> FindSignalStop(const stack::Stack& stack, const stack::ModuleMap& modules) {
  for (uint32_t i = 1; i < std::min(stack.frame_count, kMostInHandler); ++i) {
    if (!IsSignalFrame(stack.frames[i], modules)) continue;
    const stack::Frame& handler = stack.frames[i - 1];
    if (handler.module == stack::kNoModule || handler.function_offset == 0) return std::nullopt;
    return SignalStop{handler};
  }
  return std::nullopt;
}

StopPart PartIn(const SignalStop& stop, const stack::Stack& stack, const stack::ModuleMap& modules) {
  const auto is_handlers = [&](const stack::Frame& frame) {
    return frame.module == stop.handler.module && frame.function_offset == stop.handler.function_offset;
  };
  const auto is_of_library = [&](const stack::Frame& frame) { return frame.module == stop.handler.module; };
  const auto is_of_caller = [&](const stack::Frame& frame) {
    return frame.module != stack::kNoModule && !is_of_library(frame) &&
           !StartsThreads(modules.module(frame.module).file_name());
  };
  if (std::ranges::any_of(stack.view(), is_handlers)) return StopPart::kStopped;
  // In a program that is its own collector, every thread is in its code.
  const bool is_library =
      modules.module(stop.handler.module).file_name().find(".so") != std::string_view::npos;
  const auto frames = stack.view();
  const auto innermost = std::ranges::find_if(
      frames, [&](const stack::Frame& frame) { return is_of_library(frame) || is_of_caller(frame); });
  // Further out, the library has only started the thread, or called the program back.
  if (!is_library || innermost == frames.end() || !is_of_library(*innermost)) return StopPart::kNone;
  return std::any_of(innermost, frames.end(), is_of_caller) ? StopPart::kCollector : StopPart::kService;
}

}  // namespace lagwatch::watchdog

// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/hang_text.h"

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/process/own_memory.h"
#include "policies/verdict.h"

namespace lagwatch::sdk {
namespace {

// The part of a mangled C++ name that is before templates and parameters, in its parts: of
// "_ZN5Index6LookupEv" the next one, "Index" first. Empty at the end, and for what is not so simple.
// abi::__cxa_demangle allocates.
std::string_view TakeNamePart(std::string_view* mangled) {
  size_t size = 0;
  size_t digits = 0;
  for (; digits < mangled->size() && (*mangled)[digits] >= '0' && (*mangled)[digits] <= '9'; ++digits)
    size = std::min<size_t>(size * 10 + static_cast<size_t>((*mangled)[digits] - '0'), mangled->size());
  if (digits == 0 || size > mangled->size() - digits) return {};
  const std::string_view part = mangled->substr(digits, size);
  mangled->remove_prefix(digits + size);
  return part.starts_with("_GLOBAL__N") ? TakeNamePart(mangled) : part;
}

}  // namespace

HangText::HangText(const ProgramFacts* facts)
    : facts_(*facts),
      bytes_(base::MapOwnBlock<char>(kBufferBytes)),
      buffer_(bytes_.get(), bytes_ == nullptr ? 0 : kBufferBytes) {}

const char* HangText::Write(const watchdog::HangEvent& event) {
  constexpr size_t kMostFrames = 8;
  buffer_.Clear();
  AddScrubbed(facts_.app);
  if (!facts_.app_version.empty()) Add(" ");
  AddScrubbed(facts_.app_version);
  Add(" (pid ");
  AddNumber(facts_.pid);
  Add(") has not responded for ");
  AddSeconds(event.elapsed_ns);
  Add(" (loop ");
  AddScrubbed(event.loop);
  if (!event.tag.empty()) Add(", dispatch ");
  AddScrubbed(event.tag);
  Add(")\n  verdict  ");
  Add(policies::VerdictName(event.verdict.word));
  Add("\n");
  AddOwner(event);
  for (const stack::Frame& frame :
       event.expensive_stack->view().first(std::min<size_t>(kMostFrames, event.expensive_stack->frame_count)))
    AddFrame(frame, event);
  Add("  report   lagwatch report ");
  char id[base::kUuidTextSize];
  base::FormatUuid(event.id, id);
  Add({id, sizeof id});
  buffer_.Append("\n", 2);  // with the terminator
  return buffer_.overflowed() || bytes_ == nullptr ? "" : buffer_.content().data();
}

void HangText::Add(std::string_view text) { buffer_.Append(text.data(), text.size()); }

void HangText::AddSeconds(int64_t ns) {
  const auto tenths = static_cast<uint64_t>(std::max<int64_t>(ns, 0) / (base::kNsPerSecond / 10));
  AddNumber(tenths / 10);
  Add(".");
  AddNumber(tenths % 10);
  Add(" s");
}

void HangText::AddNumber(uint64_t number, int radix) {
  char digits[24];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number, radix);
  Add({digits, static_cast<size_t>(end.ptr - digits)});
}

void HangText::AddOwner(const watchdog::HangEvent& event) {
  if (event.waits.empty()) return;
  const watchdog::Wait& wait = event.waits.front();
  if (wait.lock.owner_tid == 0) return;
  Add("  waits for ");
  if (wait.owner_pid != 0) {
    AddScrubbed(wait.owner_process);
    Add(" (pid ");
    AddNumber(wait.owner_pid);
    return Add(")\n");
  }
  Add("thread ");
  AddNumber(static_cast<uint64_t>(wait.lock.owner_tid));
  Add(" (");
  AddScrubbed(wait.owner_name);
  Add(")\n");
}

void HangText::AddFrame(const stack::Frame& frame, const watchdog::HangEvent& event) {
  Add("    ");
  if (frame.module == stack::kNoModule) return Add("[jit]\n");
  const stack::Module& module = event.modules->module(frame.module);
  if (module.is_language) {
    const stack::ScriptFunction function = event.script_functions->Find(frame.function_offset);
    AddScrubbed(function.name.empty() ? module.path_view() : function.name);
    const uint64_t line = frame.offset - frame.function_offset;
    if (!function.file.empty()) Add("  (");
    Add(facts_.scrubber.Path(function.file).view());
    if (!function.file.empty() && line != 0) {
      Add(":");
      AddNumber(line);
    }
    return Add(function.file.empty() ? "\n" : ")\n");
  }
  const uint64_t offset = frame.symbol_offset();
  bool may_open_file = false;
  const auto places = names_.Find(module, {}, {&offset, 1}, &may_open_file);
  if (!places.empty() && places.front().name_size != 0) {
    AddFunction(places.front().name_view());
    Add("  (");
    Add(facts_.scrubber.Text(module.file_name()).view());
    return Add(")\n");
  }
  AddScrubbed(module.file_name());
  Add("+0x");
  AddNumber(frame.offset, 16);
  Add("\n");
}

void HangText::AddFunction(std::string_view symbol) {
  std::string_view mangled = symbol;
  if (!mangled.starts_with("_Z")) return Add(symbol);
  mangled.remove_prefix(2);
  if (mangled.starts_with("N")) mangled.remove_prefix(1);
  if (mangled.starts_with("K")) mangled.remove_prefix(1);  // const
  std::string_view part = TakeNamePart(&mangled);
  if (part.empty()) return Add(symbol);
  for (bool is_first = true; !part.empty(); part = TakeNamePart(&mangled), is_first = false) {
    if (!is_first) Add("::");
    Add(part);
  }
}

}  // namespace lagwatch::sdk

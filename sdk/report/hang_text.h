// SPDX-License-Identifier: Apache-2.0
// A hang in words, for the application's listener. Reads no files, because the program may wait for the disk:
// `lagwatch log` adds lines of code.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/process/mapped_memory.h"
#include "report/format/fixed_buffer.h"
#include "sdk/report/program_facts.h"
#include "stack/code/loaded_names.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::sdk {

// Context: watchdog; the construction: background (allocates everything). Not thread-safe.
class HangText {
 public:
  // Borrowed.
  explicit HangText(const ProgramFacts* facts);

  // Returns lines: the program and the time so far, the verdict, the owner of a lock, functions, and the
  // command that shows the report. Functions of shared libraries and exported ones have names, others their
  // place. Without personal data, as the report. Valid until the next call.
  const char* Write(const watchdog::HangEvent& event);

 private:
  void Add(std::string_view text);
  void AddSeconds(int64_t ns);
  void AddNumber(uint64_t number, int radix = 10);
  void AddScrubbed(std::string_view text) { Add(facts_.scrubber.Text(text).view()); }
  void AddOwner(const watchdog::HangEvent& event);
  void AddFrame(const stack::Frame& frame, const watchdog::HangEvent& event);
  void AddFunction(std::string_view symbol);

  static constexpr size_t kBufferBytes = 8192;

  const ProgramFacts& facts_;
  base::MappedBlock<char> bytes_;
  report::FixedBuffer buffer_;
  stack::LoadedNames names_;
};

}  // namespace lagwatch::sdk

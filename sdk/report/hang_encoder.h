// SPDX-License-Identifier: Apache-2.0
// Encodes what the watchdog found as a report.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "report/format/fixed_buffer.h"
#include "report/format/report_encoder.h"
#include "sdk/report/program_facts.h"
#include "sdk/report/unnamed_frames.h"
#include "stack/code/loaded_names.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::sdk {

// The cause of the reported expensive stack; 0 without one. Context: watchdog.
uint64_t CauseOf(const watchdog::HangEvent& event);

// Encodes reports of hangs. Context: watchdog; the construction: background (allocates everything).
class HangEncoder {
 public:
  // Both borrowed.
  HangEncoder(const ProgramFacts* facts, const ProgramContext* program);

  // Writes the report to `buffer`. `is_in_start`: the hang began before the program said that it is ready.
  // Waits, history and threads are left out as far as they do not fit. False if the rest does not fit.
  bool Encode(const watchdog::HangEvent& event, bool is_in_start, report::FixedBuffer* buffer);
  // Appends to the report that was encoded last names of functions that cannot be named later. Reads files:
  // the report should be on disk. Returns whether there are any.
  bool AppendNames(const watchdog::HangEvent& event, report::FixedBuffer* buffer) {
    return unnamed_.AppendNames(event.modules->process(), &loaded_names_, buffer);
  }

 private:
  void EncodeWaits(const watchdog::HangEvent& event, report::ReportEncoder* encoder);
  void EncodeHistory(const watchdog::HangEvent& event, report::ReportEncoder* encoder);
  void EncodeThreads(const watchdog::HangEvent& event, report::ReportEncoder* encoder);
  uint32_t EncodeStack(const stack::Stack& stack, const watchdog::HangEvent& event,
                       report::ReportEncoder* encoder);
  // The same for a stack that may be missing or empty: report::kNoStack. `peer_modules` are those of a thread
  // of another process; null: it is one of the event's.
  uint32_t EncodeOptionalStack(const stack::Stack* stack, const watchdog::HangEvent& event,
                               report::ReportEncoder* encoder,
                               const stack::ModuleMap* peer_modules = nullptr);
  // Of frames in `modules`, whose indices in the report are kept from `first_slot` on.
  uint32_t EncodeFrames(const stack::Stack& stack, const stack::ModuleMap& modules,
                        const stack::ScriptFunctions& functions, uint32_t first_slot,
                        report::ReportEncoder* encoder);
  // Names the function of a script's frame, unless it is named already. `module` is the report's index.
  void NameScriptFunction(uint32_t module, uint64_t number, const stack::ScriptFunctions& functions,
                          report::ReportEncoder* encoder);
  // `first_slot` distinguishes the two module maps.
  uint32_t EncodedModule(uint32_t module, const stack::ModuleMap& modules, uint32_t first_slot,
                         report::ReportEncoder* encoder);
  // Goes back to what had been encoded at `mark`.
  struct Encoded {
    report::ReportEncoder::Mark mark;
    size_t named_count;
    size_t unnamed_count;
  };
  Encoded Note(const report::ReportEncoder& encoder) const {
    return {encoder.mark(), named_count_, unnamed_.count()};
  }
  void RewindTo(const Encoded& encoded, report::ReportEncoder* encoder);
  void ForgetModulesFrom(uint32_t first_encoded_index);

  const ProgramFacts& facts_;
  const ProgramContext* program_;
  std::unique_ptr<uint32_t[]> encoded_modules_;  // by index in the ModuleMap: the report's index plus 1, or 0
  static constexpr size_t kMaxNamed = 1024;
  size_t named_count_ = 0;
  std::array<uint64_t, kMaxNamed> named_;  // hashes of the script functions that the report names
  UnnamedFrames unnamed_;
  stack::LoadedNames loaded_names_;
};

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
// Names for the frames of one report. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/symbols/elf/named_frame.h"
#include "report/format/report.h"

namespace lagwatch::collector {

class FrameNames {
 public:
  // Borrows `report`, which must outlive this.
  explicit FrameNames(const report::Report& report);

  // The function's readable name where the client knew it; else `module+0xoffset` with the function's start
  // when that is known, so that two places in one function are one frame; `0xaddress` outside all modules.
  NamedFrame NameOf(const report::Frame& frame) const;

 private:
  using ModuleOffset = std::pair<uint32_t, uint64_t>;  // a frame's module and symbol_offset()

  const report::Report& report_;
  std::map<ModuleOffset, const std::string*> symbols_;
};

// Names frames, inlined calls included: a symbolizer, or the report itself. Context: background.
class FrameNamer {
 public:
  virtual ~FrameNamer() = default;
  // The functions that `frame` of the report at hand is in, by their readable names, the innermost inlined
  // one first. None for a frame of managed code that its compiler made up; else at least one.
  virtual std::vector<NamedFrame> NamesOf(const report::Frame& frame) const = 0;
};

// By the symbols that the client knew, one for each frame.
class ReportNamer final : public FrameNamer {
 public:
  // Borrows `report`, which must outlive this.
  explicit ReportNamer(const report::Report& report) : names_(report) {}

  std::vector<NamedFrame> NamesOf(const report::Frame& frame) const override {
    return {names_.NameOf(frame)};
  }

 private:
  FrameNames names_;
};

// "0x1f", as addresses are written everywhere in the JSON.
std::string HexNumber(uint64_t number);

// The part of `path` after its last slash.
std::string_view BaseName(std::string_view path);

}  // namespace lagwatch::collector

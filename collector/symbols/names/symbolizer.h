// SPDX-License-Identifier: Apache-2.0
// Interface for names of functions, files and lines. Context: background; may wait for files, the network and
// other processes. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/symbols/elf/named_frame.h"

namespace lagwatch::collector {

// Of each place, innermost first; none where nothing is known of it; one without a name where a compiler of
// managed code made the frame up.
using SymbolizedFrames = std::vector<std::vector<NamedFrame>>;

class Symbolizer {
 public:
  virtual ~Symbolizer() = default;

  // The frames at places of one module: `build_id` as raw bytes and offsets as reports have them
  // (report::Frame::offset), which is in the module's own address space, for a caller the byte before its
  // return address. A mapping of managed code (IsMappingId()) is asked for functions and lines. Errors:
  // kNotFound if there is no file of that build id (OnNewFile announces one), kInvalid if its file cannot be
  // read, kUnavailable if the same call may succeed later.
  virtual base::Result<SymbolizedFrames> Symbolize(std::string_view build_id,
                                                   std::span<const CodePlace> places) = 0;

  // `callback` is called from any thread, and must be quick, when a file has become known of a build id (raw
  // bytes): reports with that module are worth another look. To be set before other threads use this.
  virtual void OnNewFile(std::function<void(std::string_view build_id)> callback) = 0;

  // Says where the module was on the machine that it ran on, for symbolizers that look there.
  virtual void NoteModule(std::string_view /*build_id*/, const std::string& /*path*/) {}
};

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
// A trace in the formats that other programs read. Context: background. Design: docs/design/trace_slices.md
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

enum class Format : uint8_t { kPerfetto, kSpeedscope, kChromeJson, kPprof, kCollapsed, kNanoscope };

struct FormatInfo {
  Format format;
  std::string_view name;     // "perfetto"
  std::string_view suffix;   // of its files: ".perfetto-trace"
  std::string_view purpose;  // what opens it, for a person
};

// All formats, the one to prefer first.
std::span<const FormatInfo> Formats();
const FormatInfo& InfoOf(Format format);
// By its name, or by the suffix of a file's name.
std::optional<Format> FindFormat(std::string_view name_or_file);

struct ExportOptions {
  // This thread only. kNanoscope holds one thread in any case: this one, else the main one, else the first of
  // which something is known.
  std::optional<int32_t> tid;
  SliceOptions slices;
};

// The trace as if that thread were the only one. Errors: kNotFound when there is no such thread.
base::Result<Trace> OnlyThread(const Trace& trace, int32_t tid);

// The whole file. kNotFound: there is no such thread. kInvalid: kNanoscope of a trace without slices.
base::Result<std::string> Export(Format format, const Trace& trace, const ExportOptions& options = {});

}  // namespace lagwatch::trace

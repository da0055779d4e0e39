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

// The formats one by one, of all threads.

// Perfetto's protobuf trace (https://perfetto.dev), for ui.perfetto.dev and trace_processor: processes and
// threads, slices with arguments, dispatches, counters, wakes as flows, stack samples with modules and build
// ids, and losses. May be appended to another trace.
std::string PerfettoTrace(const Trace& trace, const SliceOptions& options = {});

// Speedscope's own file format (https://www.speedscope.app/file-format-schema.json): an evented profile
// for each track, in the order of time, and a sampled one of all threads, in which each stack has its time.
std::string SpeedscopeJson(const Trace& trace, const SliceOptions& options = {});

// Trace events as JSON, which chrome://tracing, Perfetto and speedscope open
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU); times are microseconds.
// Complete events, which nest strictly, counters, flows and losses. Beside its instrumented calls a thread's
// samples are shown as a thread of their own, whose number no real one can have.
std::string ChromeJson(const Trace& trace, const SliceOptions& options = {});

// pprof's profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto), gzipped: how often
// each stack was seen and how long it lasted, with its thread as a label.
std::string PprofProfile(const Trace& trace, const SliceOptions& options = {});

// Collapsed stacks (https://github.com/brendangregg/FlameGraph): "thread;outermost;innermost nanoseconds" in
// each line, equal stacks once. Sorted by stack. A ';' in a name becomes ','.
std::string CollapsedStacks(const Trace& trace, const SliceOptions& options = {});

// Nanoscope's text (https://github.com/uber/nanoscope): "nanoseconds:+name" where a call begins and
// "nanoseconds:POP" where the innermost one ends, of one thread: the main one, else the first of which
// something is known; its instrumented calls where it has some. kInvalid when there is no slice at all.
base::Result<std::string> NanoscopeText(const Trace& trace, const SliceOptions& options = {});

}  // namespace lagwatch::trace

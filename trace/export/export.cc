// SPDX-License-Identifier: Apache-2.0
#include "trace/export/export.h"

#include <algorithm>
#include <exception>

namespace lagwatch::trace {
namespace {

constexpr FormatInfo kFormats[] = {
    {Format::kPerfetto, "perfetto", ".perfetto-trace",
     "a timeline with all that is known, for ui.perfetto.dev"},
    {Format::kSpeedscope, "speedscope", ".speedscope.json",
     "a timeline and flame graphs, for speedscope.app"},
    {Format::kChromeJson, "chrome", ".json", "a timeline, for chrome://tracing and ui.perfetto.dev"},
    {Format::kPprof, "pprof", ".pb.gz", "a profile, for go tool pprof"},
    {Format::kCollapsed, "collapsed", ".collapsed", "one line for each stack, for flame graphs"},
    {Format::kNanoscope, "nanoscope", ".nanoscope", "one thread's calls, for Nanoscope"},
};

base::Result<std::string> ExportWhole(Format format, const Trace& trace, const SliceOptions& slices) {
  switch (format) {
    case Format::kPerfetto:
      return PerfettoTrace(trace, slices);
    case Format::kSpeedscope:
      return SpeedscopeJson(trace, slices);
    case Format::kChromeJson:
      return ChromeJson(trace, slices);
    case Format::kPprof:
      return PprofProfile(trace, slices);
    case Format::kCollapsed:
      return CollapsedStacks(trace, slices);
    case Format::kNanoscope:
      break;
  }
  return NanoscopeText(trace, slices);
}

}  // namespace

std::span<const FormatInfo> Formats() { return kFormats; }

const FormatInfo& InfoOf(Format format) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats) - 1,
                       [&](const FormatInfo& info) { return info.format == format; });
}

std::optional<Format> FindFormat(std::string_view name_or_file) {
  for (const FormatInfo& info : kFormats) {
    if (info.name == name_or_file || name_or_file.ends_with(info.suffix)) return info.format;
  }
  return std::nullopt;
}

base::Result<Trace> OnlyThread(const Trace& trace, int32_t tid) {
  Trace one = trace;
  std::erase_if(one.threads, [&](const Thread& thread) { return thread.tid != tid; });
  if (one.threads.empty())
    return base::Status(base::StatusCode::kNotFound, "the trace holds no thread " + std::to_string(tid));
  return one;
}

base::Result<std::string> Export(Format format, const Trace& trace, const ExportOptions& options) {
  try {
    if (!options.tid.has_value()) return ExportWhole(format, trace, options.slices);
    const auto one = OnlyThread(trace, *options.tid);
    return one.ok() ? ExportWhole(format, *one, options.slices) : one.status();
  } catch (const std::exception& error) {
    return base::Status(base::StatusCode::kTooLarge,
                        std::string("the trace cannot be written: ") + error.what());
  }
}

}  // namespace lagwatch::trace

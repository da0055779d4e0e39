// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/data/trace_file.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

#include "trace/format/trace_codec.h"

namespace lagwatch::tools {

base::Result<trace::Trace> ReadTraceFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return base::IoError("cannot open " + path.string(), errno);
  std::ostringstream bytes;
  errno = 0;
  if (!(bytes << file.rdbuf()) && errno != 0) return base::IoError("cannot read " + path.string(), errno);
  auto trace = trace::UnpackTrace(bytes.str());
  if (!trace.ok())
    return base::Status(trace.status().code(), path.string() + ": " + trace.status().message());
  return trace;
}

std::string FormatNames() {
  std::string names(kOwnFormat);
  for (const trace::FormatInfo& info : trace::Formats()) names.append(", ").append(info.name);
  return names;
}

base::Result<std::string> FormatTrace(const trace::Trace& trace, const std::string& format,
                                      const std::filesystem::path& path,
                                      const trace::ExportOptions& options) {
  const auto known = trace::FindFormat(!format.empty() ? format : path.filename().string());
  if (format == kOwnFormat || (format.empty() && !known)) {
    if (!options.tid.has_value()) return trace::PackTrace(trace);
    const auto one = LAGWATCH_TRY(trace::OnlyThread(trace, *options.tid));
    return trace::PackTrace(one);
  }
  if (!known) {
    return base::Status(base::StatusCode::kInvalid,
                        "unknown format '" + format + "': there are " + FormatNames());
  }
  return trace::Export(*known, trace, options);
}

}  // namespace lagwatch::tools

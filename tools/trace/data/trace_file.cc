// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/data/trace_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
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

base::Status WriteWholeFile(const std::filesystem::path& path, const std::string& bytes) {
  // A special file, or a link as /dev/stdout is, is written to instead of replaced.
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  const bool is_special =
      type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::regular;
  std::filesystem::path part = path;
  if (!is_special) part += ".part" + std::to_string(getpid());
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file && (is_special || std::rename(part.c_str(), path.c_str()) == 0)) return {};
  base::Status status = base::IoError("cannot write " + path.string(), errno);
  if (!is_special) std::filesystem::remove(part, error);
  return status;
}

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
// Traces in files: lagwatch's own format, and those that others read. Context: background.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/status.h"
#include "trace/export/export.h"
#include "trace/model/trace.h"

namespace lagwatch::tools {

// Errors: kNotFound, kIo, kInvalid when it is no trace of lagwatch.
base::Result<trace::Trace> ReadTraceFile(const std::filesystem::path& path);

// lagwatch's own format, which holds everything; the rest is trace::Formats().
inline constexpr std::string_view kOwnFormat = "lwtrace";

// "lwtrace, perfetto, …".
std::string FormatNames();

// The trace as `format` (one of the above), or, where that is empty, as the file's name says: lagwatch's own
// when it does not say. Errors: kInvalid when there is no such format.
base::Result<std::string> FormatTrace(const trace::Trace& trace, const std::string& format,
                                      const std::filesystem::path& path,
                                      const trace::ExportOptions& options = {});

}  // namespace lagwatch::tools

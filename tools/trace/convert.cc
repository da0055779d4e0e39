// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>

#include "tools/read/output.h"
#include "tools/read/table.h"
#include "tools/trace/data/name_frames.h"
#include "tools/trace/data/trace_file.h"
#include "tools/trace/trace_commands.h"
#include "trace/format/whole_file.h"

namespace lagwatch::tools {
namespace {

int RefuseToConvert(const std::string& message) {
  std::cerr << "lagwatch: trace convert: " << Printable(message) << "\n";
  return 2;
}

std::filesystem::path DefaultOutput(const ConvertOptions& options) {
  std::filesystem::path path = options.input;
  const auto format = trace::FindFormat(options.format);
  path.replace_extension(format ? std::string(trace::InfoOf(*format).suffix) : "." + std::string(kOwnFormat));
  return path;
}

}  // namespace

int ConvertTrace(const ConvertOptions& options) {
  if (options.output.empty() && options.format.empty())
    return RefuseToConvert("no format given: use --to FORMAT (" + FormatNames() + ") or --output FILE");
  const std::filesystem::path output =
      options.output.empty() ? DefaultOutput(options) : std::filesystem::path(options.output);
  if (output == options.input)
    return RefuseToConvert(output.string() + " would be overwritten: use --output");
  auto namer = FrameNamer::Create(options.asks_debuginfod);
  if (!namer.ok()) return RefuseToConvert(namer.status().message());
  auto trace = ReadTraceFile(options.input);
  if (!trace.ok()) return RefuseToConvert(trace.status().message());
  {
    Progress progress;
    (*namer)->Name(&*trace,
                   [&](size_t done, size_t total) { progress.Show("naming functions", done, total); });
    progress.Say("writing " + output.string());
  }
  for (const std::string& note : (*namer)->TakeNotes()) Fail(note);
  const auto bytes = FormatTrace(*trace, options.format, output, {.tid = options.tid, .slices = {}});
  if (!bytes.ok()) return RefuseToConvert(bytes.status().message());
  if (output == "-") {
    std::cout << *bytes << std::flush;
    return std::cout ? 0 : RefuseToConvert("cannot write to standard output");
  }
  if (base::Status status = trace::WriteWholeFile(output, *bytes); !status.ok())
    return RefuseToConvert(status.message());
  std::cerr << "lagwatch: " << Printable(output.string()) << ": " << (bytes->size() + 1023) / 1024
            << " KiB\n";
  return 0;
}

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
// The parts of `lagwatch trace`. Each returns its exit code, after an error message on standard error: 2 if
// it cannot do its work. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/read/screen.h"
#include "tools/trace/data/recording.h"

namespace lagwatch::tools {

// Runs the program, records it until it ends, and writes the trace. Returns the program's exit code.
int RecordProgram(const RecordOptions& options);
// Records a running process, for the requested time, until it ends or this program is interrupted.
int RecordProcess(const RecordOptions& options);

struct ConvertOptions {
  std::string input;
  std::string output;  // empty: the input's name with the format's ending; "-": standard output
  std::string format;  // empty: as the output's name says
  std::optional<int32_t> tid;
  bool asks_debuginfod = false;
};

int ConvertTrace(const ConvertOptions& options);

struct ShowOptions {
  std::string input;
  size_t lines = 20;
  std::string sort = "self";  // or "total"
  bool asks_debuginfod = false;
  ScreenOptions screen;
};

int ShowTrace(const ShowOptions& options);

struct CompareOptions {
  std::string before;
  std::string after;
  size_t lines = 50;
  bool is_json = false;
  bool asks_debuginfod = false;
  ScreenOptions screen;
};

// Shows the calls of two recordings side by side.
int CompareTraces(const CompareOptions& options);

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
// Puts an event's stack traces into a report under construction, with its programs and libraries
// (debug_meta.images). Context: background; pure.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/format/report_encoder.h"

namespace lagwatch::collector {

struct DebugImage {
  std::string path;
  std::string build_id;  // raw bytes: an ELF file's build id, a Mach-O file's UUID
  uint64_t begin = 0;    // addresses in the process
  uint64_t end = 0;
  uint64_t load_bias = 0;  // address = load_bias + offset in the file's own address space
};

class DebugImages {
 public:
  // Images without an address, as of source maps, are left out.
  explicit DebugImages(const nlohmann::json& event);

  // Null when the address is in none. Lives as long as this.
  const DebugImage* Find(uint64_t address) const;

 private:
  std::vector<DebugImage> images_;  // by their begin
};

class StackWriter {
 public:
  static constexpr size_t kMaxFramesOfAStack = 1000;
  static constexpr size_t kMaxFrames = 50'000;

  // Borrows `encoder`.
  StackWriter(const nlohmann::json& event, report::ReportEncoder* encoder)
      : images_(event), encoder_(encoder) {}

  // The stack's index in the report; kNoStack if there is no room for another one. A frame is a place in an
  // image; without an address, for example of Java or JavaScript, its name stands for its place.
  uint32_t Add(const nlohmann::json& stacktrace);
  // The names of all functions so far.
  void AppendSymbols(std::string* encoded_report) const;

 private:
  report::Frame FrameOf(const nlohmann::json& frame, bool is_return_address);
  uint32_t ModuleOf(const std::string& path, const std::string& build_id, uint64_t load_bias);

  DebugImages images_;
  report::ReportEncoder* encoder_;
  std::map<std::pair<std::string, uint64_t>, uint32_t> modules_;         // by path and load bias
  std::map<std::pair<uint32_t, uint64_t>, std::string> function_names_;  // by module and place
  size_t frames_ = 0;
};

}  // namespace lagwatch::collector

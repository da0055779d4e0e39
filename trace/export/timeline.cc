// SPDX-License-Identifier: Apache-2.0
#include "trace/export/timeline.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "trace/model/functions.h"

namespace lagwatch::trace {
namespace {

std::string Dump(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line = nlohmann::json::parse(Dump(text)).get<std::string>();
  std::replace_if(
      line.begin(), line.end(),
      [](char each) { return static_cast<unsigned char>(each) < ' ' || each == '\x7f'; }, ' ');
  return line;
}

void AppendJson(std::string_view text, std::string* json) { *json += Dump(text); }

void AppendNumber(int64_t number, std::string* text) {
  char digits[24];
  text->append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

void AppendUs(int64_t ns, std::string* text) {
  constexpr int64_t kNsPerUs = 1'000;
  if (ns < 0) *text += '-';
  const int64_t distance_ns = ns < 0 ? -ns : ns;
  AppendNumber(distance_ns / kNsPerUs, text);
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03d", static_cast<int>(distance_ns % kNsPerUs));
  *text += fraction;
}

std::string Hex(uint64_t number) {
  char digits[2 + 16 + 1];
  std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(number));
  return digits;
}

std::vector<std::string> FunctionNames(const Trace& trace, const std::vector<uint32_t>& functions) {
  std::vector<std::string> names;
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i] == names.size()) names.push_back(OneLine(DisplayName(trace, trace.frames[i])));
  return names;
}

Timeline MakeTimeline(const Trace& trace, const SliceOptions& options) {
  Timeline timeline{.trace = trace,
                    .functions = FunctionNumbers(trace),
                    .frames = {},
                    .names = {},
                    .tracks = BuildTracks(trace, options)};
  timeline.names = FunctionNames(trace, timeline.functions);
  for (uint32_t i = 0; i < timeline.functions.size(); ++i)
    if (timeline.functions[i] == timeline.frames.size()) timeline.frames.push_back(i);
  return timeline;
}

std::string ThreadName(const Thread& thread) {
  return thread.name.empty() ? "thread " + std::to_string(thread.tid) : OneLine(thread.name);
}

bool HasTwoTracks(const Timeline& timeline, const Track& track) {
  const size_t index = static_cast<size_t>(&track - timeline.tracks.data());
  const size_t other = track.is_instrumented ? index - 1 : index + 1;
  return other < timeline.tracks.size() && timeline.tracks[other].thread == track.thread;
}

std::string TrackName(const Timeline& timeline, const Track& track) {
  const std::string name = ThreadName(timeline.trace.threads[track.thread]);
  return !track.is_instrumented && HasTwoTracks(timeline, track) ? name + " (samples)" : name;
}

}  // namespace lagwatch::trace

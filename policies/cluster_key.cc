// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster_key.h"

#include <algorithm>
#include <cstdio>

#include "base/hash.h"

namespace lagwatch::policies {
namespace {

// Of a lag's samples, in percent, that its cause is in.
constexpr size_t kSteadyPercent = 90;

bool Has(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsSteady(std::string_view name, std::span<const SeenNames> samples) {
  size_t with = 0;
  size_t all = 0;
  for (const SeenNames& sample : samples) {
    if (sample.names.empty()) continue;
    all += sample.count;
    if (Has(sample.names, name)) with += sample.count;
  }
  return with * 100 >= all * kSteadyPercent;
}

auto FindEnd(std::span<const ClusterFrame> stack) {
  return std::ranges::find(stack, FrameRole::kEnd, &ClusterFrame::role);
}

uint64_t HashFrames(std::span<const std::string> frames, uint64_t hash) {
  for (const std::string& frame : frames) hash = base::HashBytes("\n", base::HashBytes(frame, hash));
  return hash;
}

}  // namespace

std::vector<std::string_view> SignificantNames(std::span<const ClusterFrame> stack) {
  const auto within = stack.first(static_cast<size_t>(FindEnd(stack) - stack.begin()));
  std::vector<std::string_view> names;
  for (auto frame = within.rbegin(); frame != within.rend(); ++frame) {
    if (frame->role == FrameRole::kSignificant && !Has(names, frame->name)) names.push_back(frame->name);
  }
  std::reverse(names.begin(), names.end());
  return names;
}

std::vector<std::string_view> NameOfTheRest(std::span<const ClusterFrame> stack) {
  if (stack.empty()) return {};
  auto end = FindEnd(stack);
  return {end != stack.end() ? end->name : stack.front().name};
}

std::vector<std::string_view> WithoutPassingNames(std::vector<std::string_view> names,
                                                  std::span<const SeenNames> samples) {
  auto steady = std::ranges::find_if(names, [&](std::string_view name) { return IsSteady(name, samples); });
  if (steady != names.end()) names.erase(names.begin(), steady);
  return names;
}

std::vector<std::string> InnermostSignificant(std::span<const std::string> functions, size_t count,
                                              const WaitFrames& wait_frames) {
  size_t first = 0;
  while (first < functions.size() && wait_frames.Contains(functions[first])) ++first;
  if (first == functions.size()) first = 0;
  std::span<const std::string> rest = functions.subspan(first);
  rest = rest.first(std::min(count, rest.size()));
  return {rest.begin(), rest.end()};
}

std::string ClusterKey(ClusterBy algorithm, int level, std::span<const std::string> frames,
                       std::span<const std::string> held_by) {
  uint64_t hash = base::HashWord(static_cast<uint64_t>(level), base::kFnvOffsetBasis);
  // Keys of the first algorithm were given before there was a second.
  if (algorithm != ClusterBy::kRaw) hash = base::HashWord(static_cast<uint64_t>(algorithm), hash);
  hash = HashFrames(frames, hash);
  if (!held_by.empty()) hash = HashFrames(held_by, base::HashBytes("held by\n", hash));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace lagwatch::policies

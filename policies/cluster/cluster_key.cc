// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/cluster_key.h"

#include <algorithm>
#include <cstdio>

#include "base/hash.h"

namespace lagwatch::policies {
namespace {

// Of a hang's samples, in percent, that its cause is in.
constexpr size_t kSteadyPercent = 90;

bool Has(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Of fewer samples, some of a helper's stand side by side too often by chance.
constexpr size_t kFewestSamplesOfPhase = 10;

// Whether what `name` did is what took the time: it is in nearly all samples, or in most of them and in all
// from its first to its last. Samples of a helper that is called again and again have others in between.
bool TookTheTime(std::string_view name, std::span<const SeenNames> samples) {
  size_t with = 0;
  size_t all = 0;
  size_t runs = 0;
  bool was_within = false;
  for (const SeenNames& sample : samples) {
    if (sample.names.empty()) continue;
    const bool is_within = Has(sample.names, name);
    all += sample.count;
    if (is_within) with += sample.count;
    if (is_within && !was_within) ++runs;
    was_within = is_within;
  }
  const bool is_phase = runs == 1 && 2 * with > all && all >= kFewestSamplesOfPhase;
  return is_phase || with * 100 >= all * kSteadyPercent;
}

auto FindEnd(std::span<const ClusterFunction> stack) {
  return std::ranges::find(stack, FrameRole::kEnd, &ClusterFunction::role);
}

uint64_t HashFrames(std::span<const std::string> frames, uint64_t hash) {
  for (const std::string& frame : frames) hash = base::HashBytes("\n", base::HashBytes(frame, hash));
  return hash;
}

}  // namespace

std::vector<std::string_view> SignificantNames(std::span<const ClusterFunction> stack) {
  const auto within = stack.first(static_cast<size_t>(FindEnd(stack) - stack.begin()));
  std::vector<std::string_view> names;
  for (auto frame = within.rbegin(); frame != within.rend(); ++frame) {
    if (frame->role == FrameRole::kSignificant && !Has(names, frame->name)) names.push_back(frame->name);
  }
  std::reverse(names.begin(), names.end());
  return names;
}

std::vector<std::string_view> NameOfTheRest(std::span<const ClusterFunction> stack) {
  if (stack.empty()) return {};
  auto end = FindEnd(stack);
  return {end != stack.end() ? end->name : stack.front().name};
}

std::vector<std::string_view> WithoutPassingNames(std::vector<std::string_view> names,
                                                  std::span<const SeenNames> samples) {
  auto cause = std::ranges::find_if(names, [&](std::string_view name) { return TookTheTime(name, samples); });
  if (cause != names.end()) names.erase(names.begin(), cause);
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

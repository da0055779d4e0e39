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

// Whether a sample that `names.front()` is not in was seen outside of it. A stack that was cut before it came
// as far as to what called it does not say so.
bool SaysMore(const SeenNames& sample, std::span<const std::string_view> names) {
  return !sample.is_cut || std::ranges::any_of(names.subspan(1), [&](std::string_view caller) {
    return Has(sample.names, caller);
  });
}

// Whether what the first of `names` did is what took the time: it is in nearly all samples, or in most of
// them and in all from its first to its last. Samples of a helper that is called again and again have others
// in between.
bool TookTheTime(std::span<const std::string_view> names, std::span<const SeenNames> samples) {
  size_t with = 0;
  size_t all = 0;
  size_t runs = 0;
  bool was_within = false;
  for (const SeenNames& sample : samples) {
    const bool is_within = Has(sample.names, names.front());
    if (sample.names.empty() || (!is_within && !SaysMore(sample, names))) continue;
    all += sample.count;
    if (is_within) with += sample.count;
    if (is_within && !was_within) ++runs;
    was_within = is_within;
  }
  const bool is_phase = runs == 1 && 2 * with > all && all >= kFewestSamplesOfPhase;
  return is_phase || with * 100 >= all * kSteadyPercent;
}

using StackPart = std::span<const ClusterFunction>;

bool IsEnd(const ClusterFunction& frame) {
  return frame.role == FrameRole::kEnd || frame.role == FrameRole::kLoop;
}

auto FindEnd(StackPart stack) { return std::ranges::find_if(stack, IsEnd); }

bool HasNames(StackPart stack) {
  return std::ranges::any_of(stack, [](const auto& frame) { return IsNameable(frame.role); });
}

// Up to the signal whose handler the thread is in: a handler without names stands for what it interrupted.
StackPart WithinSignal(StackPart stack) {
  for (size_t i = 0; i < stack.size(); ++i) {
    if (stack[i].role == FrameRole::kSignal && HasNames(stack.first(i))) return stack.first(i);
  }
  return stack;
}

// A call that waits by running a loop of its own: what runs it is a library's, or the loop is within another.
bool IsSynchronousCall(StackPart caller, StackPart beyond) {
  const auto first = std::ranges::find_if(caller, [](const auto& frame) { return IsNameable(frame.role); });
  if (first == caller.end()) return false;
  return first->role == FrameRole::kLibrary || (!beyond.empty() && beyond.front().role == FrameRole::kLoop);
}

// Up to the innermost end. Where that is a loop that has nothing to do, in a call: of the call, up to the
// next.
StackPart WithinEnd(StackPart stack) {
  const auto size_to_end = [](StackPart part) { return static_cast<size_t>(FindEnd(part) - part.begin()); };
  const StackPart within = stack.first(size_to_end(stack));
  StackPart rest = stack.subspan(within.size());
  if (HasNames(within)) return WithinSignal(within);
  while (!rest.empty() && rest.front().role == FrameRole::kLoop) {
    rest = rest.subspan(1);
    const StackPart caller = rest.first(size_to_end(rest));
    rest = rest.subspan(caller.size());
    if (IsSynchronousCall(caller, rest)) return WithinSignal(caller);
    if (HasNames(caller)) break;
  }
  return within;
}

uint64_t HashFrames(std::span<const std::string> frames, uint64_t hash) {
  for (const std::string& frame : frames) hash = base::HashBytes("\n", base::HashBytes(frame, hash));
  return hash;
}

}  // namespace

bool HasOwnNames(std::span<const ClusterFunction> stack) {
  return std::ranges::any_of(WithinEnd(stack),
                             [](const auto& frame) { return frame.role == FrameRole::kSignificant; });
}

bool ReachesEnd(StackPart stack) {
  return FindEnd(stack) != stack.end() || WithinSignal(stack).size() < stack.size();
}

std::vector<std::string_view> SignificantNames(std::span<const ClusterFunction> stack) {
  const auto within = WithinEnd(stack);
  const FrameRole role = HasOwnNames(stack) ? FrameRole::kSignificant : FrameRole::kLibrary;
  std::vector<std::string_view> names;
  for (auto frame = within.rbegin(); frame != within.rend(); ++frame) {
    if (frame->role == role && !Has(names, frame->name)) names.push_back(frame->name);
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
  for (auto cause = names.begin(); cause != names.end(); ++cause) {
    if (!TookTheTime({cause, names.end()}, samples)) continue;
    names.erase(names.begin(), cause);
    break;
  }
  return names;
}

std::vector<std::string_view> WithCallersOf(std::vector<std::string_view> names,
                                            std::span<const SeenNames> samples) {
  for (const SeenNames& sample : samples) {
    if (names.empty() || sample.is_cut) continue;
    const auto last = std::ranges::find(sample.names, names.back());
    if (last == sample.names.end()) continue;
    names.insert(names.end(), std::next(last), sample.names.end());
    break;
  }
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

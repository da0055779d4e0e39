// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/report_limits.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "report/format/field_tables.h"

namespace lagwatch::collector {
namespace {

size_t ShownFrames(const report::Report& report) {
  size_t frames = report.stacks[report.expensive_stack].frames.size();
  for (const report::Sample& sample : report.samples) frames += report.stacks[sample.stack].frames.size();
  for (const report::Thread& thread : report.threads) {
    if (thread.stack != report::kNoStack) frames += report.stacks[thread.stack].frames.size();
  }
  for (const report::Wait& wait : report.waits) {
    for (uint32_t stack : {wait.stack, wait.owner_stack}) {
      if (stack != report::kNoStack) frames += report.stacks[stack].frames.size();
    }
  }
  return frames + report.samples.size() + report.threads.size() + report.waits.size();
}

}  // namespace

Status CheckTexts(const char* has, std::initializer_list<std::string_view> texts) {
  if (std::ranges::all_of(texts, [](std::string_view text) { return text.size() <= kMaxTextBytes; }))
    return {};
  return {StatusCode::kInvalid,
          std::string(has) + " a text of more than " + std::to_string(kMaxTextBytes) + " bytes"};
}

Status CheckLimits(const report::Report& report) {
  const bool has_long_text = report::kHeaderTable(report, [](auto, const auto& field) {
    if constexpr (std::is_same_v<decltype(field), const std::string&>) return field.size() > kMaxTextBytes;
    return false;
  });
  if (has_long_text) {
    return {StatusCode::kInvalid,
            "the report has a header text of more than " + std::to_string(kMaxTextBytes) + " bytes"};
  }
  const struct {
    size_t count;
    size_t limit;
    const char* name;
  } lists[] = {
      {ShownFrames(report), kMaxShownFrames, "frames in its stacks"},
      {report.modules.size(), kMaxModules, "modules"},
      {report.stacks.size(), kMaxStacks, "stacks"},
      {report.symbols.size(), kMaxSymbols, "symbols"},
      {report.history.size(), kMaxHistory, "past dispatches"},
      {report.facts.size(), kMaxFacts, "facts"},
  };
  for (const auto& list : lists) {
    if (list.count <= list.limit) continue;
    return {StatusCode::kInvalid, "the report has more than " + std::to_string(list.limit) + " " + list.name};
  }
  return {};
}

Status CheckLimits(const report::RunEnd& end) {
  return CheckTexts("the run's end has", {end.loop, end.scene, end.app, end.app_version, end.user});
}

Status CheckLimits(const report::FrameSlice& slice) {
  return CheckTexts("the frames' record has",
                    {slice.loop, slice.scene, slice.app, slice.app_version, slice.user});
}

Status CheckLimits(const report::Usage& usage) {
  auto is_long = [](const std::string& text) { return text.size() > kMaxTextBytes; };
  bool has_long_text = is_long(usage.app) || is_long(usage.app_version) || is_long(usage.user);
  for (const report::LoopUsage& loop : usage.loops) has_long_text |= is_long(loop.loop);
  for (const report::SlowTag& slow : usage.slow) has_long_text |= is_long(slow.loop) || is_long(slow.tag);
  for (const report::ValueUsage& value : usage.values)
    has_long_text |= is_long(value.key) || is_long(value.value);
  if (has_long_text) {
    return {StatusCode::kInvalid,
            "the usage has a text of more than " + std::to_string(kMaxTextBytes) + " bytes"};
  }
  if (usage.loops.size() + usage.slow.size() + usage.values.size() > kMaxUsageEntries) {
    return {StatusCode::kInvalid,
            "the usage has more than " + std::to_string(kMaxUsageEntries) + " loops, tags and values"};
  }
  return {};
}

Status CheckLimits(const report::Losses& losses) {
  if (Status texts = CheckTexts("the losses have", {losses.app, losses.app_version, losses.user});
      !texts.ok())
    return texts;
  if (losses.losses.size() > kMaxLosses)
    return {StatusCode::kInvalid, "the record has more than " + std::to_string(kMaxLosses) + " losses"};
  return {};
}

}  // namespace lagwatch::collector

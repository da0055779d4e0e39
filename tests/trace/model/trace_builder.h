// SPDX-License-Identifier: Apache-2.0
// Traces by hand: stacks as "main;Handle;Load", times in milliseconds.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/model/trace.h"

namespace lagwatch::testing {

inline constexpr int64_t kMs = 1'000'000;

class TraceBuilder {
 public:
  TraceBuilder() {
    trace.pid = 100;
    trace.process_name = "editor";
    trace.sample_interval_ns = 10 * kMs;
    trace.modules.push_back({.path = "/opt/editor", .build_id = "\x01\xab", .load_bias = 0x400000});
    AddThread("main");
  }

  // Its index.
  uint32_t AddThread(std::string name) {
    const auto index = static_cast<uint32_t>(trace.threads.size());
    trace::Thread& thread = trace.threads.emplace_back();
    thread.tid = 100 + static_cast<int32_t>(index);
    thread.name = std::move(name);
    return index;
  }

  uint32_t Frame(const std::string& name) {
    const auto number = static_cast<uint32_t>(trace.frames.size());
    const auto [found, is_new] = frames_.try_emplace(name, number);
    if (is_new) {
      const uint64_t start = 0x1000 + 0x100 * uint64_t{number};
      trace.frames.push_back({{0, start + 8, start}, name, "editor.cc", number + 1});
    }
    return found->second;
  }

  uint32_t Stack(const std::vector<std::string>& names) {
    uint32_t node = trace::kNoIndex;
    for (const std::string& name : names) {
      const auto number = static_cast<uint32_t>(trace.nodes.size());
      const auto [found, is_new] = nodes_.try_emplace({node, Frame(name)}, number);
      if (is_new) trace.nodes.push_back({.parent = node, .frame = Frame(name)});
      node = found->second;
    }
    return node;
  }
  uint32_t Stack(std::string_view text) {
    std::vector<std::string> names;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(';', begin), text.size());
      names.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return Stack(names);
  }

  // Adds a run of `thread`, at its end, and returns it to be changed until the next one is added.
  trace::Run& Add(uint32_t thread, trace::RunKind kind, int64_t begin_ms, int64_t end_ms,
                  std::string_view stack) {
    trace::Run run;
    run.begin_ns = begin_ms * kMs;
    run.end_ns = end_ms * kMs;
    run.stack = Stack(stack);
    run.kind = kind;
    trace.end_ns = std::max(trace.end_ns, run.end_ns);
    trace.threads[thread].runs.push_back(run);
    return trace.threads[thread].runs.back();
  }
  trace::Run& Sample(int64_t time_ms, std::string_view stack, uint32_t dispatch = 0) {
    trace::Run& run = Add(0, trace::RunKind::kSampled, time_ms, time_ms, stack);
    run.dispatch = dispatch;
    return run;
  }
  trace::Run& Capture(int64_t time_ms, std::string_view stack,
                      trace::CallKind call = trace::CallKind::kAllocation) {
    trace::Run& run = Add(0, trace::RunKind::kCaptured, time_ms, time_ms, stack);
    run.call = call;
    return run;
  }
  trace::Run& Wait(uint32_t thread, int64_t begin_ms, int64_t end_ms, std::string_view stack,
                   trace::CallKind call = trace::CallKind::kMutex, uint64_t object = 0x10) {
    trace::Run& run = Add(thread, trace::RunKind::kWaited, begin_ms, end_ms, stack);
    run.call = call;
    run.object = object;
    return run;
  }
  trace::Run& Wake(uint32_t thread, int64_t time_ms, std::string_view stack,
                   trace::CallKind call = trace::CallKind::kMutex, uint64_t object = 0x10) {
    trace::Run& run = Add(thread, trace::RunKind::kWoke, time_ms, time_ms, stack);
    run.call = call;
    run.object = object;
    return run;
  }
  void Call(int64_t time_ms, const std::string& name, bool is_enter, uint32_t thread = 0) {
    const uint32_t frame = Frame(name);
    trace.threads[thread].calls.push_back({time_ms * kMs, frame, is_enter});
    trace.end_ns = std::max(trace.end_ns, time_ms * kMs);
  }

  trace::Trace trace;

 private:
  std::map<std::string, uint32_t> frames_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> nodes_;
};

}  // namespace lagwatch::testing

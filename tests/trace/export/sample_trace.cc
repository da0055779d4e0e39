// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/export/sample_trace.h"

#include "tests/trace/model/trace_builder.h"

namespace lagwatch::testing {
namespace {

constexpr uint64_t kIndexLock = 0x7f00'1234'5678;

constexpr const char* kOnKey = "main;Loop::Run();Editor::OnKey(int)";

void AddMain(TraceBuilder* builder) {
  builder->trace.threads[0].dispatches = {{1, 1'000 * kMs, 1'100 * kMs, "key"},
                                          {2, 1'105 * kMs, 1'200 * kMs, "paint"}};
  const std::string lookup = std::string(kOnKey) + ";Index::Lookup(std::string const&)";
  builder->Sample(1'005, lookup, 1);
  builder->Sample(1'015, lookup + ";memcmp", 1);
  trace::Run& captured = builder->Capture(1'022, lookup + ";malloc");
  captured.dispatch = 1;
  captured.totals = trace::Totals{.cpu_ns = 22 * kMs, .allocations = 10, .allocated_bytes = 4'096};
  trace::Run& wait =
      builder->Wait(0, 1'030, 1'071, lookup + ";pthread_mutex_lock", trace::CallKind::kMutex, kIndexLock);
  wait.dispatch = 1;
  wait.totals = trace::Totals{.cpu_ns = 30 * kMs,
                              .allocations = 12,
                              .allocated_bytes = 8'192,
                              .minor_faults = 3,
                              .voluntary_switches = 1};
  builder->Sample(1'050, lookup + ";pthread_mutex_lock;futex_wait", 1);
  builder->Sample(1'078, std::string(kOnKey) + ";Editor::Insert()", 1);
  trace::Run& paint = builder->Sample(1'110, "main;Loop::Run();Editor::Paint();Text::Layout()", 2);
  paint.end_ns = 1'180 * kMs;
  paint.count = 8;
  builder->Sample(1'190, "main;Loop::Run();Editor::Paint();Text::Draw()", 2);
}

void AddIndexer(TraceBuilder* builder) {
  const uint32_t thread = builder->AddThread("indexer");
  for (int64_t time_ms = 1'002; time_ms < 1'070; time_ms += 10)
    builder->Add(thread, trace::RunKind::kSampled, time_ms, time_ms, "start_thread;Indexer::Rebuild()");
  builder->Wake(thread, 1'070, "start_thread;Indexer::Rebuild();pthread_mutex_unlock",
                trace::CallKind::kMutex, kIndexLock);
  builder->Add(thread, trace::RunKind::kSampled, 1'080, 1'080, "start_thread;Indexer::Rest()");
}

void AddRenderer(TraceBuilder* builder) {
  const uint32_t thread = builder->AddThread("");
  builder->Add(thread, trace::RunKind::kSampled, 1'010, 1'060, "start_thread;Render()").count = 6;
  builder->Call(1'004, "Forgotten()", false, thread);
  builder->Call(1'008, "Render()", true, thread);
  builder->Call(1'020, "Upload()", true, thread);
  builder->Call(1'031, "Upload()", false, thread);
  builder->Call(1'055, "Render()", false, thread);
  builder->Call(1'190, "Swap()", true, thread);
}

}  // namespace

trace::Trace MakeSampleTrace() {
  TraceBuilder builder;
  AddMain(&builder);
  AddIndexer(&builder);
  AddRenderer(&builder);
  trace::Trace& trace = builder.trace;
  trace.begin_ns = 1'000 * kMs;
  trace.end_ns = 1'200 * kMs;
  trace.wall_minus_mono_ns = 1'700'000'000'000 * kMs;
  trace.boot_minus_mono_ns = 5'000 * kMs;
  trace.losses.push_back({"samples overwritten", 17, "--buffer-mib 32"});
  return trace;
}

std::vector<std::string> HostileNames() {
  return {"\"quoted\"",
          "back\\slash",
          "two\nlines",
          "cr\r\ttab",
          "a;b;c",
          "ends with 12",
          "#hash",
          "+plus",
          "POP",
          "invalid \xff\xc3(",
          "half \xe2\x82",
          "overlong \xc0\xaf",
          "\xed\xa0\x80",
          std::string("nul\0!", 5),
          "</script><b>&amp;",
          "ünïcödé 漢字",
          " ",
          "%s%n",
          "\x7f\x1b[31m",
          "template<a, b>::f(int)::{lambda()#1}"};
}

trace::Trace MakeHostileTrace() {
  TraceBuilder builder;
  trace::Trace& trace = builder.trace;
  int64_t time_ms = 1'000;
  for (const std::string& name : HostileNames()) {
    builder.Sample(time_ms, "main").stack = builder.Stack(std::vector<std::string>{"main", name});
    const uint32_t thread = builder.AddThread(name);
    builder.Add(thread, trace::RunKind::kSampled, time_ms, time_ms, "main");
    trace.modules.push_back({.path = "/" + name, .build_id = name, .load_bias = 0x10'0000});
    trace.frames.back().module = static_cast<uint32_t>(trace.modules.size() - 1);
    trace.frames.back().file = name;
    trace.threads[0].dispatches.push_back(
        {static_cast<uint32_t>(thread), time_ms * kMs, (time_ms + 9) * kMs, name});
    trace.threads[0].runs.back().dispatch = thread;
    trace.losses.push_back({name, 1, name});
    time_ms += 10;
  }
  trace.process_name = HostileNames()[0] + HostileNames()[2] + HostileNames()[9];
  trace.begin_ns = 1'000 * kMs;
  trace.end_ns = time_ms * kMs;
  return trace;
}

trace::Trace MakeLongTrace(size_t run_count) {
  TraceBuilder builder;
  std::vector<std::string> names;
  for (int depth = 0; depth < 19; ++depth) names.push_back("Frame" + std::to_string(depth));
  std::vector<uint32_t> stacks;
  for (int leaf = 0; leaf < 100; ++leaf) {
    names.resize(static_cast<size_t>(10 + leaf % 10));
    while (names.size() < 20)
      names.push_back("F" + std::to_string(leaf) + "_" + std::to_string(names.size()));
    stacks.push_back(builder.Stack(names));
  }
  auto& runs = builder.trace.threads[0].runs;
  for (size_t i = 0; i < run_count; ++i) {
    trace::Run& run = runs.emplace_back();
    run.begin_ns = run.end_ns = static_cast<int64_t>(i) * 10 * kMs;
    run.stack = stacks[i * 7 % stacks.size()];
  }
  builder.trace.end_ns = static_cast<int64_t>(run_count) * 10 * kMs;
  return builder.trace;
}

}  // namespace lagwatch::testing

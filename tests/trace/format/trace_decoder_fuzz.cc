// SPDX-License-Identifier: Apache-2.0
// Decodes any bytes as a trace, or refuses them with a message. A decoded trace can be shown,
// and written again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/seeds.h"
#include "trace/format/trace_codec.h"
#include "trace/model/slices.h"
#include "trace/model/wakes.h"
#include "trace/model/weights.h"

namespace {

using namespace lagwatch::trace;

constexpr DecodeLimits kLimits{.element_count = 10'000, .text_bytes = 100'000};

Trace SmallTrace() {
  Trace trace;
  trace.pid = 1;
  trace.end_ns = 50'000'000;
  trace.sample_interval_ns = 10'000'000;
  trace.modules = {{.path = "/bin/m", .build_id = "id", .load_bias = 0x1000}};
  trace.frames = {{{0, 0x20, 0x10}}, {{kNoIndex, 0, 0}, "F", "f.c", 7}};
  trace.nodes = {{.parent = kNoIndex, .frame = 0}, {.parent = 0, .frame = 1}};
  Thread& thread = trace.threads.emplace_back();
  thread.tid = 1;
  thread.name = "main";
  for (int64_t i = 0; i < 4; ++i) {
    Run& run = thread.runs.emplace_back();
    run.begin_ns = i * 10'000'000;
    run.end_ns = run.begin_ns + i * 1'000'000;
    run.stack = static_cast<uint32_t>(i % 2);
    run.dispatch = static_cast<uint32_t>(i / 2);
    run.kind = static_cast<RunKind>(i);
    run.call = i == 0 ? CallKind::kNone : CallKind::kMutex;
    run.object = 0x10;
    if (i != 0) run.totals = Totals{.cpu_ns = i};
  }
  thread.calls = {{1'000, 1, true}, {2'000, 1, false}};
  thread.dispatches = {{1, 20'000'000, 35'000'000, "key"}};
  trace.losses = {{"samples", 3, "--main-mib"}};
  return trace;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static lagwatch::testing::FuzzSeeds seeds;
  seeds.Add(EncodeTrace(SmallTrace()));
  seeds.Add(PackTrace(SmallTrace()));
  seeds.AppendTo(argc, argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size_bytes);
  if (const auto unpacked = UnpackTrace(bytes, 1 << 20);
      !unpacked.ok() && unpacked.status().message().empty())
    abort();
  const auto trace = DecodeTrace(bytes, kLimits);
  if (!trace.ok()) {
    if (trace.status().message().empty()) abort();
    return 0;
  }
  static_cast<void>(BuildTracks(*trace));
  static_cast<void>(WeighStacks(*trace));
  static_cast<void>(FindWakes(*trace));
  const auto again = DecodeTrace(EncodeTrace(*trace));
  if (!again.ok() || again->threads.size() != trace->threads.size()) abort();
  return 0;
}

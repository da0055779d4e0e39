// SPDX-License-Identifier: Apache-2.0
// Linked into a workload: records its calls, as LAGWATCH_BENCH_CLOCK says ("precise", "coarse"; else not),
// patched to do so if LAGWATCH_BENCH_PATCH is set.
#include <sys/mman.h>

#include <cstdlib>
#include <string_view>

#include "trace/instrument/call_recorder.h"
#include "trace/instrument/function_patcher.h"

namespace {

constexpr uint64_t kBlocks = 512;  // 8 MiB, the recorder's default

[[gnu::constructor]] void StartFromEnvironment() {
  using namespace lagwatch::trace;
  const char* clock = std::getenv("LAGWATCH_BENCH_CLOCK");
  if (clock == nullptr) return;
  void* memory = mmap(nullptr, BlockPool::SizeBytes(kBlocks), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  auto* pool = static_cast<BlockPoolHeader*>(memory);
  pool->block_count = kBlocks;
  if (!StartCalls(pool, std::string_view(clock) == "coarse" ? CallClock::kCoarse : CallClock::kPrecise))
    std::abort();
  if (std::getenv("LAGWATCH_BENCH_PATCH") == nullptr) return;
  auto* patcher = new FunctionPatcher;  // for as long as the program runs
  if (patcher->Apply({}).patched == 0) std::abort();
}

}  // namespace

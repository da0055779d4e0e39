// SPDX-License-Identifier: Apache-2.0
// Hits with any values, of a program that the verifier has accepted; aborts if it breaks a promise.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "probe/run/interpreter.h"
#include "probe/run/loop.h"
#include "probe/verify/verifier.h"

namespace lagwatch::probe {

// Answers any address, now with all, now with less than was asked for.
inline size_t ReadAnything(const Hit& hit, uint64_t address, void* to, size_t size) {
  if (hit.now_ticks % 3 == 0) return 0;
  const size_t given = address % 5 == 0 ? address % (size + 1) : size;
  for (size_t i = 0; i < given; ++i) {
    static_cast<char*>(to)[i] = static_cast<char>(address * 31 + i * 7 + (address >> i % 8));
  }
  return given;
}
inline size_t CaptureAnything(const Hit& hit, uint64_t* addresses, size_t most) {
  const size_t depth = hit.tid % (most + 2);  // one too many, too
  for (size_t i = 0; i < depth && i < most; ++i) addresses[i] = 0x1000 * (i + 1) + hit.tid;
  return depth;
}
inline uint64_t AnyCpuTime(const Hit& hit) { return hit.now_ticks; }

// Memory of a program with guards around it, in which alone it may write.
class GuardedBlock {
 public:
  explicit GuardedBlock(const VerifiedProgram& program) : size_(ProbeState::Bytes(program)) {
    memory_.reset(std::aligned_alloc(64, size_ + 2 * kGuard));
    std::memset(memory_.get(), 0xA5, size_ + 2 * kGuard);
    std::memset(begin(), 0, size_);
  }
  char* begin() const { return static_cast<char*>(memory_.get()) + kGuard; }
  bool IsWhole() const {
    for (size_t i = 0; i < kGuard; ++i) {
      if (static_cast<char*>(memory_.get())[i] != '\xA5' || begin()[size_ + i] != '\xA5') return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 4096;
  struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
  };
  size_t size_;
  std::unique_ptr<void, FreeMemory> memory_;
};

// One hit, run by the loop that hits run: within the verifier's count of operations and their costs. Returns
// the count.
inline uint32_t RunHostileHit(const VerifiedProbe& probe, const BlockView& block, uint64_t seed) {
  static constexpr uint32_t kCosts[] = {
#define OPERATION(name, to, a, b, number, cost) cost,
#include "probe/operations.def"
  };
  static constexpr HitServices kHostile{
      .read = ReadAnything, .capture_stack = CaptureAnything, .cpu_time_ns = AnyCpuTime};
  uint64_t ints[kJavaArguments];
  double floats[8];
  for (size_t i = 0; i < kJavaArguments; ++i) ints[i] = Mixed(seed + i) >> (seed % 64);
  for (size_t i = 0; i < 8; ++i) floats[i] = std::bit_cast<double>(Mixed(seed * 3 + i));
  HitDetails details;
  details.thrown_type = "abc";
  details.bytes = seed;
  details.loop = "main";
  Hit hit;
  hit.services = &kHostile;
  hit.int_arguments = seed % 7 == 6 ? nullptr : ints;
  hit.float_arguments = seed % 7 == 6 ? nullptr : floats;
  hit.details = seed % 4 == 0 ? nullptr : &details;
  hit.tid = static_cast<uint32_t>(seed % 70);
  hit.stack_arguments = seed % 2 == 0 ? 0x1000 : 0;
  hit.now_ticks = 1 + seed * 1'000'003;
  hit.duration_ticks = seed;
  Frame frame(probe, hit, block, seed, 1);
  uint32_t operations = 0;
  uint32_t cost_ns = 0;
  RunOperations(frame, [&](const Operation& operation) {
    ++operations;
    cost_ns += kCosts[static_cast<size_t>(operation.code)];
  });
  if (operations > probe.most_operations() || cost_ns > probe.cost_ns()) std::abort();
  return operations;
}

// A few hits of each probe, and what the background thread does afterwards. Returns the operations.
inline uint64_t RunHostileHits(const VerifiedProgram& program, uint64_t seed) {
  const GuardedBlock memory(program);
  ProbeState state(program, memory.begin(), ProbeClock{}, 0);
  uint64_t operations = 0;
  for (const VerifiedProbe& probe : program.probes()) {
    for (uint64_t i = 0; i < 4; ++i)
      operations += RunHostileHit(probe, state.block(), Mixed(seed) >> (i * 16));
  }
  std::string records;
  state.TakeRecords(100, &records);
  if (state.Snapshot().empty() || !memory.IsWhole()) std::abort();
  return operations;
}

}  // namespace lagwatch::probe

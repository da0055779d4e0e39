// SPDX-License-Identifier: Apache-2.0
// A script that is compiled, verified and ready for hits, with a mechanism that reads this process's memory.
#pragma once

#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probe/compile/compiler.h"
#include "probe/run/interpreter.h"
#include "probe/verify/verifier.h"

namespace lagwatch::probe {

// The message of a script that is refused, by the compiler or the verifier; "" if it is accepted.
inline std::string RefusalOf(std::string_view script) {
  Result<Program> program = CompileScript(script, nullptr);
  if (!program.ok()) return program.status().message();
  const Result<VerifiedProgram> verified = Verify(std::move(*program));
  return verified.ok() ? "" : verified.status().message();
}

// Reads that the kernel makes, so that a bad address is an error.
inline size_t ReadOwnMemory(const Hit&, uint64_t address, void* to, size_t size) {
  const iovec local{to, size};
  const iovec remote{reinterpret_cast<void*>(address), size};
  const ssize_t read = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return read < 0 ? 0 : static_cast<size_t>(read);
}

inline size_t CaptureFixedStack(const Hit& hit, uint64_t* addresses, size_t most) {
  const size_t depth = std::min<size_t>(most, 1 + hit.tid % 70);
  for (size_t i = 0; i < depth; ++i) addresses[i] = 0x1000 * (i + 1) + hit.tid;
  return depth;
}

inline uint64_t FixedCpuTime(const Hit&) { return 123'000'000; }

inline constexpr HitServices kTestServices{
    .read = ReadOwnMemory, .capture_stack = CaptureFixedStack, .cpu_time_ns = FixedCpuTime};

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;

inline Memory ZeroedMemory(size_t size) {
  const size_t rounded = (size + 63) / 64 * 64;
  void* const memory = std::aligned_alloc(64, rounded);
  std::memset(memory, 0, rounded);
  return Memory(memory);
}

class ArmedScript {
 public:
  explicit ArmedScript(std::string_view script, uint32_t mechanism_ns = 0) {
    Result<Program> program = CompileScript(script, nullptr);
    EXPECT_TRUE(program.ok()) << program.status().message() << "\n" << script;
    if (!program.ok()) std::abort();
    Arm(std::move(*program), mechanism_ns);
  }
  explicit ArmedScript(Program program, uint32_t mechanism_ns = 0) { Arm(std::move(program), mechanism_ns); }

  const VerifiedProbe& probe(size_t index = 0) const { return verified_->probes()[index]; }
  const Program& program() const { return verified_->program(); }
  ProbeState& state() { return *state_; }
  const BlockView& block() const { return state_->block(); }

  // A hit of the probe's kind, with the arguments.
  HitEnd Run(const std::vector<uint64_t>& arguments = {}, size_t probe_index = 0, uint32_t tid = 0) {
    Hit hit;
    hit.tid = tid;
    uint64_t ints[12] = {};
    std::copy(arguments.begin(), arguments.end(), ints);
    static constexpr double kFloats[8] = {0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5};
    hit.int_arguments = ints;
    hit.float_arguments = kFloats;
    return Run(hit, probe_index);
  }
  // By another thread each time: none is over its budget, however slow the machine.
  HitEnd RunByAThread(const std::vector<uint64_t>& arguments = {}) {
    return Run(arguments, 0, next_tid_++ % kThreadSlots);
  }
  HitEnd Run(Hit hit, size_t probe_index = 0) {
    if (hit.services == nullptr) hit.services = &kTestServices;
    hit.kind = probe(probe_index).place().kind;
    return RunProbe(probe(probe_index), hit, state_.get());
  }
  // The value of an aggregate's only cell, over its shards.
  uint64_t Total(size_t aggregate = 0, size_t word = 0) const {
    const AggregateTable& table = block().aggregates[aggregate];
    uint64_t total = 0;
    for (size_t cell = 0; cell < (table.mask + size_t{1}) * (table.shard_mask + size_t{1}); ++cell) {
      total += table.cells[cell * table.cell_words + 1 + table.key_words + word].load();
    }
    return total;
  }

 private:
  void Arm(Program program, uint32_t mechanism_ns) {
    Result<VerifiedProgram> verified = Verify(std::move(program));
    EXPECT_TRUE(verified.ok()) << verified.status().message();
    if (!verified.ok()) std::abort();
    verified_.emplace(std::move(*verified));
    memory_ = ZeroedMemory(ProbeState::Bytes(*verified_));
    state_ = std::make_unique<ProbeState>(*verified_, memory_.get(), ProbeClock{}, mechanism_ns);
  }

  uint32_t next_tid_ = 0;
  std::optional<VerifiedProgram> verified_;
  Memory memory_;
  std::unique_ptr<ProbeState> state_;
};

}  // namespace lagwatch::probe

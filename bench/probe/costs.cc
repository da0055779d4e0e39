// SPDX-License-Identifier: Apache-2.0
#include "bench/probe/costs.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/ticks.h"
#include "trace/instrument/probes/function_prober.h"

extern "C" {
uint64_t lagwatch_bench_instruction(uint64_t number);
uint64_t lagwatch_bench_hop(uint64_t number);
}
// push %rbp needs one byte changed. The first instructions of the others are jumps into this program if only
// one is: one has the five bytes of a long jump, one the two of a short one.
asm(R"(
  .text
  .balign 64
  .globl lagwatch_bench_one_byte
  .type lagwatch_bench_one_byte, @function
lagwatch_bench_one_byte:
  .cfi_startproc
  push %rbp
  .cfi_adjust_cfa_offset 8
  mov %rsp, %rbp
  lea 1(%rdi), %rax
  pop %rbp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size lagwatch_bench_one_byte, . - lagwatch_bench_one_byte
  .balign 64
  .globl lagwatch_bench_instruction
  .type lagwatch_bench_instruction, @function
lagwatch_bench_instruction:
  .cfi_startproc
  mov $1, %eax
  add %rdi, %rax
  ret
  .cfi_endproc
  .size lagwatch_bench_instruction, . - lagwatch_bench_instruction
  .balign 64
  .globl lagwatch_bench_hop
  .type lagwatch_bench_hop, @function
lagwatch_bench_hop:
  .cfi_startproc
  mov %edi, %eax
  .byte 0x05, 0, 0, 0, 0  # add $0, %eax
  inc %eax
  ret
  .cfi_endproc
  .size lagwatch_bench_hop, . - lagwatch_bench_hop
)");

namespace lagwatch::bench {
namespace {

using trace::ProbeEntry;
using trace::ProbeHandlers;
using trace::ProbeReturn;

constexpr int kCalls = 200'000;
constexpr int kRounds = 15;

#define GENERAL_ONLY __attribute__((target("general-regs-only")))

GENERAL_ONLY void Count(const ProbeEntry&, void* count) { ++*static_cast<uint64_t*>(count); }
GENERAL_ONLY void Filter(const ProbeEntry& entry, void* count) {
  if (entry.int_args[0] == UINT64_MAX) ++*static_cast<uint64_t*>(count);
}
GENERAL_ONLY void CountReturn(const ProbeReturn&, void* count) { ++*static_cast<uint64_t*>(count); }
GENERAL_ONLY void FilterReturn(const ProbeReturn& returned, void* count) {
  if (returned.left_ticks - returned.entered_ticks > UINT64_MAX / 2) ++*static_cast<uint64_t*>(count);
}

struct Variant {
  const char* name;
  ProbeHandlers handlers;
};
constexpr Variant kVariants[] = {
    {"entry_ns", {.on_entry = &Count, .registers = trace::HandlerRegisters::kGeneral}},
    {"entry_filter_false_ns", {.on_entry = &Filter, .registers = trace::HandlerRegisters::kGeneral}},
    {"entry_vector_args_ns",
     {.on_entry = &Count, .wants_vectors = true, .registers = trace::HandlerRegisters::kGeneral}},
    {"entry_baseline_ns", {.on_entry = &Count, .registers = trace::HandlerRegisters::kBaseline}},
    {"entry_any_registers_ns", {.on_entry = &Count}},
    {"jump_return_ns", {.on_return = &CountReturn, .registers = trace::HandlerRegisters::kGeneral}},
    {"return_filter_false_ns", {.on_return = &FilterReturn, .registers = trace::HandlerRegisters::kGeneral}},
    {"entry_and_return_ns",
     {.on_entry = &Count, .on_return = &CountReturn, .registers = trace::HandlerRegisters::kGeneral}},
    {"return_with_args_ns",
     {.on_return = &CountReturn, .keeps_args = true, .registers = trace::HandlerRegisters::kGeneral}},
    {"entry_and_return_baseline_ns",
     {.on_entry = &Count, .on_return = &CountReturn, .registers = trace::HandlerRegisters::kBaseline}},
    {"return_any_registers_ns", {.on_return = &CountReturn}},
};

constexpr ProbeHandlers kEntryOnly{.on_entry = &Count, .registers = trace::HandlerRegisters::kGeneral};
constexpr ProbeHandlers kReturnOnly{.on_return = &CountReturn,
                                    .registers = trace::HandlerRegisters::kGeneral};

// The other tiers.
struct TierSubject {
  const char* entry_name;
  const char* return_name;
  uint64_t (*function)(uint64_t);
  trace::ProbeTier tier;
};
constexpr TierSubject kTiers[] = {
    {"instruction_tier_entry_ns", "instruction_tier_return_ns", &lagwatch_bench_instruction,
     trace::ProbeTier::kInstruction},
    {"hop_tier_entry_ns", "hop_tier_return_ns", &lagwatch_bench_hop, trace::ProbeTier::kHop},
};

// The fastest of many rounds, for one call.
template <typename Call>
double BestNs(Call call) {
  double best_ns = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t begin_ns = ThreadNowNs();
    for (int i = 0; i < kCalls; ++i) call(static_cast<uint64_t>(i));
    best_ns = std::min(best_ns, static_cast<double>(ThreadNowNs() - begin_ns) / kCalls);
  }
  return best_ns;
}

double ProbedNs(trace::FunctionProber* prober, uint64_t (*function)(uint64_t), const ProbeHandlers& handlers,
                trace::ProbeTier tier) {
  static uint64_t count = 0;
  const auto armed = prober->Arm(reinterpret_cast<uint64_t>(function), &handlers, &count);
  if (armed.id == 0 || armed.tier != tier) {
    std::fprintf(stderr, "bench_probe: not armed as expected: %s, %s\n",
                 std::string(trace::ProbeTierText(armed.tier)).c_str(),
                 std::string(trace::ProbeReasonText(armed.reason)).c_str());
    std::exit(1);
  }
  const double ns = BestNs(function);
  prober->Disarm({&armed.id, 1});
  return ns;
}

void Append(std::string* json, const char* name, double value) {
  char text[96];
  std::snprintf(text, sizeof text, "%s\"%s\": %.1f", json->empty() ? "" : ", ", name, value);
  *json += text;
}

}  // namespace

int64_t ThreadNowNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string MeasureProbeCosts(trace::FunctionProber* prober) {
  std::string json;
  const double empty_ns = BestNs([](uint64_t i) { asm volatile("" : : "r"(i)); });
  const double tick_pair_ns = BestNs([](uint64_t) {
    asm volatile("" : : "r"(base::ReadTicks()));
    asm volatile("" : : "r"(base::ReadTicks()));
  });
  const double bare_ns = BestNs(&lagwatch_bench_one_byte);
  Append(&json, "bare_ns", bare_ns - empty_ns);
  Append(&json, "tick_pair_ns", tick_pair_ns - empty_ns);
  for (const Variant& variant : kVariants)
    Append(
        &json, variant.name,
        ProbedNs(prober, &lagwatch_bench_one_byte, variant.handlers, trace::ProbeTier::kOneByte) - bare_ns);
  for (const TierSubject& subject : kTiers) {
    const double its_bare_ns = BestNs(subject.function);
    Append(&json, subject.entry_name,
           ProbedNs(prober, subject.function, kEntryOnly, subject.tier) - its_bare_ns);
    Append(&json, subject.return_name,
           ProbedNs(prober, subject.function, kReturnOnly, subject.tier) - its_bare_ns);
  }
  return json;
}

}  // namespace lagwatch::bench

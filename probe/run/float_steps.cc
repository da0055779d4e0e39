// SPDX-License-Identifier: Apache-2.0
// Built for plain x86-64: what calls this keeps the low half of each vector register, and no instruction for
// these changes the rest.
#include "probe/run/float_steps.h"

#include "probe/run/steps.h"

namespace {
using FloatCall = uint64_t (*)(uint64_t, uint64_t, uint64_t);
}

#if defined(__x86_64__) && defined(__linux__)
// Calls `function` with the other arguments, and keeps what float_steps.h says.
extern "C" __attribute__((visibility("hidden"))) uint64_t lagwatch_call_with_floats(uint64_t, uint64_t,
                                                                                    uint64_t,
                                                                                    FloatCall function);
asm(R"(
  .pushsection .text
  .hidden lagwatch_call_with_floats
  .globl lagwatch_call_with_floats
  .type lagwatch_call_with_floats, @function
  .balign 64
lagwatch_call_with_floats:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register rbp
  sub $272, %rsp
  and $-16, %rsp
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps %xmm\number, 16*\number(%rsp)
  .endr
  stmxcsr 256(%rsp)
  movl $0x1f80, 260(%rsp)
  ldmxcsr 260(%rsp)
  call *%rcx
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps 16*\number(%rsp), %xmm\number
  .endr
  ldmxcsr 256(%rsp)
  leave
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc
  .size lagwatch_call_with_floats, . - lagwatch_call_with_floats
  .popsection
)");
#else  // hits run by the rules of other calls
static uint64_t lagwatch_call_with_floats(uint64_t first, uint64_t second, uint64_t third,
                                          FloatCall function) {
  return function(first, second, third);
}
#endif

namespace lagwatch::probe {
namespace {

uint64_t FloatStep(uint64_t frame, uint64_t operation, uint64_t next) {
  auto& its_frame = *reinterpret_cast<Frame*>(frame);
  const auto& step = *reinterpret_cast<const Operation*>(operation);
  auto* go_on = reinterpret_cast<const Operation*>(next);
  switch (step.code) {
#define OPERATION(name, to, a, b, ...)                                       \
  case OperationCode::k##name:                                               \
    if constexpr (TakesFloats(Operand::k##to, Operand::k##a, Operand::k##b)) \
      go_on = steps::name(its_frame, step, go_on);                           \
    break;
#include "probe/operations.def"
  }
  return reinterpret_cast<uint64_t>(go_on);
}

uint64_t AddFloat(uint64_t word, uint64_t bits, uint64_t weight) {
  constexpr auto kRelaxed = std::memory_order_relaxed;  // as of all sums
  auto& sum = *reinterpret_cast<Word*>(word);
  const double addend = std::bit_cast<double>(bits) * static_cast<double>(weight);
  uint64_t present = sum.load(kRelaxed);
  for (int i = 0; i < kMostAttempts; ++i) {
    const auto added = std::bit_cast<uint64_t>(std::bit_cast<double>(present) + addend);
    if (sum.compare_exchange_weak(present, added, kRelaxed)) return 1;
  }
  return 0;
}

}  // namespace

const Operation* RunFloatStep(Frame& frame, const Operation& operation, const Operation* next) {
  return reinterpret_cast<const Operation*>(
      lagwatch_call_with_floats(reinterpret_cast<uint64_t>(&frame), reinterpret_cast<uint64_t>(&operation),
                                reinterpret_cast<uint64_t>(next), &FloatStep));
}

bool AddFloatTo(Word& word, uint64_t bits, uint64_t weight) {
  return lagwatch_call_with_floats(reinterpret_cast<uint64_t>(&word), bits, weight, &AddFloat) != 0;
}

}  // namespace lagwatch::probe

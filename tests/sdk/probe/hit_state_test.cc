// SPDX-License-Identifier: Apache-2.0
// Hits of scripts leave the processor's state as it was: vector registers of all widths, masks, MXCSR and the
// x87 unit, at the entry and at the return.
#include <cpuid.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "probe/compile/compiler.h"
#include "probe/verify/verifier.h"
#include "sdk/probe/site_handlers.h"
#include "trace/instrument/code_writer.h"
#include "trace/instrument/patch_site.h"
#include "trace/instrument/probes/function_prober.h"

namespace {

constexpr size_t kZmmBytes = 64;

// Of the assembly code below, which has the offsets.
struct ProcessorState {
  alignas(64) unsigned char vectors[32][kZmmBytes];
  uint64_t masks[8];
  uint32_t mxcsr;
  uint16_t x87_control;
  uint16_t x87_status;
  long double x87_result;
};
static_assert(offsetof(ProcessorState, masks) == 2048 && offsetof(ProcessorState, mxcsr) == 2112 &&
              offsetof(ProcessorState, x87_control) == 2116 && offsetof(ProcessorState, x87_result) == 2128);

}  // namespace

extern "C" {
// The probed function: returns its argument and, in st(0), the number at `number`.
uint64_t hit_state_function(uint64_t argument, const long double* number);
// Calls it with the state of `state`, and writes there the state after it. `width`: 16, 32 or 64 bytes of
// each vector register.
void hit_state_call(ProcessorState* state, uint64_t width, uint64_t argument, const long double* number);
// The way of lagwatch_call_saved().
extern uint32_t lagwatch_saved_way;
}
asm(R"(
  .pushsection .text
  .globl hit_state_function
  .type hit_state_function, @function
  .balign 64
hit_state_function:
  .cfi_startproc
  push %rbp
  .cfi_adjust_cfa_offset 8
  fldt (%rsi)
  mov %rdi, %rax
  pop %rbp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size hit_state_function, . - hit_state_function

  .macro move_low direction
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
      \direction \number
    .endr
  .endm
  .macro move_high direction
    .irp number, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
      \direction \number
    .endr
  .endm
  .macro load_xmm number
    movups 64*\number(%rbx), %xmm\number
  .endm
  .macro store_xmm number
    movups %xmm\number, 64*\number(%rbx)
  .endm
  .macro load_ymm number
    vmovups 64*\number(%rbx), %ymm\number
  .endm
  .macro store_ymm number
    vmovups %ymm\number, 64*\number(%rbx)
  .endm
  .macro load_zmm number
    vmovups 64*\number(%rbx), %zmm\number
  .endm
  .macro store_zmm number
    vmovups %zmm\number, 64*\number(%rbx)
  .endm
  .macro load_mask number
    kmovq 2048+8*\number(%rbx), %k\number
  .endm
  .macro store_mask number
    kmovq %k\number, 2048+8*\number(%rbx)
  .endm
  .macro move_masks direction
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7
      \direction \number
    .endr
  .endm

  .globl hit_state_call
  .type hit_state_call, @function
  .balign 64
hit_state_call:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbx, 0
  push %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r12, 0
  sub $24, %rsp
  .cfi_adjust_cfa_offset 24
  mov %rdi, %rbx
  mov %rsi, %r12
  mov %rdx, %rdi
  mov %rcx, %rsi
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  fninit
  fldcw 2116(%rbx)
  fld1
  fldpi
  fdivrp  # inexact: stays in the status
  fstp %st(0)
  ldmxcsr 2112(%rbx)
  cmp $32, %r12
  ja 1f
  je 0f
  move_low load_xmm
  jmp 2f
0:
  move_low load_ymm
  jmp 2f
1:
  move_low load_zmm
  move_high load_zmm
  move_masks load_mask
2:
  call hit_state_function
  cmp $32, %r12
  ja 1f
  je 0f
  move_low store_xmm
  jmp 2f
0:
  move_low store_ymm
  vzeroupper
  jmp 2f
1:
  move_low store_zmm
  move_high store_zmm
  move_masks store_mask
  vzeroupper
2:
  stmxcsr 2112(%rbx)
  fnstcw 2116(%rbx)
  fnstsw 2118(%rbx)
  fstpt 2128(%rbx)
  fninit
  fldcw 4(%rsp)
  ldmxcsr (%rsp)
  add $24, %rsp
  .cfi_adjust_cfa_offset -24
  pop %r12
  .cfi_adjust_cfa_offset -8
  .cfi_restore r12
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore rbx
  ret
  .cfi_endproc
  .size hit_state_call, . - hit_state_call
  .popsection
)");

namespace lagwatch::sdk {
namespace {

uint64_t WidestVector() {
  if (__builtin_cpu_supports("avx512bw") != 0) return 64;
  return __builtin_cpu_supports("avx") != 0 ? 32 : 16;
}

trace::FunctionProber& ProberOfStates() {
  static auto* const prober = new trace::FunctionProber;
  return *prober;
}

// A script at the function. Never freed: a thread may be in its handler.
struct StateScript {
  explicit StateScript(const std::string& script) {
    auto compiled = probe::CompileScript("budget 10% 10000000/s " + script, nullptr);
    EXPECT_TRUE(compiled.ok()) << compiled.status().message();
    auto verified = probe::Verify(std::move(*compiled));
    EXPECT_TRUE(verified.ok()) << verified.status().message();
    program.emplace(std::move(*verified));
    const size_t bytes = (probe::ProbeState::Bytes(*program) + 63) / 64 * 64;
    void* memory = std::aligned_alloc(64, bytes);
    std::memset(memory, 0, bytes);
    state = std::make_unique<probe::ProbeState>(*program, memory, probe::ProbeClock{.ns_per_tick = 0.4}, 0);
    site.probe = &program->probes()[0];
    site.state = state.get();
    site.is_active = &is_active;
    site.uses = &uses;
    std::string why;
    const auto* handlers = HandlersFor(SiteRole::kFunction, *site.probe, &why);
    EXPECT_NE(handlers, nullptr) << why;
    const auto armed = ProberOfStates().Arm(reinterpret_cast<uint64_t>(&hit_state_function), handlers, &site);
    EXPECT_NE(armed.id, 0U) << trace::ProbeReasonText(armed.reason);
  }
  probe::ProbeStats Stats() const { return state->Stats(); }

  std::optional<probe::VerifiedProgram> program;
  std::unique_ptr<probe::ProbeState> state;
  std::atomic<bool> is_active{true};
  SiteUses uses;
  SiteState site;
};

ProcessorState StateOf(uint64_t seed, uint32_t mxcsr, uint16_t x87_control) {
  ProcessorState state{};
  uint64_t number = seed * 0x9e3779b97f4a7c15 + 1;
  const auto next = [&] {
    number ^= number << 13;
    number ^= number >> 7;
    return number ^= number << 17;
  };
  for (auto& vector : state.vectors)
    for (unsigned char& byte : vector) byte = static_cast<unsigned char>(next() >> 32);
  for (uint64_t& mask : state.masks) mask = next();
  state.mxcsr = mxcsr;
  state.x87_control = x87_control;
  return state;
}

// Calls in all states, with the scripts that are armed; false if one has not come back as it was.
void ExpectKept(uint64_t seed, uint64_t width, uint32_t mxcsr, uint16_t x87_control) {
  constexpr uint16_t kFlags = 0x3f;  // of the status; the rest is the place of st(0)
  constexpr uint16_t kInexact = 0x20;
  const ProcessorState before = StateOf(seed, mxcsr, x87_control);
  ProcessorState state = before;
  const long double number = 1.25L + static_cast<long double>(seed);
  hit_state_call(&state, width, seed, &number);
  for (size_t i = 0; i < (width == 64 ? 32 : 16); ++i)
    EXPECT_EQ(std::memcmp(state.vectors[i], before.vectors[i], width), 0) << i << " of " << width;
  if (width == 64) {
    EXPECT_EQ(std::memcmp(state.masks, before.masks, sizeof state.masks), 0);
  }
  EXPECT_EQ(state.mxcsr, mxcsr);
  EXPECT_EQ(state.x87_control, x87_control);
  EXPECT_EQ(state.x87_status & kFlags, kInexact);
  EXPECT_EQ(state.x87_result, number);
}

void CallInAllStates() {
  constexpr uint32_t kPlain = 0x1f80;
  constexpr uint32_t kTruncatesWithFlags = 0x7f80 | 0x21;
  constexpr uint32_t kTraps = 0;  // at every inexact number
  constexpr int kRounds = 70;     // with one that checks the budget
  for (int round = 0; round < kRounds; ++round) {
    for (uint64_t width = 16; width <= WidestVector(); width *= 2) {
      for (const uint32_t mxcsr : {kPlain, kTruncatesWithFlags, kTraps})
        ExpectKept(static_cast<uint64_t>(round), width, mxcsr, 0x037f);
      ExpectKept(static_cast<uint64_t>(round), width, kPlain, 0x0f7f);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

class HitState : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!trace::CanPatch()) GTEST_SKIP() << "this processor's code cannot be patched";
    ASSERT_TRUE(PrepareStackCaptures());
  }
  void TearDown() override {
    ProberOfStates().DisarmAll();
    EXPECT_TRUE(ProberOfStates().BytesAreOriginal());
  }
};

TEST_P(HitState, StaysAsItWas) {
  auto* script = new StateScript(GetParam());
  CallInAllStates();
  std::thread(CallInAllStates).join();
  const probe::ProbeStats stats = script->Stats();
  EXPECT_GE(stats.hits, 2U * 70 * 4);
  EXPECT_EQ(stats.faulted, 0U);
}

// Changes all that a function may change, and leaves the x87 unit's exceptions behind.
void ChangeEverything() {
  static const ProcessorState other = StateOf(4711, 0x1f80, 0x037f);
  asm volatile(
      "fld1\n fldz\n fdivrp\n fstp %%st(0)\n"
      "mov %0, %%rbx\n"
      "cmp $64, %1\n"
      "je 1f\n"
      "move_low load_xmm\n"
      "cmp $32, %1\n"
      "jne 2f\n"
      "move_low load_ymm\n"
      "jmp 2f\n"
      "1:\n"
      "move_low load_zmm\n"
      "move_high load_zmm\n"
      "move_masks load_mask\n"
      "2:\n"
      :
      : "r"(&other), "r"(WidestVector())
      : "rbx", "memory", "cc");
  std::feraiseexcept(FE_INEXACT | FE_OVERFLOW);
}

TEST_F(HitState, OutlivesHandlersThatChangeEverything) {
  static int hits = 0;
  static constexpr trace::ProbeHandlers kHandlers{.on_entry =
                                                      [](const trace::ProbeEntry&, void*) {
                                                        ++hits;
                                                        ChangeEverything();
                                                      },
                                                  .on_return =
                                                      [](const trace::ProbeReturn&, void*) {
                                                        ++hits;
                                                        ChangeEverything();
                                                      }};
  ASSERT_NE(ProberOfStates().Arm(reinterpret_cast<uint64_t>(&hit_state_function), &kHandlers, nullptr).id,
            0U);
  const uint32_t own_way = lagwatch_saved_way;
  for (uint32_t way = 0; way <= own_way; ++way) {
    lagwatch_saved_way = way;
    // A narrower way is of a processor that has no wider registers.
    const uint64_t widest = way == 0 || way == own_way ? WidestVector() : 32 * way;
    for (uint64_t width = 16; width <= widest; width *= 2)
      for (const uint32_t mxcsr : {0x1f80, 0x7f80 | 0x21}) ExpectKept(9 + way, width, mxcsr, 0x037f);
  }
  lagwatch_saved_way = own_way;
  EXPECT_GT(hits, 10);
}

// Also on processors that have less.
TEST_F(HitState, StaysAsItWasInEachWay) {
  auto* script = new StateScript("f { count by stack; sum(cpu_time) }");
  auto* returns = new StateScript("f @return { count by stack }");
  const uint32_t own_way = lagwatch_saved_way;
  for (uint32_t way = 0; way <= own_way; ++way) {
    lagwatch_saved_way = way;
    for (uint64_t width = 16; width <= (way == 0 ? WidestVector() : 32 * way); width *= 2)
      for (const uint32_t mxcsr : {0x1f80, 0x7f80 | 0x21, 0}) ExpectKept(7 + way, width, mxcsr, 0x037f);
  }
  lagwatch_saved_way = own_way;
  EXPECT_GT(script->Stats().hits, 0U);
  EXPECT_GT(returns->Stats().hits, 0U);
}

// Programs for plain x86-64 are slow while the upper halves are in use.
TEST_F(HitState, LeavesUpperHalvesUnused) {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  constexpr uint32_t kTellsUse = 4;
  if (__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) == 0 || (eax & kTellsUse) == 0)
    GTEST_SKIP() << "the processor does not say what is in use";
  auto* script = new StateScript("f { count by stack }");
  const long double number = 1;
  const auto upper_halves_in_use = [&](bool hits) {
    asm volatile("vzeroall" ::: "memory");
    if (hits) hit_state_function(1, &number);
    asm volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(1));
    if (hits) asm volatile("fstp %%st(0)" ::: "st");
    return eax & 0x44U;
  };
  EXPECT_EQ(upper_halves_in_use(true), upper_halves_in_use(false));
  EXPECT_EQ(script->Stats().hits, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    , HitState,
    ::testing::Values("f(long n) if n < 0 { count }", "f { count by arg0; histogram(arg0) }",
                      "f(long n, char* text) { count by str(text, 8); print(n, str(text, 4)) }",
                      "f { count by stack }", "f { sum(cpu_time); max(time) }",
                      "f(long n, double d, float e) { avg(d / 0.0); sum(e * 3.7) by n; print(d) }",
                      "f @return { histogram(duration); count by caller }",
                      "f(long n) -> long @return { count by n, returned, stack }",
                      "f(long n) -> double @return { avg(returned / 0.0); max(returned * 1.1) }"));

// A caller whose frame is found by the frame pointer, since its size varies.
[[gnu::noinline]] uint64_t CallBelowAnArray(size_t size) {
  auto* array = static_cast<volatile char*>(__builtin_alloca(size));
  array[0] = 1;
  const long double number = 1;
  const uint64_t result = hit_state_function(size, &number);
  asm volatile("fstp %%st(0)" ::: "st");
  return result + static_cast<uint64_t>(array[0]);
}

TEST_F(HitState, HasTheWholeStackOfCallersWithFramePointers) {
  for (const char* text : {"f { count by stack }", "f @return { count by stack }"}) {
    const auto* script = new StateScript(text);
    EXPECT_EQ(CallBelowAnArray(100), 101U);
    ProberOfStates().DisarmAll();
    size_t frames = 0;
    const probe::StackSlots& stacks = script->state->block().stacks;
    for (size_t slot = 0; slot <= stacks.mask; ++slot) {
      const probe::Word* words = stacks.slots + slot * probe::kStackWords;
      if (words[0] <= probe::kClaimedCell) continue;
      while (frames + 1 < probe::kStackWords && words[1 + frames] != 0) ++frames;
    }
    EXPECT_GE(frames, 6U) << text;  // up to main
  }
}

}  // namespace
}  // namespace lagwatch::sdk

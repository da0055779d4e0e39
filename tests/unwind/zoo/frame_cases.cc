// SPDX-License-Identifier: Apache-2.0
#include <alloca.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "tests/unwind/zoo/zoo.h"

namespace lagwatch::unwind_test {
namespace {

ZOO_SHAPE uint64_t Leaf(uint64_t a, uint64_t b) { return a * 3 + b; }

ZOO_SHAPE uint64_t Plain(uint64_t a) {
  uint64_t sum = Leaf(a, 1);
  return sum + Leaf(sum, a);
}

ZOO_SHAPE uint64_t RedZone(uint64_t a) {
  volatile uint64_t locals[8];
  for (uint64_t i = 0; i < 8; ++i) locals[i] = a * i;
  return locals[a % 8];
}

ZOO_SHAPE uint64_t LargeFrame(uint64_t a) {
  volatile char bytes[40000];
  bytes[0] = static_cast<char>(a);
  bytes[sizeof bytes - 1] = bytes[0];
  uint64_t sum = Leaf(a, static_cast<uint64_t>(bytes[sizeof bytes - 1]));
  return sum + static_cast<uint64_t>(bytes[0]);
}

ZOO_SHAPE uint64_t Alloca(size_t size) {
  auto* bytes = static_cast<volatile char*>(alloca(size));
  bytes[0] = 1;
  uint64_t sum = Leaf(size, static_cast<uint64_t>(bytes[0]));
  return sum + static_cast<uint64_t>(bytes[0]);
}

ZOO_SHAPE uint64_t VariableArray(size_t size) {
  volatile uint64_t words[size];
  words[size - 1] = size;
  uint64_t sum = Leaf(size, words[size - 1]);
  return sum + words[size - 1];
}

ZOO_SHAPE uint64_t Aligned(uint64_t a) {
  alignas(64) volatile uint64_t words[16];
  words[a % 16] = a;
  uint64_t sum = Leaf(a, reinterpret_cast<uint64_t>(&words) % 64);
  return sum + words[a % 16];
}

// A realigned frame whose arguments lie on the stack and whose size is not known either.
ZOO_SHAPE uint64_t AlignedAlloca(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                                 uint64_t g, uint64_t h) {
  alignas(64) volatile uint64_t words[8];
  auto* bytes = static_cast<volatile char*>(alloca(a));
  words[b % 8] = c;
  bytes[a - 1] = static_cast<char>(d + e + f);
  uint64_t sum = Leaf(words[b % 8], static_cast<uint64_t>(bytes[a - 1]));
  return sum + Leaf(g, h) + words[b % 8];
}

ZOO_SHAPE uint64_t ManyArguments(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                                 uint64_t g, uint64_t h, uint64_t i, uint64_t j) {
  return Leaf(a + b + c, d + e + f) + Leaf(g + h, i + j);
}

// Needs all the registers that a callee saves.
ZOO_SHAPE uint64_t ManySaved(uint64_t a) {
  uint64_t b = Leaf(a, 1), c = Leaf(b, 2), d = Leaf(c, 3), e = Leaf(d, 4), f = Leaf(e, 5), g = Leaf(f, 6);
  uint64_t h = Leaf(g, a);
  return a + b * c + d * e + f * g + h;
}

// NOLINTNEXTLINE(misc-no-recursion)
ZOO_SHAPE uint64_t Recurse(uint64_t depth) {
  if (depth == 0) return Leaf(1, 2);
  uint64_t sum = Recurse(depth - 1);
  return sum + depth;
}

ZOO_SHAPE uint64_t TailCallee(uint64_t a) { return Leaf(a, 4) + 1; }
ZOO_SHAPE uint64_t TailCall(uint64_t a) { return TailCallee(a + Leaf(a, 2)); }

ZOO_SHAPE uint64_t EarlyReturn(uint64_t a) {
  if (a % 2 == 0) return a;
  uint64_t b = Leaf(a, 1), c = Leaf(b, 2);
  return a + b + c;
}

ZOO_SHAPE uint64_t VariableArguments(int count, ...) {
  va_list arguments;
  va_start(arguments, count);
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(arguments, uint64_t);
  sum += static_cast<uint64_t>(va_arg(arguments, double));
  va_end(arguments);
  return Leaf(sum, 1) + sum;
}

[[gnu::noinline, gnu::cold]] uint64_t Unlikely(uint64_t a) { return Leaf(a, 9) * 2; }

// Split by gcc into a hot and a .cold part.
ZOO_SHAPE uint64_t Split(uint64_t a, uint64_t b) {
  uint64_t sum = Leaf(a, b);
  if (__builtin_expect(b > 3, 0)) {
    sum += Unlikely(a);
    sum *= Unlikely(b) + a;
    if (a == 77) abort();
  }
  return sum + Leaf(sum, a);
}

[[noreturn, gnu::noinline]] void Abandon(int* code) { throw code; }

// Ends in a call that does not return: its return address may be the next function's.
ZOO_SHAPE uint64_t NoreturnCaller(int* code) {
  Consume(Leaf(1, 2));
  Abandon(code);
}

struct Animal {
  virtual ~Animal() = default;
  virtual uint64_t Legs(uint64_t a) const { return Leaf(a, 1); }
};
struct Millipede : Animal {
  uint64_t Legs(uint64_t a) const override { return Animal::Legs(a) * Leaf(a, 1000); }
};

ZOO_SHAPE uint64_t CallVirtual(const Animal& animal, uint64_t a) { return animal.Legs(a) + 1; }

using LeafFunction = uint64_t (*)(uint64_t, uint64_t);
extern "C" LeafFunction ZooResolve() { return &Leaf; }
extern "C" [[gnu::ifunc("ZooResolve")]] uint64_t ZooChosenAtLoad(uint64_t a, uint64_t b);

void Frames() {
  Consume(Plain(5));
  Consume(RedZone(6));
  Consume(LargeFrame(7));
  Consume(ManyArguments(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  Consume(ManySaved(8));
  Consume(EarlyReturn(2) + EarlyReturn(3));
  Consume(VariableArguments(3, uint64_t{1}, uint64_t{2}, uint64_t{3}, 4.0));
}
void DynamicFrames() {
  Consume(Alloca(100));
  Consume(VariableArray(33));
  Consume(Aligned(9));
  Consume(AlignedAlloca(200, 2, 3, 4, 5, 6, 7, 8));
}
void Calls() {
  Consume(Recurse(30));
  Consume(TailCall(3));
  Consume(Split(1, 2) + Split(3, 4));
  Consume(CallVirtual(Millipede(), 3));
  Consume(ZooChosenAtLoad(2, 3));
}
void Noreturn() {
  int code = 0;
  try {
    Consume(NoreturnCaller(&code));
  } catch (int*) {
    Consume(1);
  }
}

constexpr ZooCase kCases[] = {
    {"frames", Frames}, {"dynamic frames", DynamicFrames}, {"calls", Calls}, {"noreturn", Noreturn}};

}  // namespace

std::span<const ZooCase> FrameCases() { return kCases; }

}  // namespace lagwatch::unwind_test

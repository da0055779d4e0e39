// SPDX-License-Identifier: Apache-2.0
// The operations of a probe, each as a function: it returns the operation to go on with, null at the end of
// the hit. A dispatch loop calls them by their names in probe/operations.def. Context: signal, hot.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "probe/run/actions.h"
#include "probe/run/frame.h"

namespace lagwatch::probe::steps {

using Next = const Operation*;

inline Next Fault(Frame& frame) {
  frame.is_faulted = true;
  return nullptr;
}

inline Next To(Frame& frame, uint32_t target) { return frame.probe.operations().data() + target; }

inline uint64_t Widened(uint64_t value, uint8_t size) {
  switch (static_cast<ReadSize>(size)) {
    case ReadSize::kU1:
      return static_cast<uint8_t>(value);
    case ReadSize::kU2:
      return static_cast<uint16_t>(value);
    case ReadSize::kU4:
      return static_cast<uint32_t>(value);
    case ReadSize::kS1:
      return static_cast<uint64_t>(int64_t{static_cast<int8_t>(value)});
    case ReadSize::kS2:
      return static_cast<uint64_t>(int64_t{static_cast<int16_t>(value)});
    case ReadSize::kS4:
      return static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
    case ReadSize::kU8:
      break;
  }
  return value;
}

inline double FloatOf(uint64_t bits, uint8_t size) {
  return size == 4 ? std::bit_cast<float>(static_cast<uint32_t>(bits)) : std::bit_cast<double>(bits);
}

inline int64_t Clamped(double value) {
  if (!(value >= -0x1p63)) return std::isnan(value) ? 0 : std::numeric_limits<int64_t>::min();
  return value < 0x1p63 ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::max();
}

// One operation: STEP(name) { … } has `f` the frame, `o` the operation, `next` the one behind it.
#define STEP(name) \
  inline Next name([[maybe_unused]] Frame& f, [[maybe_unused]] const Operation& o, [[maybe_unused]] Next next)

STEP(End) { return nullptr; }

#define SETS(name, expression)                             \
  STEP(name) {                                             \
    f.registers[o.to] = static_cast<uint64_t>(expression); \
    return next;                                           \
  }
#define SETS_FLOAT(name, expression) \
  STEP(name) {                       \
    f.SetFloat(o.to, expression);    \
    return next;                     \
  }

SETS(SetNumber, int64_t{o.number})
SETS(SetInt, f.probe.int_constants()[o.number])
SETS_FLOAT(SetFloat, f.probe.float_constants()[o.number])
SETS(SetText, reinterpret_cast<uintptr_t>(f.probe.texts()[o.number]))
SETS(Copy, f.registers[o.a])

STEP(ReadArgument) {
  if (f.hit.int_arguments == nullptr) return Fault(f);
  f.registers[o.to] = f.hit.int_arguments[o.number];
  return next;
}
STEP(ReadFloatArgument) {
  if (f.hit.float_arguments == nullptr) return Fault(f);
  f.SetFloat(o.to, f.hit.float_arguments[o.number]);
  return next;
}
STEP(ReadFloat32Argument) {
  if (f.hit.float_arguments == nullptr) return Fault(f);
  f.SetFloat(o.to, FloatOf(std::bit_cast<uint64_t>(f.hit.float_arguments[o.number]), 4));
  return next;
}
STEP(ReadStackArgument) {
  if (f.hit.stack_arguments == 0) return Fault(f);
  const uint64_t address = f.hit.stack_arguments + 8 * static_cast<uint64_t>(o.number);
  return ReadWord(f, address, 8, &f.registers[o.to]) ? next : Fault(f);
}
SETS(ReadReturned, f.hit.returned_ints[o.number])
SETS_FLOAT(ReadReturnedFloat, f.hit.returned_floats[o.number])
SETS_FLOAT(ReadReturnedFloat32, FloatOf(std::bit_cast<uint64_t>(f.hit.returned_floats[o.number]), 4))
STEP(ReadValue) {
  const auto value = static_cast<HitValue>(o.number);
  f.registers[o.to] = value == HitValue::kDuration ? f.ToNs(f.hit.duration_ticks) : ValueOf(f, value);
  return next;
}
SETS(ReadText, ValueOf(f, static_cast<HitValue>(o.number)))

STEP(Load) {
  uint64_t& word = f.registers[o.to];
  const uint64_t address = f.registers[o.a] + static_cast<uint64_t>(int64_t{o.number});
  if (!ReadWord(f, address, o.b & 15, &word)) return Fault(f);
  word = Widened(word, o.b);
  return next;
}
STEP(LoadFloat) {
  uint64_t& word = f.registers[o.to];
  const uint64_t address = f.registers[o.a] + static_cast<uint64_t>(int64_t{o.number});
  if (!ReadWord(f, address, o.b, &word)) return Fault(f);
  f.SetFloat(o.to, FloatOf(word, o.b));
  return next;
}

SETS(AsText, f.registers[o.a])
SETS(Widen, Widened(f.registers[o.a], o.b))
SETS_FLOAT(FromBits, FloatOf(f.registers[o.a], o.b))
SETS_FLOAT(ToFloat, static_cast<double>(f.Int(o.a)))
SETS_FLOAT(ToFloatUnsigned, static_cast<double>(f.registers[o.a]))
SETS(ToBits, f.registers[o.a])
SETS(ToInt, Clamped(f.Float(o.a)))

SETS(Add, f.registers[o.a] + f.registers[o.b])
SETS(AddNumber, f.registers[o.a] + static_cast<uint64_t>(int64_t{o.number}))
SETS(Subtract, f.registers[o.a] - f.registers[o.b])
SETS(Multiply, f.registers[o.a] * f.registers[o.b])
// -2^63 / -1 would trap.
STEP(Divide) {
  if (f.registers[o.b] == 0) return Fault(f);
  f.registers[o.to] = f.Int(o.b) == -1 ? -f.registers[o.a] : static_cast<uint64_t>(f.Int(o.a) / f.Int(o.b));
  return next;
}
STEP(DivideUnsigned) {
  if (f.registers[o.b] == 0) return Fault(f);
  f.registers[o.to] = f.registers[o.a] / f.registers[o.b];
  return next;
}
STEP(Remainder) {
  if (f.registers[o.b] == 0) return Fault(f);
  f.registers[o.to] = f.Int(o.b) == -1 ? 0 : static_cast<uint64_t>(f.Int(o.a) % f.Int(o.b));
  return next;
}
STEP(RemainderUnsigned) {
  if (f.registers[o.b] == 0) return Fault(f);
  f.registers[o.to] = f.registers[o.a] % f.registers[o.b];
  return next;
}
SETS(And, f.registers[o.a] & f.registers[o.b])
SETS(Or, f.registers[o.a] | f.registers[o.b])
SETS(Xor, f.registers[o.a] ^ f.registers[o.b])
SETS(ShiftLeft, f.registers[o.a] << (f.registers[o.b] & 63))
SETS(ShiftRight, f.Int(o.a) >> (f.registers[o.b] & 63))
SETS(ShiftRightUnsigned, f.registers[o.a] >> (f.registers[o.b] & 63))
SETS(Negate, -f.registers[o.a])
SETS(Invert, ~f.registers[o.a])
SETS_FLOAT(AddFloat, f.Float(o.a) + f.Float(o.b))
SETS_FLOAT(SubtractFloat, f.Float(o.a) - f.Float(o.b))
SETS_FLOAT(MultiplyFloat, f.Float(o.a) * f.Float(o.b))
SETS_FLOAT(DivideFloat, f.Float(o.a) / f.Float(o.b))
SETS_FLOAT(NegateFloat, -f.Float(o.a))

SETS(EqualsText, probe::EqualsText(f, f.registers[o.a], f.probe.texts()[o.number]))
SETS(MatchesText, probe::MatchesText(f, f.registers[o.a], f.probe.texts()[o.number]))

#define JUMPS(name, target, condition) \
  STEP(name) { return (condition) ? To(f, static_cast<uint32_t>(target)) : next; }

JUMPS(Jump, o.number, true)
JUMPS(JumpIfZero, o.number, f.registers[o.a] == 0)
JUMPS(JumpIfNotZero, o.number, f.registers[o.a] != 0)
JUMPS(JumpIfEqual, o.number, f.registers[o.a] == f.registers[o.b])
JUMPS(JumpIfNotEqual, o.number, f.registers[o.a] != f.registers[o.b])
JUMPS(JumpIfLess, o.number, f.Int(o.a) < f.Int(o.b))
JUMPS(JumpIfLessOrEqual, o.number, f.Int(o.a) <= f.Int(o.b))
JUMPS(JumpIfBelow, o.number, f.registers[o.a] < f.registers[o.b])
JUMPS(JumpIfBelowOrEqual, o.number, f.registers[o.a] <= f.registers[o.b])
JUMPS(JumpIfEqualTo, o.to, f.Int(o.a) == o.number)
JUMPS(JumpIfNotEqualTo, o.to, f.Int(o.a) != o.number)
JUMPS(JumpIfLessThan, o.to, f.Int(o.a) < o.number)
JUMPS(JumpIfAtMost, o.to, f.Int(o.a) <= o.number)
JUMPS(JumpIfMoreThan, o.to, f.Int(o.a) > o.number)
JUMPS(JumpIfAtLeast, o.to, f.Int(o.a) >= o.number)
JUMPS(JumpIfEqualFloat, o.number, f.Float(o.a) == f.Float(o.b))
JUMPS(JumpIfLessFloat, o.number, f.Float(o.a) < f.Float(o.b))
JUMPS(JumpIfLessOrEqualFloat, o.number, f.Float(o.a) <= f.Float(o.b))

STEP(CheckLevel) {
  const uint32_t level =
      f.block.header->level.load(std::memory_order_relaxed);  // takes effect some hits later
  return level >= static_cast<uint32_t>(o.number) ? next : nullptr;
}
// Drawn by the thread and its number of hits: no counter is shared.
STEP(Sample) {
  const uint64_t place = static_cast<uint64_t>(&o - f.probe.operations().data() + 1) << 48;
  const uint64_t drawn = Mixed(f.hits + place + (uint64_t{f.hit.tid} << 24)) >> 32;
  if (drawn * static_cast<uint32_t>(o.number) >> 32 != 0) return nullptr;
  f.weight *= static_cast<uint32_t>(o.number);
  return next;
}
STEP(SampleAdaptive) {
  return PassesAdaptiveSample(f, f.block.counters[o.to], static_cast<uint32_t>(o.number)) ? next : nullptr;
}
// A limit is no sample: hits that the budget has left out are over it.
STEP(Limit) {
  if (!IsWithinRate(f, f.block.counters[o.to].window, static_cast<uint32_t>(o.number))) return nullptr;
  f.weight /= f.budget_weight;
  f.budget_weight = 1;
  return next;
}

SETS(CaptureStack, probe::CaptureStack(f, static_cast<uint32_t>(o.number)))
STEP(Aggregate) {
  AddTo(f, f.block.aggregates[o.number], o.a, o.b);
  return next;
}
STEP(Print) {
  PrintRecord(f, static_cast<uint32_t>(o.number), o.a);
  return next;
}
STEP(Ask) {
  const uint64_t bit = uint64_t{1} << o.number;
  Word& requests = f.block.header->requests;
  // Mostly it is set already: then the line is only read.
  if ((requests.load(std::memory_order_relaxed) & bit) == 0)
    requests.fetch_or(bit, std::memory_order_relaxed);
  return next;
}

#undef JUMPS
#undef SETS_FLOAT
#undef SETS
#undef STEP

}  // namespace lagwatch::probe::steps

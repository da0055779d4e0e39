// SPDX-License-Identifier: Apache-2.0
// Built for plain x86-64: what calls this keeps the low half of each vector register, and no instruction for
// these changes the rest.
#include "probe/run/float_steps.h"

#include "probe/run/float_call.h"
#include "probe/run/steps.h"

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

}  // namespace

const Operation* RunFloatStep(Frame& frame, const Operation& operation, const Operation* next) {
  return reinterpret_cast<const Operation*>(CallWithFloats(reinterpret_cast<uint64_t>(&frame),
                                                           reinterpret_cast<uint64_t>(&operation),
                                                           reinterpret_cast<uint64_t>(next), &FloatStep));
}

}  // namespace lagwatch::probe

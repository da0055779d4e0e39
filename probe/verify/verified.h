// SPDX-License-Identifier: Apache-2.0
// A program that the verifier has accepted: the only form that the interpreter runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probe/hit.h"
#include "probe/operation.h"
#include "probe/program.h"

namespace lagwatch::probe {

class Verifier;

// One probe, in the order of Program::probes. Immutable; lives as long as its VerifiedProgram. Context: any.
class VerifiedProbe {
 public:
  const Place& place() const { return *place_; }
  // A set of HitNeeds, which the mechanism must be able to fill in.
  uint32_t needs() const { return needs_; }
  // The worst case of one hit: its time, without the mechanism's own, and the operations on its longest way.
  uint32_t cost_ns() const { return cost_ns_; }
  uint32_t most_operations() const { return most_operations_; }

  std::span<const Operation> operations() const { return operations_; }
  const int64_t* int_constants() const { return int_constants_; }
  const double* float_constants() const { return float_constants_; }
  const char* const* texts() const { return texts_; }
  uint32_t index() const { return index_; }

 private:
  friend class Verifier;
  std::span<const Operation> operations_;
  const int64_t* int_constants_ = nullptr;
  const double* float_constants_ = nullptr;
  const char* const* texts_ = nullptr;
  const Place* place_ = nullptr;
  uint32_t index_ = 0;
  uint32_t needs_ = 0;
  uint32_t cost_ns_ = 0;
  uint32_t most_operations_ = 0;
};

// Owns the program and its probes, which stay in place when it is moved. Context: background; the probes:
// any.
class VerifiedProgram {
 public:
  const Program& program() const { return parts_->program; }
  std::span<const VerifiedProbe> probes() const { return parts_->probes; }

 private:
  friend class Verifier;
  struct Parts {
    Program program;
    std::vector<const char*> texts;
    std::vector<VerifiedProbe> probes;
  };
  explicit VerifiedProgram(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

  std::unique_ptr<Parts> parts_;
};

}  // namespace lagwatch::probe

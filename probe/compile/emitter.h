// SPDX-License-Identifier: Apache-2.0
// Collects the operations of one probe, and the first error. Context: background.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "probe/program.h"

namespace lagwatch::probe {

// A place in the code that is not known yet. Each one that is used must be bound.
struct Label {
  std::vector<size_t> uses;
};

class Emitter {
 public:
  // Both outlive this object.
  Emitter(Program* program, Probe* probe) : program_(*program), probe_(*probe) {}

  void Emit(Position position, Operation operation);
  // A jump, whose target is the label.
  void EmitJump(Position position, Operation operation, Label* label);
  // The label is the next operation.
  void Bind(Label* label);

  void SetInt(Position position, uint8_t to, int64_t number);
  int32_t FloatConstant(double number);
  int32_t Text(Position position, const std::string& text);
  int32_t NewCounter() { return static_cast<int32_t>(program_.counters++); }
  // Fails if there is no such register.
  uint8_t Register(Position position, size_t index);

  void Fail(Position position, const std::string& message);
  // Fails with an error that has its position already.
  void Take(const Status& status) {
    if (!failed()) status_ = status;
  }
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  Program& program() { return program_; }

 private:
  Program& program_;
  Probe& probe_;
  Status status_;
};

}  // namespace lagwatch::probe

// SPDX-License-Identifier: Apache-2.0
// The floating-point environment of a thread: its rounding mode, traps and exception flags. The program may
// have set each of them on the thread that calls lagwatch, or that starts one of lagwatch's, which inherits
// it: with traps an inexact result ends the program, and a flag of ours would be taken for the program's.
// Signal handlers need none of this where the kernel gives them the default environment (x86), or use no
// floating point.
#pragma once

#include <array>
#include <cstdint>

namespace lagwatch::base {

// Context: any, signal.
class FloatEnvironment {
 public:
  // Of the calling thread, which has the default one from then on.
  static FloatEnvironment Replace();
  void Restore() const;

 private:
  std::array<uint64_t, 4> words_;  // by the processor's instructions
};

// The default environment for a part of the program's thread.
class ScopedFloatEnvironment {
 public:
  ScopedFloatEnvironment() : programs_(FloatEnvironment::Replace()) {}
  ~ScopedFloatEnvironment() { programs_.Restore(); }
  ScopedFloatEnvironment(const ScopedFloatEnvironment&) = delete;
  ScopedFloatEnvironment& operator=(const ScopedFloatEnvironment&) = delete;

 private:
  FloatEnvironment programs_;
};

}  // namespace lagwatch::base

// SPDX-License-Identifier: Apache-2.0
// Reads stacks of managed code by a function of the program, for the watchdog.
#pragma once

#include <lagwatch/c_types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/process/program_caller.h"
#include "base/status.h"
#include "stack/code/module_map.h"
#include "stack/script_stacks.h"

namespace lagwatch::sdk {

// Context: watchdog, except for Start and TryStop. A function that takes too long does not stop the watchdog:
// it goes on without these frames.
class ProgramScripts final : public stack::ScriptStacks {
 public:
  // Borrows all that `scripts` points to. Errors: those of base::ProgramCaller. Context: background.
  static base::Result<std::unique_ptr<ProgramScripts>> Start(const lw_scripts& scripts);
  // False when a call does not return in time: then this object must be leaked. Context: background.
  [[nodiscard]] bool TryStop() { return caller_->TryStop(3 * base::kNsPerSecond); }

  void AddTo(const stack::CapturedThread& thread, stack::CodeMap* code, stack::Stack* stack) override;

 private:
  static constexpr int64_t kLongestCallNs = 100 * base::kNsPerMs;

  explicit ProgramScripts(const lw_scripts& scripts);
  // The index of the innermost frame of the run time; the frame count without one.
  uint32_t FindRuntimeFrame(const stack::ModuleMap& modules, const stack::Stack& stack);
  bool IsRuntime(const stack::Module& module) const;
  // Runs on the caller's thread.
  void Read() { count_ = scripts_.read_stack(scripts_.context, tid_, frames_.data(), frames_.size()); }

  const lw_scripts scripts_;
  const std::string module_path_;
  std::unique_ptr<base::ProgramCaller> caller_;
  uint32_t language_ = stack::kNoModule;  // the module of its frames, once there are some
  enum class Origin : uint8_t { kUnknown, kProgram, kRuntime };
  std::array<Origin, stack::ModuleMap::kMaxModules> origins_{};  // by module
  // The question to the caller's thread and the answer.
  int32_t tid_ = 0;
  size_t count_ = 0;
  std::array<lw_script_frame, stack::kMaxFrames> frames_{};
};

}  // namespace lagwatch::sdk

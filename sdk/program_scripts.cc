// SPDX-License-Identifier: Apache-2.0
#include "sdk/program_scripts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "stack/code_map.h"

namespace lagwatch::sdk {
namespace {

std::string_view OrEmpty(const char* text) { return text == nullptr ? std::string_view() : text; }

}  // namespace

base::Result<std::unique_ptr<ProgramScripts>> ProgramScripts::Start(const lw_scripts& scripts) {
  auto caller = base::ProgramCaller::Start("lagwatch-stack");
  if (!caller.ok()) return caller.status();
  std::unique_ptr<ProgramScripts> reader(new ProgramScripts(scripts));
  reader->caller_ = std::move(caller).value();
  return reader;
}

ProgramScripts::ProgramScripts(const lw_scripts& scripts)
    : scripts_(scripts), module_path_("[" + std::string(OrEmpty(scripts.language)) + "]") {}

void ProgramScripts::AddTo(const stack::CapturedThread& thread, stack::CodeMap* code, stack::Stack* stack) {
  const uint32_t first = FindRuntimeFrame(code->modules(), *stack);
  if (first == stack->frame_count && stack->frame_count != 0) return;
  if (language_ == stack::kNoModule) language_ = code->AddLanguage(module_path_);
  if (language_ == stack::kNoModule || caller_->is_busy()) return;
  tid_ = thread.tid;
  if (!caller_->TryCall([](void* self) { static_cast<ProgramScripts*>(self)->Read(); }, this, kLongestCallNs))
    return;
  const size_t count = std::min(count_, frames_.size());
  if (count == 0) return;
  stack->frame_count = first;
  stack->gap_at = 0;
  stack->gap_frame_count = 0;
  stack->completeness = stack::Completeness::kComplete;
  for (const lw_script_frame& frame : std::span(frames_.data(), count)) {
    if (stack->frame_count == stack::kMaxFrames) {
      stack->completeness = stack::Completeness::kCut;
      break;
    }
    const uint64_t function = code->script_functions().Add({OrEmpty(frame.function), OrEmpty(frame.file)});
    stack->frames[stack->frame_count++] = {language_, function + frame.line, function};
  }
}

uint32_t ProgramScripts::FindRuntimeFrame(const stack::ModuleMap& modules, const stack::Stack& stack) {
  for (uint32_t i = 0; i < stack.frame_count; ++i) {
    const uint32_t module = stack.frames[i].module;
    if (module == stack::kNoModule) return i;
    Origin& origin = origins_[module];
    if (origin == Origin::kUnknown)
      origin = IsRuntime(modules.module(module)) ? Origin::kRuntime : Origin::kProgram;
    if (origin == Origin::kRuntime) return i;
  }
  return stack.frame_count;
}

bool ProgramScripts::IsRuntime(const stack::Module& module) const {
  std::string_view path = module.path_view();
  const std::string_view file = path.substr(path.rfind('/') + 1);
  std::string_view names = OrEmpty(scripts_.runtime_modules);
  while (!names.empty()) {
    const std::string_view name = base::Trimmed(base::TakeUntil(',', &names));
    if (!name.empty() && file.starts_with(name)) return true;
  }
  return false;
}

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/all/interpreter_stacks.h"

#include <algorithm>

#include "stack/code_map.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/registered_functions.h"

namespace lagwatch::stack {

void InterpreterStacks::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  is_visiting_ ? LookAtModulesOf(*stack, code) : LookAtNewModules(code);
  if (next_ != nullptr) next_->AddTo(thread, code, stack);
  for (const auto& interpreter : interpreters_) interpreter->AddTo(thread, code, stack);
}

void InterpreterStacks::MoveTo(const base::Process& process) {
  present_memory_.MoveTo(process);
  for (const auto& interpreter : interpreters_) interpreter->MoveTo(process);
  is_visiting_ = true;
  visited_modules_.reset();
  has_found_ = false;
}

std::optional<ScriptLock> InterpreterStacks::FindLock(int tid, const FutexWait& futex) {
  for (const auto& interpreter : interpreters_)
    if (const auto lock = interpreter->FindLock(tid, futex)) return lock;
  return std::nullopt;
}

ScriptTask InterpreterStacks::FindTask(uint64_t number) {
  for (const auto& interpreter : interpreters_) {
    if (const ScriptTask task = interpreter->FindTask(number); *task.name != '\0') return task;
  }
  return {};
}

policies::Doing InterpreterStacks::FindWait(int tid, const FutexWait& futex, CodeMap* code) {
  for (const auto& interpreter : interpreters_) {
    if (const policies::Doing wait = interpreter->FindWait(tid, futex, code);
        wait != policies::Doing::kUnknown)
      return wait;
  }
  return policies::Doing::kUnknown;
}

ScriptPeer InterpreterStacks::FindPeer(int tid, const FutexWait& futex) {
  for (const auto& interpreter : interpreters_) {
    if (const ScriptPeer peer = interpreter->FindPeer(tid, futex); peer.kind != policies::LockKind::kUnknown)
      return peer;
  }
  return {};
}

std::optional<ScriptThreadWait> InterpreterStacks::FindThreadWait(int tid) {
  for (const auto& interpreter : interpreters_)
    if (const auto wait = interpreter->FindThreadWait(tid)) return wait;
  return std::nullopt;
}

size_t InterpreterStacks::ListThreads(std::span<int32_t> tids) {
  size_t count = 0;
  for (const auto& interpreter : interpreters_) count += interpreter->ListThreads(tids.subspan(count));
  return count;
}

bool InterpreterStacks::NameThread(int tid, std::span<char> name) {
  return std::ranges::any_of(interpreters_,
                             [&](const auto& interpreter) { return interpreter->NameThread(tid, name); });
}

const char* InterpreterStacks::GcCause() {
  for (const auto& interpreter : interpreters_) {
    if (const char* cause = interpreter->GcCause(); *cause != '\0') return cause;
  }
  return "";
}

const char* InterpreterStacks::unreadable() const {
  for (const auto& interpreter : interpreters_)
    if (*interpreter->unreadable() != '\0') return interpreter->unreadable();
  return "";
}

void InterpreterStacks::LookAtNewModules(CodeMap* code) {
  const RegisteredFunctions& registered = RegisteredFunctions::Instance();
  // They may be of modules that were looked at before.
  if (const size_t count = registered.count(); count != registered_count_) {
    registered_count_ = count;
    seen_modules_ = 0;
  }
  for (const uint32_t count = code->module_count(); seen_modules_ < count; ++seen_modules_)
    LookAtModule(seen_modules_, code);
}

void InterpreterStacks::LookAtModulesOf(const Stack& stack, CodeMap* code) {
  for (const Frame& frame : stack.view()) {
    if (frame.module == kNoModule || visited_modules_[frame.module]) continue;
    visited_modules_.set(frame.module);
    LookAtModule(frame.module, code);
  }
}

void InterpreterStacks::LookAtModule(uint32_t index, CodeMap* code) {
  const Module module = code->CopyModule(index);
  has_found_ = has_found_ || module.is_language;
  if (module.is_language || module.is_own) return;
  ExportedSymbols exports(memory_, module.base, module.load_bias);
  if (code->process().is_own()) exports.Add(&RegisteredFunctions::Instance(), module.end);
  for (const auto& interpreter : interpreters_)
    interpreter->LookAt({.index = index, .module = module, .exports = exports}, code);
}

}  // namespace lagwatch::stack

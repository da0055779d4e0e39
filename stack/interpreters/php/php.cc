// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/php/php.h"

#include <algorithm>
#include <utility>

namespace lagwatch::stack::php {

void Php::LookAt(const LoadedModule& loaded, CodeMap* code) {
  if (found_ != nullptr) return;
  const uint64_t evaluation = loaded.exports.Find("execute_ex");
  const uint64_t modules = loaded.exports.Find("module_registry");
  if (evaluation == 0 || modules == 0) return;
  const uint64_t globals = loaded.exports.Find("executor_globals");
  if (globals == 0) {
    unreadable_ = "php";  // with thread safety
    return;
  }
  auto found = base::MapBlock<Found>(1);
  if (found == nullptr) return;
  found[0].reader.Attach(memory_, globals, modules);
  found[0].place = {loaded.index, evaluation - loaded.module.load_bias, code->AddLanguage("[php]")};
  if (found[0].place.language != kNoModule) found_ = std::move(found);
}

void Php::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (found_ == nullptr) return;
  Found& found = found_[0];
  // Other threads of the process run no PHP.
  const auto is_evaluation = [&](const Frame& frame) {
    return frame.module == found.place.module && frame.function_offset == found.place.evaluation;
  };
  if (std::ranges::none_of(stack->view(), is_evaluation)) return;
  if (found.version == Reader::Version::kNotStarted) found.version = found.reader.FindVersion();
  if (found.version == Reader::Version::kOther) unreadable_ = "php";
  if (found.version != Reader::Version::kKnown) return;
  const Registers* registers = thread.raw == nullptr ? nullptr : &thread.raw->registers;
  if (found.reader.Read(registers, &code->script_functions(), &found.frames))
    Splice(found.place, found.frames, stack);
}

}  // namespace lagwatch::stack::php

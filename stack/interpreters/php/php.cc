// SPDX-License-Identifier: Apache-2.0
// PHP 8.2 in a process: the first of its modules that defines the evaluation function.
#include <algorithm>
#include <cstdio>

#include "stack/interpreters/found_interpreter.h"
#include "stack/interpreters/php/reader.h"

namespace lagwatch::stack {
namespace php {
namespace {

struct FoundPhp {
  PhpReader reader;
  PhpReader::Version version;
  InterpreterPlace place;
  ScriptFrames frames;
};

class Php final : public FoundInterpreter<FoundPhp> {
 public:
  using FoundInterpreter::FoundInterpreter;

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    if (found() != nullptr) return;
    const uint64_t evaluation = loaded.exports.Find("execute_ex");
    const uint64_t modules = loaded.exports.Find("module_registry");
    if (evaluation == 0 || modules == 0) return;
    const uint64_t globals = loaded.exports.Find("executor_globals");
    if (globals == 0) return NoteUnreadable();  // with thread safety
    Find([&](FoundPhp* found) {
      found->reader.Attach(memory(), globals, modules);
      found->place = PlaceOf(loaded, evaluation, code->AddLanguage("[php]"));
      return found->place.language != kNoModule;
    });
  }

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override {
    FoundPhp* php = found();
    if (php == nullptr) return;
    // Other threads of the process run no PHP.
    const auto is_evaluation = [&](const Frame& frame) {
      return frame.module == php->place.module && frame.function_offset == php->place.evaluation;
    };
    if (std::ranges::none_of(stack->view(), is_evaluation)) return;
    if (php->version == PhpReader::Version::kNotStarted) php->version = php->reader.FindVersion();
    if (php->version == PhpReader::Version::kOther) NoteUnreadable();
    if (php->version != PhpReader::Version::kKnown) return;
    const Registers* registers = thread.raw == nullptr ? nullptr : &thread.raw->registers;
    if (php->reader.Read(registers, &code->script_functions(), &php->frames))
      Splice(php->place, php->frames, stack);
  }

 private:
  void NoteUnreadable() { std::snprintf(unreadable_, sizeof unreadable_, "php"); }
};

}  // namespace
}  // namespace php

std::unique_ptr<Interpreter> CreatePhp(Memory* memory) { return std::make_unique<php::Php>(memory); }

}  // namespace lagwatch::stack

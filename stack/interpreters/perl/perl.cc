// SPDX-License-Identifier: Apache-2.0
// Perl 5.36 in a process: the first of its modules that defines the evaluation function.
#include <cstdio>

#include "stack/interpreters/found_interpreter.h"
#include "stack/interpreters/perl/reader.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::stack {
namespace perl {
namespace {

struct FoundPerl {
  PerlReader reader;
  StateSearch search;
  InterpreterPlace place;
  ScriptFrames frames;
};

class Perl final : public FoundInterpreter<FoundPerl> {
 public:
  using FoundInterpreter::FoundInterpreter;

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    constexpr uint8_t kMajor = 5;
    constexpr uint8_t kMinor = 36;
    constexpr uint16_t kInterpreterBytes = 3768;  // in builds with threads
    if (found() != nullptr) return;
    const uint64_t evaluation = loaded.exports.Find("Perl_runops_standard");
    if (evaluation == 0) return;
    uint8_t major = 0;
    uint8_t minor = 0;
    uint16_t bytes = 0;
    memory()->Read(loaded.exports.Find("PL_revision"), &major);
    memory()->Read(loaded.exports.Find("PL_version"), &minor);
    memory()->Read(loaded.exports.Find("PL_interp_size"), &bytes);
    if (major != kMajor || minor != kMinor || bytes != kInterpreterBytes) {
      std::snprintf(unreadable_, sizeof unreadable_, "perl %u.%u", unsigned{major}, unsigned{minor});
      return;
    }
    Find([&](FoundPerl* found) {
      found->reader.Attach(memory());
      found->place = PlaceOf(loaded, evaluation, code->AddLanguage("[perl]"));
      return found->place.language != kNoModule;
    });
  }

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override {
    FoundPerl* perl = found();
    if (perl == nullptr || thread.raw == nullptr || !MayRun(*stack, perl->place.module)) return;
    perl->search.Collect(*thread.raw, code);
    if (perl->reader.Read(perl->search.candidates(), &code->script_functions(), &perl->frames))
      Splice(perl->place, perl->frames, stack);
  }
};

}  // namespace
}  // namespace perl

std::unique_ptr<Interpreter> CreatePerl(Memory* memory) { return std::make_unique<perl::Perl>(memory); }

}  // namespace lagwatch::stack

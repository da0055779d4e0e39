// SPDX-License-Identifier: Apache-2.0
// Ruby 3.1 in a process: the first of its modules that defines the evaluation function.
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>

#include "base/system/thread.h"
#include "stack/interpreters/bytes.h"
#include "stack/interpreters/found_interpreter.h"
#include "stack/interpreters/ruby/reader.h"
#include "stack/interpreters/ruby/waits.h"
#include "stack/interpreters/state_hints.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::stack {
namespace ruby {
namespace {

struct FoundRuby {
  RubyReader reader;
  Waits waits;
  StateSearch search;
  StateHints hints;
  InterpreterPlace place;
  ScriptFrames frames;
};

class Ruby final : public FoundInterpreter<FoundRuby> {
 public:
  using FoundInterpreter::FoundInterpreter;

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    if (found() != nullptr) return;
    const uint64_t evaluation = loaded.exports.Find("rb_vm_exec");
    const uint64_t vm = loaded.exports.Find("ruby_current_vm_ptr");
    const uint64_t version = loaded.exports.Find("ruby_version");
    if (evaluation == 0 || vm == 0 || version == 0) return;
    std::array<char, 4> text{};
    memory()->Read(version, text.data(), text.size() - 1);
    if (std::string_view(text.data()) != "3.1") {
      CleanText({text.data(), text.size() - 1});
      std::snprintf(unreadable_, sizeof unreadable_, "ruby %s", text.data());
      return;
    }
    Find([&](FoundRuby* found) {
      found->reader.Attach(memory(), vm, loaded.exports.Find("rb_cString"));
      found->waits.Attach(memory());
      found->place = PlaceOf(loaded, evaluation, code->AddLanguage("[ruby]"));
      return found->place.language != kNoModule;
    });
  }

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override {
    FoundRuby* ruby = found();
    if (ruby == nullptr || thread.raw == nullptr || !MayRun(*stack, ruby->place.module)) return;
    ruby->search.Collect(*thread.raw, code);
    if (!ruby->reader.Read(ruby->search.candidates(), *thread.raw, &code->script_functions(), &ruby->frames))
      return;
    ruby->hints.Set(thread.tid, 0, ruby->reader.last_context());
    Splice(ruby->place, ruby->frames, stack);
  }

  std::optional<ScriptLock> FindLock(int tid, const FutexWait& futex) override {
    if (found() == nullptr) return std::nullopt;
    const Waits::Wait wait = found()->waits.Find(tid, ContextOf(tid), futex.stack_pointer);
    if (wait.owner_tid == 0) return std::nullopt;
    const bool is_thread = wait.kind == Waits::Kind::kThread;
    return ScriptLock{.address = wait.object,
                      .turn = 0,
                      .owner_tid = wait.owner_tid,
                      .kind = is_thread ? policies::LockKind::kThread : policies::LockKind::kMutex,
                      .may_time_out = is_thread};
  }

  policies::Doing FindWait(int tid, const FutexWait& futex, CodeMap*) override {
    using policies::Doing;
    if (found() == nullptr) return Doing::kUnknown;
    const uint64_t context = ContextOf(tid);
    const Waits::Wait wait = found()->waits.Find(tid, context, futex.stack_pointer);
    if (wait.kind == Waits::Kind::kChild) return Doing::kProcess;
    // Kernel's other methods sleep in a call of their own, or as above.
    const bool is_asleep = wait.kind == Waits::Kind::kNone && found()->waits.IsAsleep(tid, context) &&
                           found()->reader.IsInKernel(context);
    return is_asleep ? Doing::kSleep : Doing::kUnknown;
  }

  ScriptPeer FindPeer(int tid, const FutexWait& futex) override {
    if (found() == nullptr) return {};
    const Waits::Wait wait = found()->waits.Find(tid, ContextOf(tid), futex.stack_pointer);
    if (wait.kind != Waits::Kind::kChild) return {};
    return {.kind = policies::LockKind::kChild, .pid = wait.child_pid};
  }

  void CopyPieces(const Registers&, MemoryPieces* pieces) const override {
    const FoundRuby* ruby = for_copies();
    if (ruby == nullptr) return;
    const StateHints::States& hints = ruby->hints.Of(base::CurrentThreadId());
    const uint64_t context = hints[0].load(std::memory_order_relaxed);  // checked
    if (context != 0) RubyReader::CopyPieces(context, pieces);
  }

 private:
  // As it was found when the thread's stack was read last; maybe another thread's.
  uint64_t ContextOf(int tid) const {
    return found()->hints.Of(tid)[0].load(std::memory_order_relaxed);  // checked
  }
};

}  // namespace
}  // namespace ruby

std::unique_ptr<Interpreter> CreateRuby(Memory* memory) { return std::make_unique<ruby::Ruby>(memory); }

}  // namespace lagwatch::stack

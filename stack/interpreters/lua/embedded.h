// SPDX-License-Identifier: Apache-2.0
// A Lua that was found in a process, with what its stacks are read by.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "base/process/mapped_memory.h"
#include "base/system/thread.h"
#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/lua/calls.h"
#include "stack/interpreters/lua/place.h"
#include "stack/interpreters/state_hints.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::stack::lua {

// `Reader` reads one implementation's calls: lua::Reader or luajit::Reader. Small until Begin(). Context:
// watchdog; not thread-safe, except CopyPieces().
template <typename Reader>
class Embedded {
 public:
  // Begins to read the Lua that `loaded` holds; `attached` is what Reader::Attach() takes.
  template <typename... Attached>
  void Begin(const LoadedModule& loaded, CodeMap* code, const Attached&... attached) {
    auto found = base::MapBlock<Found>(1);
    if (found == nullptr) return;
    found[0].reader.Attach(attached...);
    found[0].place = Place::Of(loaded.index, loaded.module, loaded.exports);
    found[0].place.language = code->AddLanguage("[lua]");
    if (found[0].place.language == kNoModule) return;
    found_ = std::move(found);
    copied_.store(&found_[0], std::memory_order_release);  // pairs with CopyPieces()
  }
  bool has_begun() const { return found_ != nullptr; }

  // As Interpreter::AddTo().
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
    if (found_ == nullptr || thread.raw == nullptr) return;
    Found& found = found_[0];
    const auto is_in_lua = [&](const Frame& frame) { return found.place.IsInterpreter(frame); };
    // The interpreter may be beyond the end of a native stack that ends too early, as in functions in
    // assembler.
    const bool may_be_beyond = stack->completeness == Completeness::kIncomplete ||
                               (stack->frame_count == 1 && stack->frames[0].module == found.place.module);
    if (!may_be_beyond && std::ranges::none_of(stack->view(), is_in_lua)) return;
    {
      const auto held = code->Hold();
      found.search.Collect(*thread.raw, code->modules().stacks());
    }
    if (!found.reader.Read(found.search.candidates(), *thread.raw, &code->script_functions(), &found.calls))
      return;
    for (size_t i = 0; i < StateHints::kPerThread; ++i)
      found.hints.Set(thread.tid, i, found.reader.last_state(i));
    Splice(found.place, found.calls, stack);
  }

  // As Interpreter::CopyPieces(). Context: signal.
  void CopyPieces(const Registers& registers, MemoryPieces* pieces) const {
    const Found* found = copied_.load(std::memory_order_acquire);  // pairs with Begin()
    if (found == nullptr) return;
    for (const auto& hint : found->hints.Of(base::CurrentThreadId())) {
      const uint64_t state = hint.load(std::memory_order_relaxed);  // checked
      if (state == 0) break;
      if (!found->reader.CopyPieces(state, registers, pieces)) return;
      pieces->MarkWhole();
    }
  }

 private:
  struct Found {
    Reader reader;
    StateSearch search;
    StateHints hints;
    Place place;
    Calls calls;
  };

  base::MappedBlock<Found> found_;             // one; null while there is none
  std::atomic<const Found*> copied_{nullptr};  // the same, for CopyPieces()
};

}  // namespace lagwatch::stack::lua

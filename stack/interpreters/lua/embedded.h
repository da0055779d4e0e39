// SPDX-License-Identifier: Apache-2.0
// A Lua in a process, with what its stacks are read by.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/system/thread.h"
#include "stack/interpreters/found_interpreter.h"
#include "stack/interpreters/lua/calls.h"
#include "stack/interpreters/lua/lua_code.h"
#include "stack/interpreters/state_hints.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::stack::lua {

template <typename Reader>
struct FoundLua {
  Reader reader;
  StateSearch search;
  StateHints hints;
  LuaCode place;
  Calls calls;
};

// `Reader` reads one implementation's calls: LuaReader or luajit::LuaJitReader.
template <typename Reader>
class Embedded : public FoundInterpreter<FoundLua<Reader>> {
 public:
  using FoundInterpreter<FoundLua<Reader>>::FoundInterpreter;

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override {
    FoundLua<Reader>* lua = this->found();
    if (lua == nullptr || thread.raw == nullptr) return;
    const auto is_in_lua = [&](const Frame& frame) { return lua->place.IsInterpreter(frame); };
    // The interpreter may be beyond the end of a native stack that ends too early, as in functions in
    // assembler.
    const bool may_be_beyond = stack->completeness == Completeness::kIncomplete ||
                               (stack->frame_count == 1 && stack->frames[0].module == lua->place.module);
    if (!may_be_beyond && std::ranges::none_of(stack->view(), is_in_lua)) return;
    lua->search.Collect(*thread.raw, code);
    if (!lua->reader.Read(lua->search.candidates(), *thread.raw, &code->script_functions(), &lua->calls))
      return;
    for (size_t i = 0; i < StateHints::kPerThread; ++i)
      lua->hints.Set(thread.tid, i, lua->reader.last_state(i));
    Splice(lua->place, lua->calls, stack);
  }

  void CopyPieces(const Registers& registers, MemoryPieces* pieces) const override {
    const FoundLua<Reader>* lua = this->for_copies();
    if (lua == nullptr) return;
    for (const auto& hint : lua->hints.Of(base::CurrentThreadId())) {
      const uint64_t state = hint.load(std::memory_order_relaxed);  // checked
      if (state == 0) break;
      if (!lua->reader.CopyPieces(state, registers, pieces)) return;
      pieces->MarkWhole();
    }
  }

 protected:
  // Begins to read the Lua that `loaded` holds; `attached` is what Reader::Attach() takes.
  template <typename... Attached>
  void Begin(const LoadedModule& loaded, CodeMap* code, const Attached&... attached) {
    this->Find([&](FoundLua<Reader>* found) {
      found->reader.Attach(attached...);
      found->place = LuaCode::Of(loaded.index, loaded.module, loaded.exports);
      found->place.language = code->AddLanguage("[lua]");
      return found->place.language != kNoModule;
    });
  }
};

}  // namespace lagwatch::stack::lua

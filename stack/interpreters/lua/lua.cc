// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/lua/lua.h"

#include <algorithm>
#include <utility>

#include "base/system/thread.h"

namespace lagwatch::stack::lua {

void Lua::LookAt(const LoadedModule& loaded, CodeMap* code) {
  if (found_ != nullptr) return;
  const Layout* layout = FindLayout(loaded.exports);
  if (layout == nullptr) {
    if (loaded.exports.Find("luaJIT_setmode") != 0) {
      unreadable_ = "luajit";
    } else if (loaded.exports.Find("lua_newstate") != 0) {
      unreadable_ = "lua";
    }
    return;
  }
  auto found = base::MapBlock<Found>(1);
  if (found == nullptr) return;
  found[0].reader.Attach(memory_, layout);
  found[0].place = Place::Of(loaded.index, loaded.module, loaded.exports);
  found[0].place.language = code->AddLanguage("[lua]");
  if (found[0].place.language == kNoModule) return;
  found_ = std::move(found);
  copied_.store(&found_[0], std::memory_order_release);  // pairs with CopyPieces()
}

void Lua::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (found_ == nullptr || thread.raw == nullptr) return;
  Found& found = found_[0];
  const auto is_in_lua = [&](const Frame& frame) { return found.place.IsInterpreter(frame); };
  // The interpreter may be beyond the end of a native stack that ends too early.
  if (stack->completeness != Completeness::kIncomplete && std::ranges::none_of(stack->view(), is_in_lua))
    return;
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

void Lua::CopyPieces(const Registers&, MemoryPieces* pieces) const {
  const Found* found = copied_.load(std::memory_order_acquire);  // pairs with LookAt()
  if (found == nullptr) return;
  for (const auto& hint : found->hints.Of(base::CurrentThreadId())) {
    const uint64_t state = hint.load(std::memory_order_relaxed);  // checked
    if (state == 0) break;
    if (!found->reader.CopyPieces(state, pieces)) return;
    pieces->MarkWhole();
  }
}

}  // namespace lagwatch::stack::lua

// SPDX-License-Identifier: Apache-2.0
// Lua in a process: the first of its modules that exports the functions of Lua's C API.
#include <cstdio>

#include "stack/interpreters/lua/embedded.h"
#include "stack/interpreters/lua/reader.h"

namespace lagwatch::stack {
namespace lua {
namespace {

class Lua final : public Embedded<LuaReader> {
 public:
  using Embedded::Embedded;

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    if (found() != nullptr) return;
    if (const LuaLayout* layout = FindLayout(loaded.exports)) {
      Begin(loaded, code, memory(), layout);
    } else if (loaded.exports.Find("lua_newstate") != 0 && loaded.exports.Find("luaJIT_setmode") == 0) {
      std::snprintf(unreadable_, sizeof unreadable_, "lua");
    }
  }
};

}  // namespace
}  // namespace lua

std::unique_ptr<Interpreter> CreateLua(Memory* memory) { return std::make_unique<lua::Lua>(memory); }

}  // namespace lagwatch::stack

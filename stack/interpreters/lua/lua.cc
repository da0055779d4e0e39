// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/lua/lua.h"

namespace lagwatch::stack::lua {

void Lua::LookAt(const LoadedModule& loaded, CodeMap* code) {
  if (lua_.has_begun()) return;
  if (const Layout* layout = FindLayout(loaded.exports)) {
    lua_.Begin(loaded, code, memory_, layout);
  } else if (loaded.exports.Find("lua_newstate") != 0 && loaded.exports.Find("luaJIT_setmode") == 0) {
    unreadable_ = "lua";
  }
}

}  // namespace lagwatch::stack::lua

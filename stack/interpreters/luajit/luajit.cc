// SPDX-License-Identifier: Apache-2.0
// LuaJIT in a process: the first of its modules that exports LuaJIT's own function.
#include "stack/interpreters/lua/embedded.h"
#include "stack/interpreters/luajit/reader.h"

namespace lagwatch::stack {
namespace luajit {
namespace {

class LuaJit final : public lua::Embedded<LuaJitReader> {
 public:
  using Embedded::Embedded;

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    if (found() == nullptr && loaded.exports.Find("luaJIT_setmode") != 0) Begin(loaded, code, memory());
  }
};

}  // namespace
}  // namespace luajit

std::unique_ptr<Interpreter> CreateLuaJit(Memory* memory) { return std::make_unique<luajit::LuaJit>(memory); }

}  // namespace lagwatch::stack

// SPDX-License-Identifier: Apache-2.0
#include "bench/interpreters/readers.h"
#include "stack/interpreters/lua/calls.h"
#include "stack/interpreters/lua/layout.h"
#include "stack/interpreters/lua/reader.h"
#include "stack/interpreters/luajit/reader.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::interpreters_bench {
namespace {

class LuaReader final : public StackReader {
 public:
  explicit LuaReader(pid_t pid) : capture_(pid) {}

  bool Attach() {
    return FindModule(capture_.pid(), capture_.memory(),
                      [&](const std::string&, const stack::ExportedSymbols& exports) {
                        is_luajit_ = exports.Find("luaJIT_setmode") != 0;
                        luajit_reader_.Attach(capture_.memory());
                        const stack::lua::LuaLayout* layout = stack::lua::FindLayout(exports);
                        if (layout != nullptr) reader_.Attach(capture_.memory(), layout);
                        return is_luajit_ || layout != nullptr;
                      });
  }
  void Capture() override { capture_.Take(); }
  bool Read() override {
    if (!capture_.is_taken()) return false;
    search_.Collect(capture_.raw(), capture_.regions());
    return is_luajit_ ? luajit_reader_.Read(search_.candidates(), capture_.raw(), &functions_, &calls_)
                      : reader_.Read(search_.candidates(), capture_.raw(), &functions_, &calls_);
  }
  std::string Text() const override {
    std::string text;
    for (size_t i = 0; i < calls_.count; ++i) {
      const stack::lua::Call& call = calls_.calls[i];
      if (call.function == 0) continue;
      if (!text.empty()) text += "|";
      text += TextOfFrame(call.function, call.line, functions_);
    }
    return text;
  }

 private:
  ThreadCapture capture_;
  bool is_luajit_ = false;
  stack::lua::LuaReader reader_;
  stack::luajit::LuaJitReader luajit_reader_;
  stack::StateSearch search_;
  stack::ScriptFunctions functions_;
  stack::lua::Calls calls_;
};

}  // namespace

std::unique_ptr<StackReader> AttachToLua(pid_t pid) {
  auto reader = std::make_unique<LuaReader>(pid);
  return reader->Attach() ? std::move(reader) : nullptr;
}

}  // namespace lagwatch::interpreters_bench

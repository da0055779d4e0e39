// SPDX-License-Identifier: Apache-2.0
#include "bench/interpreters/readers.h"
#include "stack/interpreters/lua/calls.h"
#include "stack/interpreters/lua/layout.h"
#include "stack/interpreters/lua/reader.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::interpreters_bench {
namespace {

class LuaReader final : public StackReader {
 public:
  explicit LuaReader(pid_t pid) : pid_(pid), memory_(pid) {}

  bool Attach() {
    return FindModule(pid_, &memory_, [&](const std::string&, const stack::ExportedSymbols& exports) {
      const stack::lua::Layout* layout = stack::lua::FindLayout(exports);
      if (layout != nullptr) reader_.Attach(&memory_, layout);
      return layout != nullptr;
    });
  }
  void Capture() override {
    // The heap grows, mostly at first.
    if (captures_ < 1000 || captures_ % 1000 == 0) regions_ = WritableMemory(pid_);
    ++captures_;
    is_captured_ = CaptureMainThread(pid_, &memory_, regions_, raw_.get());
  }
  bool Read() override {
    if (!is_captured_) return false;
    search_.Collect(*raw_, {.regions = regions_.data(), .count = regions_.size(), .main_stack = {}});
    return reader_.Read(search_.candidates(), *raw_, &functions_, &calls_);
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
  pid_t pid_;
  OtherMemory memory_;
  stack::lua::Reader reader_;
  stack::StateSearch search_;
  stack::ScriptFunctions functions_;
  stack::lua::Calls calls_;
  std::vector<stack::MemoryRegion> regions_;
  std::unique_ptr<stack::RawStack> raw_ = std::make_unique<stack::RawStack>();
  uint64_t captures_ = 0;
  bool is_captured_ = false;
};

}  // namespace

std::unique_ptr<StackReader> AttachToLua(pid_t pid) {
  auto reader = std::make_unique<LuaReader>(pid);
  return reader->Attach() ? std::move(reader) : nullptr;
}

}  // namespace lagwatch::interpreters_bench

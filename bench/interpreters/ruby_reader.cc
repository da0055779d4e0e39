// SPDX-License-Identifier: Apache-2.0
#include "bench/interpreters/readers.h"
#include "stack/interpreters/ruby/reader.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::interpreters_bench {
namespace {

class RubyReader final : public StackReader {
 public:
  explicit RubyReader(pid_t pid) : capture_(pid) {}

  bool Attach() {
    return FindModule(capture_.pid(), capture_.memory(),
                      [&](const std::string&, const stack::ExportedSymbols& exports) {
                        const uint64_t vm = exports.Find("ruby_current_vm_ptr");
                        if (vm != 0) reader_.Attach(capture_.memory(), vm, exports.Find("rb_cString"));
                        return vm != 0;
                      });
  }
  void Capture() override { capture_.Take(); }
  bool Read() override {
    if (!capture_.is_taken()) return false;
    search_.Collect(capture_.raw(), capture_.regions());
    return reader_.Read(search_.candidates(), capture_.raw(), &functions_, &frames_);
  }
  std::string Text() const override { return TextOf(frames_, functions_); }

 private:
  ThreadCapture capture_;
  stack::ruby::RubyReader reader_;
  stack::StateSearch search_;
  stack::ScriptFunctions functions_;
  stack::ScriptFrames frames_;
};

}  // namespace

std::unique_ptr<StackReader> AttachToRuby(pid_t pid) {
  auto reader = std::make_unique<RubyReader>(pid);
  return reader->Attach() ? std::move(reader) : nullptr;
}

}  // namespace lagwatch::interpreters_bench

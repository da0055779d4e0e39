// SPDX-License-Identifier: Apache-2.0
#include "bench/interpreters/readers.h"
#include "stack/interpreters/php/reader.h"

namespace lagwatch::interpreters_bench {
namespace {

class PhpReader final : public StackReader {
 public:
  explicit PhpReader(pid_t pid) : capture_(pid) {}

  bool Attach() {
    return FindModule(capture_.pid(), capture_.memory(),
                      [&](const std::string&, const stack::ExportedSymbols& exports) {
                        const uint64_t globals = exports.Find("executor_globals");
                        const uint64_t modules = exports.Find("module_registry");
                        if (globals == 0 || modules == 0) return false;
                        reader_.Attach(capture_.memory(), globals, modules);
                        return reader_.FindVersion() == stack::php::PhpReader::Version::kKnown;
                      });
  }
  void Capture() override { capture_.Take(); }
  bool Read() override {
    return capture_.is_taken() && reader_.Read(&capture_.raw().registers, &functions_, &frames_);
  }
  std::string Text() const override { return TextOf(frames_, functions_); }

 private:
  ThreadCapture capture_;
  stack::php::PhpReader reader_;
  stack::ScriptFunctions functions_;
  stack::ScriptFrames frames_;
};

}  // namespace

std::unique_ptr<StackReader> AttachToPhp(pid_t pid) {
  auto reader = std::make_unique<PhpReader>(pid);
  return reader->Attach() ? std::move(reader) : nullptr;
}

}  // namespace lagwatch::interpreters_bench

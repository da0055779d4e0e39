// SPDX-License-Identifier: Apache-2.0
#include "bench/interpreters/readers.h"
#include "stack/interpreters/perl/reader.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::interpreters_bench {
namespace {

class PerlReader final : public StackReader {
 public:
  explicit PerlReader(pid_t pid) : capture_(pid) {}

  bool Attach() {
    return FindModule(capture_.pid(), capture_.memory(),
                      [&](const std::string&, const stack::ExportedSymbols& exports) {
                        const bool is_perl = exports.Find("Perl_runops_standard") != 0;
                        if (is_perl) reader_.Attach(capture_.memory());
                        return is_perl;
                      });
  }
  void Capture() override { capture_.Take(); }
  bool Read() override {
    if (!capture_.is_taken()) return false;
    search_.Collect(capture_.raw(), capture_.regions());
    return reader_.Read(search_.candidates(), &functions_, &frames_);
  }
  std::string Text() const override { return TextOf(frames_, functions_); }

 private:
  ThreadCapture capture_;
  stack::perl::PerlReader reader_;
  stack::StateSearch search_;
  stack::ScriptFunctions functions_;
  stack::ScriptFrames frames_;
};

}  // namespace

std::unique_ptr<StackReader> AttachToPerl(pid_t pid) {
  auto reader = std::make_unique<PerlReader>(pid);
  return reader->Attach() ? std::move(reader) : nullptr;
}

}  // namespace lagwatch::interpreters_bench

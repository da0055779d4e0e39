// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "bench/interpreters/node_stacks.h"
#include "bench/interpreters/readers.h"

namespace lagwatch::interpreters_bench {
namespace {

class V8Reader final : public StackReader {
 public:
  explicit V8Reader(pid_t pid) : memory_(pid), stacks_(pid, &memory_) {}
  bool Attach() { return stacks_.Attach(); }
  void Capture() override { is_copied_ = stacks_.Copy(); }
  bool Read() override { return is_copied_ && stacks_.Read(&functions_, &frames_); }
  std::string Text() const override { return TextOf(frames_, functions_); }

 private:
  OtherMemory memory_;
  bench::NodeStacks stacks_;
  bool is_copied_ = false;
  stack::ScriptFunctions functions_;
  stack::ScriptFrames frames_;
};

}  // namespace

std::unique_ptr<StackReader> AttachToV8(pid_t pid) {
  auto reader = std::make_unique<V8Reader>(pid);
  return reader->Attach() ? std::move(reader) : nullptr;
}

}  // namespace lagwatch::interpreters_bench

// SPDX-License-Identifier: Apache-2.0
// Watches a loop that hangs once, and prints the hang's stack: links all that the watchdog needs.
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/system/thread.h"
#include "stack/stack_capturer.h"
#include "watchdog/watchdog.h"

namespace {

using lagwatch::base::Uuid;
using lagwatch::watchdog::HangEvent;

class PrintingSink final : public lagwatch::watchdog::HangSink {
 public:
  bool OnHang(const HangEvent& event) override {
    ++hang_count_;
    for (const auto* sample : event.samples) {
      for (const auto& frame : sample->stack.view())
        std::printf("%u %llx\n", frame.module, static_cast<unsigned long long>(frame.offset));
    }
    return true;
  }
  void OnHangEnd(const Uuid&, int64_t duration_ns) override {
    std::printf("%lld ns\n", static_cast<long long>(duration_ns));
  }
  void OnRoundDone() override {}

  int hang_count_ = 0;
};

}  // namespace

int main() {
  using lagwatch::stack::CodeMap;
  using lagwatch::stack::StackCapturer;
  auto code = CodeMap::Create();
  if (!code.ok()) return 1;
  auto capturer = StackCapturer::Create({}, *code);
  if (!capturer.ok()) return 1;
  const auto registry = std::make_unique<lagwatch::watchdog::LoopRegistry>();
  PrintingSink sink;
  lagwatch::watchdog::Watchdog watchdog({}, registry.get(), capturer->get(), &sink);
  if (!watchdog.Start().ok()) return 1;
  std::thread thread([&] {
    lagwatch::watchdog::WatchedLoop* loop = registry->Add("main", lagwatch::base::CurrentThreadId());
    loop->probe.Begin("hang");
    std::this_thread::sleep_for(std::chrono::seconds(8));
    loop->probe.End();
    registry->Remove(loop);
  });
  thread.join();
  return watchdog.TryStop() && sink.hang_count_ != 0 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// Cost of one hit of a probe's program, without the mechanism that hits it: an empty program, a false filter,
// a count, a histogram by key, 20 operations, texts, records and stacks. The loop alone is measured with
// three ways to dispatch operations: a switch (which the library has), computed gotos and tail calls.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "probe/compile/compiler.h"
#include "probe/run/interpreter.h"
#include "probe/run/loop.h"
#include "probe/verify/verifier.h"

namespace lagwatch::probe {
namespace {

constexpr int kRounds = 200;
constexpr uint64_t kHits = 1'000;  // of a round: less than the budget of a thread

size_t ReadDirectly(const Hit&, uint64_t address, void* to, size_t size) {
  std::memcpy(to, reinterpret_cast<const void*>(address), size);
  return size;
}
size_t CaptureNine(const Hit& hit, uint64_t* addresses, size_t most) {
  const size_t depth = std::min<size_t>(most, 9);
  for (size_t i = 0; i < depth; ++i) addresses[i] = 0x400000 + i * 64 + hit.caller % 32;
  return depth;
}
constexpr HitServices kServices{.read = ReadDirectly, .capture_stack = CaptureNine, .cpu_time_ns = nullptr};

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

// A script with its state.
class Script {
 public:
  explicit Script(const std::string& text) : verified_(Compiled(text)) {
    const size_t size = (ProbeState::Bytes(verified_) + 63) / 64 * 64;
    memory_.reset(std::aligned_alloc(64, size));
    std::memset(memory_.get(), 0, size);
    state_ = std::make_unique<ProbeState>(verified_, memory_.get(), ProbeClock{.ns_per_tick = 0.4}, 0);
  }

  const VerifiedProbe& probe() const { return verified_.probes()[0]; }
  ProbeState* state() { return state_.get(); }
  // As at the beginning of a window of the budget.
  void Refresh() {
    std::memset(static_cast<void*>(state_->block().threads), 0, kThreadSlots * sizeof(ThreadSlot));
  }

 private:
  static VerifiedProgram Compiled(const std::string& text) {
    Result<Program> program = CompileScript(text, nullptr);
    Result<VerifiedProgram> verified =
        program.ok() ? Verify(std::move(*program)) : Result<VerifiedProgram>(program.status());
    if (verified.ok()) return std::move(*verified);
    std::fprintf(stderr, "%s: %s\n", text.c_str(), verified.status().message().c_str());
    std::exit(1);
  }

  VerifiedProgram verified_;
  std::unique_ptr<void, FreeMemory> memory_;
  std::unique_ptr<ProbeState> state_;
};

// The median of the rounds' nanoseconds per hit.
template <typename HitOnce>
double NsPerHit(Script* script, HitOnce hit_once) {
  std::vector<double> rounds;
  uint64_t now_ticks = 1;
  static const char kPath[] = "/usr/lib/x86_64-linux-gnu/libc.so.6";
  for (int round = 0; round < kRounds; ++round) {
    script->Refresh();
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < kHits; ++i) {
      const uint64_t ints[6] = {i, i % 50, reinterpret_cast<uintptr_t>(kPath), 3, 4, 5};
      Hit hit;
      hit.services = &kServices;
      hit.int_arguments = ints;
      hit.now_ticks = now_ticks += 30'000;  // 12 µs: so many records are within the output limit
      hit.duration_ticks = 1'000;
      hit.caller = i;
      hit.tid = 4711;
      hit_once(hit);
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    rounds.push_back(taken.count() / kHits);
    std::string records;
    script->state()->TakeRecords(kMaxRecords, &records);
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

double OfHits(const std::string& text) {
  Script script(text);
  return NsPerHit(&script, [&](const Hit& hit) { RunProbe(script.probe(), hit, script.state()); });
}

[[gnu::noinline]] void BySwitch(Frame& frame) {
  RunOperations(frame, [](const Operation&) {});
}

[[gnu::noinline]] void ByGoto(Frame& frame) {
  static const void* const kLabels[] = {
#define OPERATION(name, ...) &&label_##name,
#include "probe/operations.def"
  };
  const Operation* next = frame.probe.operations().data();
  const Operation* operation = next++;
  goto* kLabels[static_cast<size_t>(operation->code)];
#define OPERATION(name, ...)                                  \
  label_##name : next = steps::name(frame, *operation, next); \
  if (next == nullptr) return;                                \
  operation = next++;                                         \
  goto* kLabels[static_cast<size_t>(operation->code)];
#include "probe/operations.def"
}

using TailStep = void (*)(Frame&, const Operation*);
extern const TailStep kTailSteps[];
#define OPERATION(name, ...)                                                     \
  void Tail##name(Frame& frame, const Operation* operation) {                    \
    const Operation* const next = steps::name(frame, *operation, operation + 1); \
    if (next == nullptr) return;                                                 \
    return kTailSteps[static_cast<size_t>(next->code)](frame, next);             \
  }
#include "probe/operations.def"
const TailStep kTailSteps[] = {
#define OPERATION(name, ...) Tail##name,
#include "probe/operations.def"
};

[[gnu::noinline]] void ByTailCalls(Frame& frame) {
  const Operation* const first = frame.probe.operations().data();
  kTailSteps[static_cast<size_t>(first->code)](frame, first);
}

double OfLoop(const std::string& text, void (*run)(Frame&)) {
  Script script(text);
  return NsPerHit(&script, [&](const Hit& hit) {
    Frame frame(script.probe(), hit, script.state()->block(), hit.now_ticks, 1);
    run(frame);
  });
}

size_t OperationsOf(const std::string& text) { return Script(text).probe().operations().size(); }

}  // namespace
}  // namespace lagwatch::probe

int main() {
  using namespace lagwatch::probe;
  const std::string head = "budget 10% 10000000/s ";
  const std::string filter = head + "f @return if duration > 1ms { count }";
  const std::string twenty =
      head + "f if (arg0 * 3 + arg1 - 7 & 1023) < 5000 and (arg0 ^ arg1) != -1 and arg3 + arg4 > 0 { count }";
  const std::vector<std::pair<std::string, std::string>> scripts = {
      {"empty_ns", head + "f if arg5 == 6 { dump }"},
      {"false_filter_ns", filter},
      {"count_ns", head + "f { count }"},
      {"count_by_key_ns", head + "f { count by arg1 }"},
      {"histogram_by_key_ns", head + "f { histogram(arg0) by arg1 }"},
      {"twenty_operations_ns", twenty},
      {"count_by_text_ns", head + "f { count by str(arg2) }"},
      {"match_text_ns", head + "f if str(arg2) ~ \"*/libm.so*\" { count }"},
      {"count_by_stack_ns", head + "f { count by stack }"},
      {"print_ns", head + "output 100000/s f { print(arg0, arg1) }"},
      {"sample_ns", head + "f sample 1/100 { count }"},
  };
  std::string json = "{\"load\":" + std::to_string([] {
                       double load = 0;
                       return getloadavg(&load, 1) == 1 ? load : -1;
                     }());
  json += ",\"twenty_operations\":" + std::to_string(OperationsOf(twenty));
  const auto add = [&](const std::string& name, double ns) {
    char text[96];
    std::snprintf(text, sizeof text, ",\"%s\":%.1f", name.c_str(), ns);
    json += text;
    std::printf("%-28s %6.1f ns\n", name.c_str(), ns);
  };
  for (const auto& [name, text] : scripts) add(name, OfHits(text));
  const std::pair<const char*, void (*)(Frame&)> designs[] = {
      {"switch", BySwitch}, {"goto", ByGoto}, {"tail_calls", ByTailCalls}};
  for (const auto& [design, run] : designs) {
    add("false_filter_" + std::string(design) + "_ns", OfLoop(filter, run));
    add("twenty_operations_" + std::string(design) + "_ns", OfLoop(twenty, run));
  }
  std::printf("%s}\n", json.c_str());
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Measures the cost of unwinding a captured stack: ours out of the copy with warm tables (ns_per_frame),
// against libunwind's cached fast path and its unw_step() over the same frames (libunwind_fast_ns_per_frame,
// unw_step_ns_per_frame); how far ours agrees with libunwind's remote unwinder over the same copies, captured
// while a thread runs through the C++ library (agreement_pct); and the time to compile the tables
// (table_build_ms_per_mib, table_bytes_per_mib).
//
// The variants are interleaved and each figure is the least of many rounds: on a shared machine,
// noise only adds.
#include <regex.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/process/safe_memory.h"
#include "bench/libunwind_local.h"
#include "bench/own_walks.h"
#include "stack/code_map.h"
#include "stack/elf/local_symbols.h"
#include "stack/own_stack.h"
#include "stack/signal/context.h"
#include "stack/signal/kernel_calls.h"
#include "stack/unwind/table_unwinder.h"
#include "stack/unwind/tables/unwind_table.h"
#include "tests/testing/libunwind_unwinder.h"

namespace {

using namespace lagwatch;

constexpr int kRounds = 300;
constexpr int kDepth = 100;
constexpr int kOwnDepth = 24;  // some 30 frames with those around
constexpr size_t kStacks = 12'000;

int64_t NowNs() { return base::SystemClock().MonoNs(); }

// Catches the calling thread.
void CatchOwnStack(const stack::ModuleMap& modules, stack::RawStack* raw) {
  ucontext_t context;
  getcontext(&context);
  stack::ReadContext(&context, &raw->registers);
  stack::MemoryRegion live = modules.stacks().LiveStack(raw->registers.stack_pointer());
  raw->address = live.begin;
  raw->end = live.end;
  raw->size_bytes = base::ReadOwnMemory(
      raw->address, raw->bytes, std::min<uint64_t>(raw->end - raw->address, stack::kMaxRawStackBytes));
}

class Least {
 public:
  void Add(double value) { value_ = std::min(value_, value); }
  double value() const { return value_; }

 private:
  double value_ = std::numeric_limits<double>::max();
};

struct Speed {
  Least ours;
  Least fast;
  Least step;
};

void MeasureHere(stack::Unwinder* unwinder, stack::TableLibrary* tables, Speed* speed) {
  static stack::ModuleMap modules;
  static auto raw = std::make_unique<stack::RawStack>();
  static auto result = std::make_unique<stack::Stack>();
  modules.Refresh();
  CatchOwnStack(modules, raw.get());
  unwinder->Unwind(*raw, modules, result.get());
  tables->AwaitForTest();
  unwinder->OnModulesChanged();
  std::array<void*, 512> frames;
  auto per_frame = [](int repeats, auto walk) {
    size_t count = walk();
    int64_t begin_ns = NowNs();
    for (int i = 0; i < repeats; ++i) walk();
    return static_cast<double>(NowNs() - begin_ns) / repeats / static_cast<double>(count);
  };
  for (int round = 0; round < kRounds; ++round) {
    speed->ours.Add(per_frame(100, [&] {
      unwinder->Unwind(*raw, modules, result.get());
      return result->frame_count;
    }));
    speed->fast.Add(per_frame(100, [&] { return bench::WalkWithBacktrace(frames.data(), frames.size()); }));
    speed->step.Add(per_frame(4, [&] { return bench::WalkWithSteps(frames.data(), frames.size()); }));
  }
}

// Walks of the own stack where they stand: ours, libunwind's, and along frame pointers, where there are any.
struct OwnSpeed {
  Least ours;
  Least frame_pointers;
  Least libunwind;
  size_t frame_count = 0;
};

void MeasureOwn(const stack::OwnStackWalker& walker, OwnSpeed* speed) {
  constexpr int kRepeats = 200;
  std::array<uint64_t, 512> ours;
  std::array<void*, 512> theirs;
  auto is_whole = [&] {
    bool is_complete = false;
    speed->frame_count = walker.WalkCallers(ours.data(), ours.size(), &is_complete);
    return is_complete;
  };
  while (!is_whole()) std::this_thread::yield();  // until the tables are compiled
  auto per_frame = [](auto walk) {
    size_t count = walk();
    int64_t begin_ns = NowNs();
    for (int i = 0; i < kRepeats; ++i) walk();
    return static_cast<double>(NowNs() - begin_ns) / kRepeats / static_cast<double>(count);
  };
  for (int round = 0; round < kRounds; ++round) {
    speed->ours.Add(per_frame([&] { return bench::WalkOwnStack(walker, ours.data(), ours.size()); }));
    speed->frame_pointers.Add(
        per_frame([&] { return bench::WalkByFramePointers(ours.data(), ours.size()); }));
    speed->libunwind.Add(per_frame([&] { return bench::WalkWithBacktrace(theirs.data(), theirs.size()); }));
  }
}

// Functions of different shapes, one calling the next.
template <int kShape>
[[gnu::noinline]] int Descend(int depth, const std::function<void()>& at_the_end) {
  volatile char locals[16 + 24 * kShape] = {};
  int sum = depth;
  if (depth == 0) {
    at_the_end();
  } else {
    sum += Descend<(kShape + 1) % 16>(depth - 1, at_the_end);
  }
  asm volatile("" : : "r"(locals), "r"(sum) : "memory");
  return sum;
}

// Keeps a thread busy in many places of the C and C++ libraries.
void Wander(const std::atomic<bool>& stop) {
  std::mt19937 random(71);
  regex_t pattern;
  regcomp(&pattern, "^([0-9a-f]+)[[:space:]]([0-9.e+]+)$", REG_EXTENDED);
  while (!stop.load()) {
    std::vector<std::string> words;
    for (int i = 0; i < 200; ++i) {
      std::ostringstream text;
      text << std::hex << random() << ' ' << static_cast<double>(random()) / 3;
      words.push_back(text.str());
    }
    std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.compare(b) < 0; });
    std::map<std::string, int> counts;
    for (const std::string& word : words) {
      regmatch_t match[3];
      if (regexec(&pattern, word.c_str(), std::size(match), match, 0) == 0) ++counts[word.substr(0, 2)];
      try {
        if (word.size() % 7 == 0) throw std::runtime_error(word);
      } catch (const std::runtime_error& error) {
        counts[error.what()] = 1;
      }
    }
    qsort(words.data(), 0, sizeof words[0], [](const void*, const void*) { return 0; });
    std::vector<unsigned> numbers(500);
    for (unsigned& number : numbers) number = random();
    qsort(numbers.data(), numbers.size(), sizeof numbers[0], [](const void* a, const void* b) {
      return *static_cast<const unsigned*>(a) < *static_cast<const unsigned*>(b) ? -1 : 1;
    });
  }
  regfree(&pattern);
}

struct Catch {
  stack::ModuleMap modules;
  std::unique_ptr<stack::RawStack> raw{new stack::RawStack};
  std::atomic<int> answered{0};
};
Catch* g_catch;

void CatchHandler(int, siginfo_t*, void* user_context) {
  stack::RawStack& raw = *g_catch->raw;
  stack::ReadContext(user_context, &raw.registers);
  stack::MemoryRegion live = g_catch->modules.stacks().LiveStack(raw.registers.stack_pointer());
  raw.address = live.begin;
  raw.end = live.end;
  raw.size_bytes = stack::CopyReadable(raw.address, raw.bytes,
                                       std::min<uint64_t>(raw.end - raw.address, stack::kMaxRawStackBytes));
  ++g_catch->answered;
}

std::string Describe(const stack::ModuleMap& modules, const stack::Frame& frame) {
  static stack::LocalSymbols symbols;
  char text[64];
  std::snprintf(text, sizeof text, "+0x%" PRIx64, frame.offset);
  if (frame.module == stack::kNoModule) return text;
  const stack::Module& module = modules.module(frame.module);
  std::string path(module.path_view());
  return symbols.NameOf(path, module.build_id_view(), frame.offset).value_or("?") + " (" +
         path.substr(path.rfind('/') + 1) + text + ")";
}

struct Agreement {
  size_t stacks = 0;
  size_t equal = 0;
};

// For a frame that was interrupted by a signal or by nothing, one returns the exact address and the other
// a byte less.
bool AreEqual(const stack::Stack& a, const stack::Stack& b) {
  if (a.frame_count != b.frame_count || a.completeness != b.completeness) return false;
  for (uint32_t i = 0; i < a.frame_count; ++i) {
    if (a.frames[i].module != b.frames[i].module || a.frames[i].offset != b.frames[i].offset) return false;
  }
  return true;
}

Agreement MeasureAgreement(stack::Unwinder* ours, stack::Unwinder* theirs) {
  static Catch caught;
  g_catch = &caught;
  struct sigaction action {};
  action.sa_sigaction = CatchHandler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigaction(SIGPROF, &action, nullptr);
  std::atomic<bool> stop{false};
  std::atomic<int> tid{0};
  std::thread wanderer([&] {
    tid = gettid();
    Wander(stop);
  });
  while (tid.load() == 0) std::this_thread::yield();
  auto our_stack = std::make_unique<stack::Stack>();
  auto their_stack = std::make_unique<stack::Stack>();
  Agreement agreement;
  caught.modules.Refresh();
  for (size_t i = 0; i < kStacks; ++i) {
    int before = caught.answered.load();
    syscall(SYS_tgkill, getpid(), tid.load(), SIGPROF);
    while (caught.answered.load() == before) std::this_thread::yield();
    ours->Unwind(*caught.raw, caught.modules, our_stack.get());
    theirs->Unwind(*caught.raw, caught.modules, their_stack.get());
    ++agreement.stacks;
    if (AreEqual(*our_stack, *their_stack)) {
      ++agreement.equal;
      continue;
    }
    std::printf("disagreement on stack %zu:\n", i);
    for (const auto& [name, result] :
         {std::pair("ours", our_stack.get()), std::pair("libunwind", their_stack.get())}) {
      std::printf("  %s, %u frames, completeness %d\n", name, result->frame_count,
                  static_cast<int>(result->completeness));
      for (const stack::Frame& frame : result->view())
        std::printf("    %s\n", Describe(caught.modules, frame).c_str());
    }
  }
  stop = true;
  wanderer.join();
  return agreement;
}

struct TableCost {
  double build_ms_per_mib;
  double bytes_per_mib;
};

// Per MiB of code, over all modules of this process.
TableCost MeasureTables() {
  stack::ModuleMap modules;
  modules.Refresh();
  std::atomic<bool> stop{false};
  double code_mib = 0;
  double build_ms = 0;
  double bytes = 0;
  for (uint32_t i = 0; i < modules.module_count(); ++i) {
    Least build;
    for (int round = 0; round < 5; ++round) {
      stack::UnwindTable table;
      int64_t begin_ns = NowNs();
      if (!table.Compile(modules.module(i), {}, stop)) break;
      build.Add(static_cast<double>(NowNs() - begin_ns) / 1e6);
      if (round != 0) continue;
      bytes += static_cast<double>(table.size_bytes());
      code_mib += static_cast<double>(modules.CodeBytes(i)) / (1 << 20);
    }
    if (build.value() < 1e9) build_ms += build.value();
  }
  return {build_ms / code_mib, bytes / code_mib};
}

}  // namespace

int main() {
  auto tables = std::make_unique<stack::TableLibrary>();
  if (!tables->Start().ok()) return 1;
  auto ours = stack::CreateTableUnwinder(tables.get());
  Speed speed;
  Descend<0>(kDepth, [&] { MeasureHere(ours.get(), tables.get(), &speed); });
  std::printf(
      "at depth %d: ours %.2f ns a frame, libunwind's cached backtrace %.2f, unw_step %.1f (%.2fx, %.0fx)\n",
      kDepth, speed.ours.value(), speed.fast.value(), speed.step.value(),
      speed.ours.value() / speed.fast.value(), speed.step.value() / speed.ours.value());
  auto code = stack::CodeMap::Create();
  if (!code.ok()) return 1;
  auto walker = stack::OwnStackWalker::Create(std::move(code).value());
  if (!walker.ok()) return 1;
  OwnSpeed own;
  OwnSpeed own_without;
  bench::DescendWithFramePointers(kOwnDepth, [&] { MeasureOwn(**walker, &own); });
  Descend<0>(kOwnDepth, [&] { MeasureOwn(**walker, &own_without); });
  std::printf(
      "the own stack, %zu frames: ours %.2f ns a frame, along frame pointers %.2f, libunwind's unw_backtrace "
      "%.2f; without frame pointers ours %.2f, unw_backtrace %.2f\n",
      own.frame_count, own.ours.value(), own.frame_pointers.value(), own.libunwind.value(),
      own_without.ours.value(), own_without.libunwind.value());
  auto oracle = stack::CreateLibunwindUnwinder();
  auto fresh = stack::CreateTableUnwinder(tables.get());
  Agreement agreement = MeasureAgreement(fresh.get(), oracle.get());
  TableCost cost = MeasureTables();
  bool has_ended = tables->TryStop();
  std::printf(
      "{\"ns_per_frame\":%.2f,\"libunwind_fast_ns_per_frame\":%.2f,\"unw_step_ns_per_frame\":%.1f,"
      "\"agreement_pct\":%.3f,\"stacks\":%zu,\"table_build_ms_per_mib\":%.2f,\"table_bytes_per_mib\":%.0f,"
      "\"own_ns_per_frame\":%.2f,\"own_fp_ns_per_frame\":%.2f,\"own_unw_ns_per_frame\":%.2f}\n",
      speed.ours.value(), speed.fast.value(), speed.step.value(),
      100.0 * static_cast<double>(agreement.equal) / static_cast<double>(agreement.stacks), agreement.stacks,
      cost.build_ms_per_mib, cost.bytes_per_mib, own.ours.value(), own.frame_pointers.value(),
      own.libunwind.value());
  return has_ended ? 0 : 1;
}

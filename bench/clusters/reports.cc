// SPDX-License-Identifier: Apache-2.0
#include "bench/clusters/reports.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/hash.h"
#include "collector/symbols/names/function_name.h"
#include "policies/expensive_stack.h"

namespace lagwatch::clusters {
namespace {

using faults::Random;
using policies::VerdictWord;

// Of templates: int, float, double, std::string.
constexpr std::initializer_list<const char*> kArguments = {
    "i", "f", "d", "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"};

std::string FolderOf(const std::string& module, const Build& build) {
  if (module.find(".so") == std::string::npos) return "/usr/bin/";
  if (module == "libreverb.so") return "/usr/lib/x86_64-linux-gnu/studio/";  // a plugin of the program's
  // Some programs bring other people's libraries along.
  return build.libraries == 2 ? "/opt/runtime/lib/" : "/usr/lib/x86_64-linux-gnu/";
}

// Turns frames into a report's modules, frames and symbols.
class ReportWriter {
 public:
  ReportWriter(const Build& build, uint64_t seed, KnownReport* known)
      : build_(build), seed_(seed), report_(known->report), inlined_(known->inlined) {}

  // Returns the index of the stack.
  uint32_t Add(const ClientStack& raw, report::Completeness completeness) {
    report::Stack stack;
    stack.completeness = completeness;
    for (const ClientFrame& frame : raw) stack.frames.push_back(ToFrame(frame));
    report_.stacks.push_back(std::move(stack));
    return static_cast<uint32_t>(report_.stacks.size() - 1);
  }

 private:
  report::Frame ToFrame(const ClientFrame& raw) {
    uint32_t module = ModuleOf(raw.module);
    if (raw.symbol.empty()) return {module, raw.offset + 7, raw.offset};
    auto [known, is_new] = offsets_.try_emplace(raw.module + "!" + raw.symbol);
    if (is_new) {
      uint64_t hash = base::HashBytes(known->first, base::HashWord(build_.number, seed_));
      known->second = 0x100000 + hash % 0x4000000 * 16;
      report_.symbols.push_back({module, known->second, raw.symbol});
    }
    uint64_t offset = known->second + 8;
    for (const std::string& inlined : raw.inlined) offset += base::HashBytes(inlined) % 4096;
    if (!raw.inlined.empty()) inlined_[{module, offset}] = raw.inlined;
    return {module, offset, known->second};
  }

  uint32_t ModuleOf(const std::string& name) {
    auto [known, is_new] = modules_.try_emplace(name);
    if (is_new) {
      const std::string folder = FolderOf(name, build_);
      std::string id = std::to_string(base::HashBytes(name, base::HashWord(build_.number, seed_)));
      report_.modules.push_back({folder + name, id, 0});
      known->second = static_cast<uint32_t>(report_.modules.size() - 1);
    }
    return known->second;
  }

  const Build& build_;
  uint64_t seed_;
  report::Report& report_;
  InlinedSymbols& inlined_;
  std::map<std::string, uint32_t> modules_;
  std::map<std::string, uint64_t> offsets_;
};

// A verdict is mostly right. A busy machine may starve any program, and a few hangs are too short to judge.
VerdictWord Blur(VerdictWord word, Random* random) {
  uint64_t draw = random->Below(100);
  if (draw < 3) return VerdictWord::kStarved;
  if (draw < 4) return VerdictWord::kThrottled;
  if (draw < 7) return VerdictWord::kUnknown;
  if (draw >= 10) return word;
  switch (word) {
    case VerdictWord::kCpu:
      return random->Pick({VerdictWord::kMemory, VerdictWord::kDisk});
    case VerdictWord::kDisk:
      return random->Pick({VerdictWord::kCpu, VerdictWord::kMemory});
    case VerdictWord::kLock:
      return random->Pick({VerdictWord::kSleep, VerdictWord::kCpu});
    default:
      return random->Pick({VerdictWord::kSleep, word});
  }
}

// A stack may be cut at its outer end because it is deep, or because unwinding failed there.
report::Completeness Cut(ClientStack* stack, Random* random) {
  uint64_t draw = random->Below(100);
  size_t kept = draw < 10   ? static_cast<size_t>(random->Between(10, 24))
                : draw < 13 ? static_cast<size_t>(random->Between(4, 8))
                            : stack->size();
  if (kept >= stack->size()) return report::Completeness::kComplete;
  stack->resize(kept);
  return draw < 10 ? report::Completeness::kCut : report::Completeness::kIncomplete;
}

class ReportMaker {
 public:
  ReportMaker(const Cause& cause, const Build& build, uint64_t seed, const Tails& tails, Random* random)
      : cause_(cause),
        renderer_(build, cause.program(), random->Pick(kArguments), seed, tails),
        build_(build),
        random_(*random),
        writer_(build, seed, &known_) {}

  KnownReport Make() {
    report_.app = cause_.program();
    report_.app_version = std::to_string(build_.number / 2) + "." + std::to_string(build_.number);
    report_.loop = "ui";
    report_.tid = 1;
    report_.kind = random_.Chance(85)
                       ? report::HangKind::kHang
                       : random_.Pick({report::HangKind::kInput, report::HangKind::kScope,
                                       report::HangKind::kWaited, report::HangKind::kBusyLoop});
    report_.verdict.word = Blur(cause_.verdict, &random_);
    AddSamples();
    if (!cause_.owner.paths.empty()) AddOwner();
    return std::move(known_);
  }

 private:
  static uint64_t HashFrame(const ClientFrame& frame) {
    return base::HashBytes(frame.module + frame.symbol, frame.offset);
  }

  // As a client does: so many samples, the newest of the heaviest path is the expensive one.
  void AddSamples() {
    const size_t path = random_.Below(cause_.place.paths.size());
    const int64_t count = random_.Chance(70) ? 20 : random_.Between(1, 19);
    std::vector<ClientStack> stacks;
    std::vector<policies::WeighedSample> weighed;
    for (int64_t i = 0; i < count; ++i) {
      stacks.push_back(renderer_.Sample(cause_.place, path, &random_));
      weighed.push_back({HashFrame(stacks.back().front()), 1});
    }
    std::vector<size_t> samples(stacks.size());
    std::iota(samples.begin(), samples.end(), size_t{0});
    const size_t expensive =
        policies::PickExpensivePath(samples, weighed, [&](size_t sample, size_t depth) -> uint64_t {
          const ClientStack& stack = stacks[sample];
          return depth < stack.size() ? HashFrame(stack[stack.size() - 1 - depth]) : 0;
        });
    std::vector<ClientStack> known;
    for (size_t i = 0; i < stacks.size(); ++i) {
      ClientStack stack = stacks[i];
      report::Completeness completeness = Cut(&stack, &random_);
      auto same = std::find(known.begin(), known.end(), stack);
      uint32_t index = static_cast<uint32_t>(same - known.begin());
      if (same == known.end()) {
        known.push_back(stack);
        index = writer_.Add(stack, completeness);
      }
      report_.samples.push_back({.age_ns = (count - static_cast<int64_t>(i)) * 50'000'000, .stack = index});
      if (i == expensive) report_.expensive_stack = index;
    }
  }

  // Not every lock reports its owner, and not every owner's stack is available.
  void AddOwner() {
    report::Wait& wait = AddWait(1, report_.expensive_stack);
    if (random_.Chance(4)) return;
    wait.lock.waits_for = report::WaitsFor::kOwner;
    wait.lock.owner_tid = 2;
    if (!random_.Chance(2)) wait.owner_stack = AddOwnersStack();
    if (cause_.verdict != VerdictWord::kDeadlock) return;
    report_.wait_outcome = report::WaitOutcome::kDeadlock;
    const report::Wait first = wait;
    report::Wait& second = AddWait(2, first.owner_stack);
    second.lock.waits_for = report::WaitsFor::kOwner;
    second.lock.owner_tid = 1;
    second.owner_stack = first.stack;
  }

  report::Wait& AddWait(uint32_t tid, uint32_t stack) {
    report::Wait& wait = report_.waits.emplace_back();
    wait.tid = tid;
    wait.stack = stack;
    wait.lock.address = random_.Next();
    wait.lock.kind = report::LockKind::kMutex;
    return wait;
  }

  uint32_t AddOwnersStack() {
    ClientStack stack = renderer_.Sample(cause_.owner, 0, &random_);
    report::Completeness completeness = Cut(&stack, &random_);
    return writer_.Add(stack, completeness);
  }

  const Cause& cause_;
  Renderer renderer_;
  const Build& build_;
  Random& random_;
  KnownReport known_;
  report::Report& report_ = known_.report;
  ReportWriter writer_;
};

}  // namespace

std::vector<collector::NamedFrame> DebugNamer::NamesOf(const report::Frame& frame) const {
  std::vector<collector::NamedFrame> names;
  if (auto inlined = inlined_.find({frame.module, frame.offset}); inlined != inlined_.end()) {
    for (const std::string& symbol : inlined->second)
      names.push_back({.function = collector::ReadableFunctionName(symbol)});
  }
  names.push_back(symbols_.NamesOf(frame).front());
  return names;
}

std::vector<KnownReport> MakeReports(const std::vector<Cause>& causes, const Tails& tails, int per_cause,
                                     uint64_t seed) {
  const std::vector<Build> builds = AllBuilds();
  std::vector<size_t> users;
  for (size_t i = 0; i < builds.size(); ++i)
    users.insert(users.end(), static_cast<size_t>(builds[i].users), i);
  Random random(seed);
  std::vector<KnownReport> reports;
  for (size_t cause = 0; cause < causes.size(); ++cause) {
    for (int i = 0; i < per_cause; ++i) {
      const Build& build = builds[users[random.Below(users.size())]];
      reports.push_back(ReportMaker(causes[cause], build, seed, tails, &random).Make());
      reports.back().cause = cause;
    }
  }
  return reports;
}

}  // namespace lagwatch::clusters

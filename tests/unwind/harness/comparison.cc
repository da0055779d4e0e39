// SPDX-License-Identifier: Apache-2.0
#include "tests/unwind/harness/comparison.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "stack/elf/local_symbols.h"
#include "tests/testing/libunwind_unwinder.h"
#include "tests/unwind/unwinder_under_test.h"

namespace lagwatch::unwind_test {
namespace {

constexpr size_t kMaxDisagreements = 1 << 16;
constexpr uint64_t kMaxPrinted = 200;
constexpr const char* kWho[] = {"ours", "libunwind"};
constexpr const char* kKind[] = {"wrong caller", "caller missing", "caller too many", "wrong completeness",
                                 "wrong function start"};

uint64_t AddressOf(const stack::ModuleMap& modules, const stack::Frame& frame) {
  return frame.module == stack::kNoModule ? frame.offset
                                          : modules.module(frame.module).load_bias + frame.offset;
}

// A caller's frame may be named by its return address or by the byte before it, which is inside the call;
// where a signal interrupted, the first of them is the instruction itself.
bool IsSameFrame(uint64_t truth, uint64_t got, bool is_innermost) {
  return got == truth || (!is_innermost && got == truth - 1);
}

}  // namespace

class Comparison::Names {
 public:
  explicit Names(const stack::ModuleMap& modules) : modules_(modules) {}

  std::string NameOf(uint64_t address) {
    if (address == 0) return "nothing";
    char text[64];
    uint32_t index = modules_.FindCode(address);
    if (index == stack::kNoModule) return "no module";
    const stack::Module& module = modules_.module(index);
    std::string path(module.path_view());
    uint64_t offset = address - module.load_bias;
    if (auto name = symbols_.NameOf(path, module.build_id_view(), offset)) return *name;
    snprintf(text, sizeof text, "+0x%" PRIx64, offset);
    return path.substr(path.rfind('/') + 1) + text;
  }

 private:
  const stack::ModuleMap& modules_;
  stack::LocalSymbols symbols_;
};

Comparison::Comparison()
    : ours_(CreateUnwinderUnderTest()),
      oracle_(stack::CreateLibunwindUnwinder()),
      our_stack_(new stack::Stack),
      oracle_stack_(new stack::Stack) {
  disagreements_.reserve(kMaxDisagreements);
}

void Comparison::Compare(const char* case_name, const stack::RawStack& raw, const CallChain& truth) {
  ++stack_count_;
  ours_->Unwind(raw, modules_, our_stack_.get());
  oracle_->Unwind(raw, modules_, oracle_stack_.get());
  constexpr int kFramePointer = 6;
  Disagreement stop{};
  stop.case_name = case_name;
  stop.pc = truth.addresses[0];
  stop.has_frame = raw.registers.value[kFramePointer] + sizeof(uint64_t) == truth.innermost_slot;
  stop.lacks_index = LacksIndex(truth);
  bool ours_is_right = CompareOne(stop, *our_stack_, truth);
  stop.who = Who::kOracle;
  bool oracle_is_right = CompareOne(stop, *oracle_stack_, truth);
  if (ours_is_right && oracle_is_right) CompareFunctionStarts(stop, truth);
}

bool Comparison::LacksIndex(const CallChain& chain) const {
  for (size_t i = 0; i < chain.size; ++i) {
    uint32_t module = modules_.FindCode(chain.addresses[i]);
    if (module != stack::kNoModule && modules_.module(module).eh_frame_hdr == 0) return true;
  }
  return false;
}

bool Comparison::CompareOne(const Disagreement& stop, const stack::Stack& stack, const CallChain& truth) {
  Disagreement found = stop;
  size_t depth = 0;
  while (depth < truth.size && depth < stack.frame_count &&
         IsSameFrame(truth.addresses[depth], AddressOf(modules_, stack.frames[depth]), depth == 0)) {
    ++depth;
  }
  found.depth = static_cast<uint32_t>(depth);
  found.culprit = truth.addresses[depth == 0 ? 0 : depth - 1] - (depth > 1 ? 1 : 0);
  if (depth < truth.size) found.expected = truth.addresses[depth];
  if (depth < stack.frame_count) found.got = AddressOf(modules_, stack.frames[depth]);
  if (depth < truth.size && depth == stack.frame_count) {
    found.kind = Kind::kMissing;
  } else if (depth == truth.size && depth < stack.frame_count) {
    found.kind = Kind::kExtra;
  } else if (depth == truth.size) {
    if (stack.completeness == stack::Completeness::kComplete) {
      ++agreed_count_[static_cast<size_t>(stop.who)];
      return true;
    }
    found.kind = Kind::kCompleteness;
  }
  Note(found);
  return false;
}

void Comparison::CompareFunctionStarts(const Disagreement& stop, const CallChain& truth) {
  for (uint32_t i = 0; i < truth.size; ++i) {
    uint64_t ours = our_stack_->frames[i].function_offset;
    uint64_t theirs = oracle_stack_->frames[i].function_offset;
    if (ours == 0 || theirs == 0 || ours == theirs) continue;
    uint64_t bias = modules_.module(our_stack_->frames[i].module).load_bias;
    Disagreement found = stop;
    found.who = Who::kOurs;
    found.kind = Kind::kFunctionStart;
    found.culprit = truth.addresses[i] - (i > 0 ? 1 : 0);
    found.expected = theirs + bias;
    found.got = ours + bias;
    found.depth = i;
    Note(found);
    return;
  }
}

void Comparison::Note(const Disagreement& disagreement) {
  if (disagreements_.size() == kMaxDisagreements) {
    ++dropped_count_;
  } else {
    disagreements_.push_back(disagreement);
  }
}

void Comparison::Print(const Disagreement& d, Names* names, const char* reason) const {
  printf("  %s, %s, case %s, stop in %s (0x%" PRIx64 "), depth %u: caller of %s (0x%" PRIx64
         ") is %s (0x%" PRIx64 ") instead of %s (0x%" PRIx64 "): %s\n",
         kWho[static_cast<size_t>(d.who)], kKind[static_cast<size_t>(d.kind)], d.case_name,
         names->NameOf(d.pc).c_str(), d.pc, d.depth, names->NameOf(d.culprit).c_str(), d.culprit,
         names->NameOf(d.got).c_str(), d.got, names->NameOf(d.expected).c_str(), d.expected, reason);
}

bool Comparison::Report(const char* program) const {
  Names names(modules_);
  std::map<std::pair<size_t, std::string>, uint64_t> explained_counts;
  uint64_t unexplained_count = dropped_count_;
  for (const Disagreement& d : disagreements_) {
    const char* reason = ReasonFor(d, names.NameOf(d.pc), names.NameOf(d.culprit));
    if (reason != nullptr) {
      ++explained_counts[{static_cast<size_t>(d.who), reason}];
    } else if (++unexplained_count <= kMaxPrinted) {
      Print(d, &names, "UNEXPLAINED");
    }
  }
  for (const auto& [who_and_reason, count] : explained_counts) {
    printf("  %s, explained %" PRIu64 " x: %s\n", kWho[who_and_reason.first], count,
           who_and_reason.second.c_str());
  }
  for (size_t who = 0; who < kWhoCount; ++who) {
    printf("%s: %s agrees with the truth on %.2f %% of %" PRIu64 " stacks\n", program, kWho[who],
           100.0 * static_cast<double>(agreed_count_[who]) / static_cast<double>(stack_count_), stack_count_);
  }
  printf("%s: %" PRIu64 " disagreements unexplained\n", program, unexplained_count);
  constexpr uint64_t kFewestStacks = 5000;
  return stack_count_ >= kFewestStacks && unexplained_count == 0;
}

}  // namespace lagwatch::unwind_test

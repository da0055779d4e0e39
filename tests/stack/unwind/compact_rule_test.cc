// SPDX-License-Identifier: Apache-2.0
#include "stack/compact_rule.h"

#include <gtest/gtest.h>

namespace lagwatch::stack {
namespace {

using RuleCfa = UnwindRule::Cfa;
using RuleSaved = UnwindRule::Saved;

UnwindRule UsualRule() {
  UnwindRule rule;
  rule.cfa = RuleCfa::kStackPointer;
  rule.cfa_offset = 4096;
  rule.return_address = RuleSaved::kAtCfa;
  rule.return_address_offset = -8;
  rule.frame_pointer = RuleSaved::kAtCfa;
  rule.frame_pointer_offset = -16;
  rule.base_pointer = RuleSaved::kAtCfa;
  rule.base_pointer_offset = -56;
  return rule;
}

TEST(CompactRule, TellsWhatAUsualRuleDoes) {
  CompactRule compact = CompactRule::Of(UsualRule());
  EXPECT_EQ(compact.kind(), CompactRule::kByStackPointer);
  EXPECT_EQ(compact.cfa_bytes(), 4096u);
  EXPECT_EQ(compact.return_address_bytes(), 8u);
  EXPECT_EQ(compact.frame_pointer_bytes(), 16u);
  EXPECT_EQ(compact.base_pointer_bytes(), 56u);
}

TEST(CompactRule, KeepsItsFieldsApartAtTheirLargest) {
  constexpr int32_t kLargest = ((1 << 17) - 1) * 8;
  constexpr int32_t kLargestBase = ((1 << 10) - 1) * 8;
  for (int field = 0; field < 4; ++field) {
    UnwindRule rule = UsualRule();
    rule.cfa = RuleCfa::kFramePointer;
    if (field == 0) rule.cfa_offset = kLargest;
    if (field == 1) rule.return_address_offset = -kLargest;
    if (field == 2) rule.frame_pointer_offset = -kLargest;
    if (field == 3) rule.base_pointer_offset = -kLargestBase;
    CompactRule compact = CompactRule::Of(rule);
    EXPECT_EQ(compact.kind(), CompactRule::kByFramePointer);
    EXPECT_EQ(compact.cfa_bytes(), field == 0 ? kLargest : 4096u);
    EXPECT_EQ(compact.return_address_bytes(), field == 1 ? kLargest : 8u);
    EXPECT_EQ(compact.frame_pointer_bytes(), field == 2 ? kLargest : 16u);
    EXPECT_EQ(compact.base_pointer_bytes(), field == 3 ? kLargestBase : 56u);
    int32_t* offsets[] = {&rule.cfa_offset, &rule.return_address_offset, &rule.frame_pointer_offset,
                          &rule.base_pointer_offset};
    *offsets[field] += field == 0 ? 8 : -8;
    EXPECT_EQ(CompactRule::Of(rule).kind(), CompactRule::kOther);
  }
}

TEST(CompactRule, RefusesWhatDoesNotFit) {
  auto kind_of = [](auto change) {
    UnwindRule rule = UsualRule();
    change(&rule);
    return CompactRule::Of(rule).kind();
  };
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->cfa = RuleCfa::kNone; }), CompactRule::kUnknown);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->cfa = RuleCfa::kExpression; }), CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->cfa = RuleCfa::kRegister; }), CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->cfa_offset = 12; }), CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->cfa_offset = -8; }), CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->is_signal_frame = 1; }), CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->return_address = RuleSaved::kSame; }), CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->return_address_offset = 8; }), CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->frame_pointer_offset = -4; }), CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->frame_pointer = RuleSaved::kUndefined; }),
            CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->base_pointer = RuleSaved::kExpression; }),
            CompactRule::kOther);
  EXPECT_EQ(kind_of([](UnwindRule* rule) { rule->return_address = RuleSaved::kUndefined; }),
            CompactRule::kEnd);
}

}  // namespace
}  // namespace lagwatch::stack

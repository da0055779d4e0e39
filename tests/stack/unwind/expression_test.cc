// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/tables/expression.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace lagwatch::stack {
namespace {

// Register r holds 100 r, but register 9 is unknown; the word at an address is ten times the address, but
// address 13 is unreadable.
class Numbers final : public ExpressionInput {
 public:
  bool ReadRegister(uint64_t number, uint64_t* value) override {
    *value = 100 * number;
    return number != 9;
  }
  bool ReadWord(uint64_t address, uint64_t* word) override {
    *word = 10 * address;
    return address != 13;
  }
};

std::optional<uint64_t> Evaluate(std::vector<int> bytes, std::optional<uint64_t> initial = {}) {
  std::string text(bytes.begin(), bytes.end());
  Numbers numbers;
  uint64_t result;
  bool ok =
      EvaluateExpression({text.data(), text.size(), 0}, initial ? &*initial : nullptr, &numbers, &result);
  return ok ? std::optional(result) : std::nullopt;
}

TEST(Expression, EvaluatesArithmeticOverRegistersAndMemory) {
  EXPECT_EQ(Evaluate({0x30 + 7}), 7u);
  EXPECT_EQ(Evaluate({0x70 + 5, 0x7f}), 499u);              // breg5 - 1
  EXPECT_EQ(Evaluate({0x70 + 5, 0, 0x06}), 5000u);          // the word it points to
  EXPECT_EQ(Evaluate({0x23, 4}, 38), 42u);                  // the initial value plus 4
  EXPECT_EQ(Evaluate({0x08, 200, 0x30 + 3, 0x1c}), 197u);   // 200 - 3
  EXPECT_EQ(Evaluate({0x09, 0xff}), UINT64_MAX);            // a signed byte
  EXPECT_EQ(Evaluate({0x31, 0x32, 0x16, 0x1c}), 1u);        // swapped, 2 - 1
  EXPECT_EQ(Evaluate({0x31, 0x32, 0x14, 0x22, 0x22}), 4u);  // 1 + (2 + 1)
}

// Linkers write this for lazy linkage stubs: 8 more once the stub has pushed its number.
TEST(Expression, EvaluatesTheLinkageStubsRule) {
  for (uint64_t in_stub : {0, 10, 11, 15}) {
    auto program = static_cast<int>(in_stub);
    auto cfa = Evaluate({0x77, 8, 0x30 + program, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
    EXPECT_EQ(cfa, 708 + (in_stub >= 11 ? 8 : 0));
  }
}

TEST(Expression, WhatCannotBeKnownHasNoValue) {
  EXPECT_FALSE(Evaluate({}));
  EXPECT_FALSE(Evaluate({0x70 + 9, 0}));                // an unknown register
  EXPECT_FALSE(Evaluate({0x30 + 13, 0x06}));            // unreadable memory
  EXPECT_FALSE(Evaluate({0x22}));                       // nothing to add
  EXPECT_FALSE(Evaluate({0x0e, 1, 2}));                 // cut
  EXPECT_FALSE(Evaluate({0xe0}));                       // unsupported
  EXPECT_FALSE(Evaluate(std::vector<int>(100, 0x31)));  // too deep
}

}  // namespace
}  // namespace lagwatch::stack

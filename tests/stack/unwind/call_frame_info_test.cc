// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/tables/call_frame_info.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stack/frames/raw_stack.h"

namespace lagwatch::stack {
namespace {

using Cfa = UnwindRule::Cfa;
using Saved = UnwindRule::Saved;

constexpr uint64_t kCode = 0x10000;
constexpr uint64_t kCodeBytes = 0x100;
constexpr uint64_t kLoadBias = 0x1000;
constexpr int kScratchRegister = 1;  // one that a walk does not keep

std::string Bytes(std::vector<int> values) { return {values.begin(), values.end()}; }

// An entry with its length in front.
std::string Entry(const std::string& content) {
  auto size = static_cast<uint32_t>(content.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + content;
}

// A CIE that aligns code by 1 and data by -8, with absolute pointers, and the FDE of [kCode,
// kCode + kCodeBytes).
class Entries {
 public:
  explicit Entries(const std::vector<int>& instructions, const std::string& augmentation = "zR") {
    std::string head = std::string(4, '\0') + '\1' + augmentation + '\0' +
                       Bytes({1, 0x78, Registers::kReturnAddress, 1, pointer_encoding::kAbsolute});
    // CFA is the stack pointer plus 8, the return address right below it.
    cie_ = Entry(head + Bytes({0x0c, Registers::kStackPointer, 8, 0x80 | Registers::kReturnAddress, 1}));
    uint64_t range[] = {kCode, kCodeBytes};
    fde_ = Entry(std::string(4, '\1') + std::string(reinterpret_cast<const char*>(range), sizeof range) +
                 '\0' + Bytes(instructions));
  }

  std::vector<RuleRows::Row> Rows() const {
    CommonInformation cie;
    FrameDescription fde;
    if (!ParseCommonInformation(View(cie_), FrameSection::kEhFrame, &cie) ||
        !ParseFrameDescription(View(fde_), FrameSection::kEhFrame, cie, &fde)) {
      return {};
    }
    std::vector<RuleRows::Row> rows;
    RuleRows source(cie, fde, FrameSection::kEhFrame, kLoadBias);
    for (RuleRows::Row row; source.Next(&row);) rows.push_back(row);
    return rows;
  }
  const std::string& cie() const { return cie_; }
  static ByteView View(const std::string& bytes) { return {bytes.data(), bytes.size(), 0x2000}; }

 private:
  std::string cie_;
  std::string fde_;
};

TEST(CallFrameInfo, RowsFollowAUsualPrologue) {
  auto rows = Entries({0x41, 0x0e, 16, 0x80 | Registers::kFramePointer, 2,  // push fp
                       0x43, 0x0d, Registers::kFramePointer,                // fp = sp
                       0x02, 0x80, 0x0c, Registers::kStackPointer, 8})      // leave
                  .Rows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].begin, kCode);
  EXPECT_EQ(rows[0].end, kCode + 1);
  EXPECT_EQ(rows[0].rule.cfa, Cfa::kStackPointer);
  EXPECT_EQ(rows[0].rule.cfa_offset, 8);
  EXPECT_EQ(rows[0].rule.frame_pointer, Saved::kSame);
  EXPECT_EQ(rows[0].rule.return_address, Saved::kAtCfa);
  EXPECT_EQ(rows[0].rule.return_address_offset, -8);
  EXPECT_EQ(rows[1].rule.cfa_offset, 16);
  EXPECT_EQ(rows[1].rule.frame_pointer, Saved::kAtCfa);
  EXPECT_EQ(rows[1].rule.frame_pointer_offset, -16);
  EXPECT_EQ(rows[2].begin, kCode + 4);
  EXPECT_EQ(rows[2].rule.cfa, Cfa::kFramePointer);
  EXPECT_EQ(rows[2].rule.cfa_offset, 16);
  EXPECT_EQ(rows[3].rule.cfa, Cfa::kStackPointer);
  EXPECT_EQ(rows[3].end, kCode + kCodeBytes);
}

TEST(CallFrameInfo, RememberedStatesComeBack) {
  auto rows = Entries({0x41, 0x0e, 32, 0x0a, 0x41, 0x0e, 8, 0x41, 0x0b}).Rows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].rule.cfa_offset, 32);
  EXPECT_EQ(rows[2].rule.cfa_offset, 8);
  EXPECT_EQ(rows[3].rule, rows[1].rule);
}

TEST(CallFrameInfo, AnUndefinedReturnAddressEndsTheStack) {
  auto rows = Entries({0x07, Registers::kReturnAddress}).Rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].rule.return_address, Saved::kUndefined);
}

TEST(CallFrameInfo, ARegisterMayHoldTheReturnAddress) {
  auto rows = Entries({0x09, Registers::kReturnAddress, 5}).Rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].rule.return_address, Saved::kInRegister);
  EXPECT_EQ(rows[0].rule.return_address_offset, 5);
}

TEST(CallFrameInfo, RestoreBringsBackWhatTheCommonEntrySaid) {
  auto rows = Entries({0x80 | Registers::kFramePointer, 2, 0x41, 0xc0 | Registers::kFramePointer}).Rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].rule.frame_pointer, Saved::kAtCfa);
  EXPECT_EQ(rows[1].rule.frame_pointer, Saved::kSame);
}

TEST(CallFrameInfo, ExpressionsAreToldByWhereTheyStand) {
  auto rows = Entries({0x0f, 2, 0x77, 8, 0x10, Registers::kFramePointer, 2, 0x76, 0}).Rows();
  ASSERT_EQ(rows.size(), 1u);
  constexpr int32_t kExpressionAt = 0x2000 + 4 + 4 + 16 + 1 + 1 - kLoadBias;
  EXPECT_EQ(rows[0].rule.cfa, Cfa::kExpression);
  EXPECT_EQ(rows[0].rule.cfa_offset, kExpressionAt);
  EXPECT_EQ(rows[0].rule.frame_pointer, Saved::kExpression);
  EXPECT_EQ(rows[0].rule.frame_pointer_offset, kExpressionAt + 5);
}

TEST(CallFrameInfo, OtherRegistersMayHoldTheFrame) {
  auto rows = Entries({0x0c, kScratchRegister, 0}).Rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].rule.cfa, Cfa::kRegister);
  EXPECT_EQ(rows[0].rule.cfa_register, kScratchRegister);
}

TEST(CallFrameInfo, SignalFramesSaySo) {
  auto rows = Entries({}, "zRS").Rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].rule.is_signal_frame);
}

// An unknown rule has no CFA, up to the function's end.
TEST(CallFrameInfo, UnknownAndTooDeepInstructionsLeaveNoRule) {
  std::vector<int> too_deep(20, 0x0a);
  std::vector<int> largest_negative{0x2f, Registers::kFramePointer};
  largest_negative.insert(largest_negative.end(), 8, 0x80);
  largest_negative.push_back(0x10);  // times -8 is INT64_MIN
  for (const std::vector<int>& instructions :
       {std::vector<int>{0x3f}, std::vector<int>{0x0b}, too_deep, largest_negative,
        // Cut in their operands.
        std::vector<int>{0x0c, 0x80}, std::vector<int>{0x80 | Registers::kFramePointer, 0x80},
        std::vector<int>{0x02}, std::vector<int>{0x04, 1, 2},
        // An offset, or another register, for a CFA that is an expression.
        std::vector<int>{0x0f, 1, 0x77, 0x0e, 8}, std::vector<int>{0x0f, 1, 0x77, 0x13, 8},
        std::vector<int>{0x0f, 1, 0x77, 0x0d, Registers::kFramePointer}}) {
    auto rows = Entries(instructions).Rows();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].rule.cfa, Cfa::kNone);
    EXPECT_EQ(rows[0].end, kCode + kCodeBytes);
  }
}

TEST(CallFrameInfo, RowsNeverLeaveTheFunction) {
  auto rows = Entries({0x04, 0xff, 0xff, 0xff, 0x7f, 0x0e, 16}).Rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].end, kCode + kCodeBytes);
}

TEST(CallFrameInfo, EntriesCutAnywhereAreRefused) {
  const std::string whole = Entries({}).cie();
  constexpr size_t kHeadBytes = 17;  // without its instructions
  CommonInformation cie;
  ASSERT_TRUE(ParseCommonInformation(Entries::View(whole), FrameSection::kEhFrame, &cie));
  for (size_t size = 0; size < kHeadBytes; ++size) {
    std::string cut = whole.substr(0, size);
    EXPECT_FALSE(ParseCommonInformation(Entries::View(cut), FrameSection::kEhFrame, &cie)) << size;
  }
}

// They run once for each function.
TEST(CallFrameInfo, CommonInstructionsAreFew) {
  const std::string whole = Entries({}).cie();
  CommonInformation cie;
  std::string padded = whole + std::string(1000, '\0');
  EXPECT_TRUE(ParseCommonInformation(Entries::View(padded), FrameSection::kEhFrame, &cie));
  padded.append(1000, '\0');
  EXPECT_FALSE(ParseCommonInformation(Entries::View(padded), FrameSection::kEhFrame, &cie));
}

// Linux Standard Base: the length has 64 bits then, but not the number that follows it.
TEST(CallFrameInfo, LongEntriesInMemoryHaveShortNumbers) {
  EntryHeader header;
  const std::string length = std::string(4, '\xff') + std::string("\x08\0\0\0\0\0\0\0", 8);
  std::string bytes = length + std::string(4, '\0') + "rest";
  ASSERT_TRUE(ParseEntryHeader(Entries::View(bytes), FrameSection::kEhFrame, 0, &header));
  EXPECT_TRUE(header.is_cie);
  EXPECT_EQ(header.size, bytes.size());
  bytes = length + std::string("\x0c\0\0\0rest", 8);
  ASSERT_TRUE(ParseEntryHeader(Entries::View(bytes), FrameSection::kEhFrame, 0, &header));
  EXPECT_FALSE(header.is_cie);
  EXPECT_EQ(header.cie_address, 0x2000u);
  bytes = length + std::string(8, '\xff');
  ASSERT_TRUE(ParseEntryHeader(Entries::View(bytes), FrameSection::kDebugFrame, 0, &header));
  EXPECT_TRUE(header.is_cie);
}

TEST(CallFrameInfo, LengthsThatLeadBackAreRefused) {
  EntryHeader header;
  for (FrameSection section : {FrameSection::kEhFrame, FrameSection::kDebugFrame}) {
    std::string bytes = std::string(4, '\xff') + std::string("\x10") + std::string(7, '\xff') + "12345678";
    EXPECT_FALSE(ParseEntryHeader(Entries::View(bytes), section, 0, &header));
    bytes[11] = '\x7f';
    EXPECT_TRUE(ParseEntryHeader(Entries::View(bytes), section, 0, &header));
    EXPECT_LE(header.size, uint64_t{INT64_MAX});
  }
}

TEST(CallFrameInfo, HeadersTellCommonEntriesFromFunctions) {
  EntryHeader header;
  std::string bytes = Entry(std::string(4, '\0') + "rest");
  ASSERT_TRUE(ParseEntryHeader(Entries::View(bytes), FrameSection::kEhFrame, 0, &header));
  EXPECT_TRUE(header.is_cie);
  EXPECT_EQ(header.size, bytes.size());
  bytes = Entry(std::string("\x04\0\0\0rest", 8));
  ASSERT_TRUE(ParseEntryHeader(Entries::View(bytes), FrameSection::kEhFrame, 0, &header));
  EXPECT_FALSE(header.is_cie);
  EXPECT_EQ(header.cie_address, 0x2000u);  // counted back from where the number stands
  ASSERT_TRUE(ParseEntryHeader(Entries::View(bytes), FrameSection::kDebugFrame, 0x5000, &header));
  EXPECT_EQ(header.cie_address, 0x5004u);  // counted from the section's begin
  bytes = Entry("");
  ASSERT_TRUE(ParseEntryHeader(Entries::View(bytes), FrameSection::kEhFrame, 0, &header));
  EXPECT_EQ(header.size, 0u);
  EXPECT_FALSE(ParseEntryHeader(Entries::View("ab"), FrameSection::kEhFrame, 0, &header));
}

}  // namespace
}  // namespace lagwatch::stack

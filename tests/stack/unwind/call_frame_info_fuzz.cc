// SPDX-License-Identifier: Apache-2.0
// Whatever an unwind table holds: its entries yield rows in order, inside of their function, or none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "stack/unwind/tables/call_frame_info.h"
#include "tests/fuzz/seeds.h"
#include "tests/stack/unwind/frame_section_seeds.h"

namespace {

using namespace lagwatch::stack;

constexpr uint64_t kAddress = 0x7f0000001000;
constexpr uint64_t kLoadBias = 0x7f0000000000;
constexpr int kMaxEntries = 64;

void Check(bool holds) {
  if (!holds) abort();
}

void RunRows(const CommonInformation& cie, const FrameDescription& fde, FrameSection section) {
  RuleRows rows(cie, fde, section, kLoadBias);
  uint64_t end = fde.begin;
  size_t count = 0;
  for (RuleRows::Row row; rows.Next(&row); ++count) {
    Check(row.begin == end && row.begin < row.end && row.end <= fde.end);
    Check(row.rule.cfa_register < Registers::kCount);
    end = row.end;
  }
  Check(end == fde.end && count <= fde.instructions.size + 1);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static lagwatch::testing::FuzzSeeds seeds;
  for (const std::string& piece : lagwatch::stack::testing::PiecesOfLoadedTables()) seeds.Add('\0' + piece);
  seeds.Add('\1' + lagwatch::stack::testing::HandMadeDebugFrame());
  seeds.AppendTo(argc, argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  if (size_bytes == 0) return 0;
  auto section = static_cast<FrameSection>(data[0] & 1);
  ByteView rest{reinterpret_cast<const char*>(data) + 1, size_bytes - 1, kAddress};
  CommonInformation cie{};
  for (int i = 0; i < kMaxEntries; ++i) {
    EntryHeader header;
    if (!ParseEntryHeader(rest, section, kAddress, &header) || header.size == 0) break;
    // Steps by it never lead back.
    Check(header.size <= INT64_MAX && header.size > sizeof(uint32_t));
    const size_t size = header.size < rest.size ? header.size : rest.size;
    const ByteView entry{rest.bytes, size, rest.address};
    CommonInformation parsed;
    if (header.is_cie && ParseCommonInformation(entry, section, &parsed)) cie = parsed;
    FrameDescription fde;
    if (!header.is_cie && ParseFrameDescription(entry, section, cie, &fde)) RunRows(cie, fde, section);
    rest = {rest.bytes + size, rest.size - size, rest.address + size};
  }
  return 0;
}

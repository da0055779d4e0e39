// SPDX-License-Identifier: Apache-2.0
// The part of the reader that knows compiled code: its records of methods and lines.
#include <array>
#include <cstdint>
#include <cstring>

#include "stack/interpreters/jvm/compressed.h"
#include "stack/interpreters/jvm/reader.h"

namespace lagwatch::stack::jvm {

uint64_t JvmReader::AddressIn(const Blob& blob, uint32_t member) {
  uint64_t address = 0;
  return memory_->Read(blob.address + member, &address) ? address : 0;
}

uint64_t JvmReader::OffsetIn(const Blob& blob, uint32_t member) {
  int32_t offset = 0;
  return memory_->Read(blob.address + member, &offset) ? static_cast<uint64_t>(int64_t{offset}) : 0;
}

bool JvmReader::AddCompiled(const Blob& blob, const Cursor& cursor) {
  uint64_t pc = cursor.pc;
  if (!cursor.is_leaf) {
    const uint64_t handler = layout_.has_immutable_data()
                                 ? blob.address + OffsetIn(blob, layout_.deopt_handler_offset)
                                 : AddressIn(blob, layout_.deopt_handler_address);
    // Code that is no longer valid returns there; the true address is kept in the frame.
    if (pc == handler && !ReadStack(cursor.sp + OffsetIn(blob, layout_.original_pc_offset), &pc))
      return false;
  }
  const size_t before = frames_->count;
  const Records records = FindRecords(blob, pc);
  if (records.is_exact) {
    if (ReadScopes(blob, records.after, kKnown)) return true;
    frames_->count = before;
  } else if (cursor.is_leaf || cursor.is_near) {
    if (AddNear(blob, records, pc)) return true;
    frames_->count = before;
  }
  return Add(AddressIn(blob, layout_.compiled_method), -1);
}

// Between two records: in a loop without a poll, for example, whose end the record after it stands for.
bool JvmReader::AddNear(const Blob& blob, const Records& records, uint64_t pc) {
  Scope before;
  Scope after;
  const bool has_before = records.before != 0 && ReadScope(blob, records.before, &before);
  const bool has_after = records.after != 0 && ReadScope(blob, records.after, &after);
  const uint64_t method = has_after ? after.method : AddressIn(blob, layout_.compiled_method);
  int64_t bci = kKnown;
  if (IsInLoop(blob, pc)) {
    const int64_t low = has_before && before.method == method ? before.bci : -1;
    const int64_t loop = methods_.FindLoop(method, low, has_after ? after.bci : INT64_MAX);
    if (loop >= 0) bci = loop;
  }
  if (has_after) return ReadScopes(blob, records.after, bci);
  return Add(method, bci == kKnown ? -1 : bci);
}

// Whether a jump goes back over the place.
bool JvmReader::IsInLoop(const Blob& blob, uint64_t pc) {
  std::array<uint8_t, kMostLoopBytes> code{};
  size_t size = code.size();
  while (size >= 64 && !memory_->Read(pc, code.data(), size)) size /= 2;
  for (size_t i = 0; i + 6 <= size; ++i) {
    int64_t by = 0;
    size_t length = 2;
    if ((code[i] & 0xf0) == 0x70 || code[i] == 0xeb) {
      by = static_cast<int8_t>(code[i + 1]);
    } else if (code[i] == 0xe9 || (code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80)) {
      length = code[i] == 0xe9 ? 5 : 6;
      int32_t wide = 0;
      std::memcpy(&wide, &code[i + length - sizeof wide], sizeof wide);
      by = wide;
    }
    const int64_t target = static_cast<int64_t>(i + length) + by;  // from `pc` on
    if (by < 0 && target <= 0 && -target <= static_cast<int64_t>(pc - blob.code)) return true;
  }
  return false;
}

JvmReader::Records JvmReader::FindRecords(const Blob& blob, uint64_t pc) {
  struct Description {
    int32_t pc_offset;
    int32_t scope_offset;
  };
  uint64_t begin = 0;
  uint64_t end = 0;
  if (layout_.has_immutable_data()) {
    const uint64_t data = AddressIn(blob, layout_.immutable_data);
    begin = data + OffsetIn(blob, layout_.pcs_offset);
    end = data + OffsetIn(blob, layout_.scopes_data_offset);
  } else {
    begin = blob.address + OffsetIn(blob, layout_.pcs_offset);
    end = blob.address + OffsetIn(blob, layout_.pcs_end_offset);
  }
  constexpr uint64_t kMostBytes = 16 << 20;
  if (end <= begin || end - begin > kMostBytes) return {};
  uint64_t low = 0;
  uint64_t high = (end - begin) / layout_.pc_desc_bytes;
  const auto wanted = static_cast<int64_t>(pc - blob.code);
  Description before{};
  Description after{};
  // The first one at or after the place, and the last one before it.
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    Description description{};
    if (!memory_->Read(begin + middle * layout_.pc_desc_bytes, &description)) return {};
    if (description.pc_offset < wanted) {
      low = middle + 1;
      before = description;
    } else {
      high = middle;
      after = description;
    }
  }
  const auto scope_of = [](const Description& description) {
    return description.scope_offset <= 0 ? 0 : static_cast<uint64_t>(description.scope_offset);
  };
  return {scope_of(before), scope_of(after), after.pc_offset == wanted && scope_of(after) != 0};
}

bool JvmReader::ReadScope(const Blob& blob, uint64_t offset, Scope* scope) {
  const bool is_new = layout_.has_immutable_data();
  const uint64_t data =
      is_new ? AddressIn(blob, layout_.immutable_data) + OffsetIn(blob, layout_.scopes_data_offset)
             : AddressIn(blob, layout_.scopes_data);
  const uint64_t methods =
      is_new ? AddressIn(blob, layout_.blob_mutable_data) + OffsetIn(blob, layout_.blob_relocation_size)
             : blob.address + OffsetIn(blob, layout_.metadata_offset);
  std::array<uint8_t, 15> bytes;  // of three numbers
  if (!memory_->Read(data + offset, bytes.data(), bytes.size())) return false;
  CompressedReader reader(bytes, layout_.has_no_zero_bytes());
  scope->sender = reader.ReadUnsigned();
  const uint32_t index = reader.ReadUnsigned();
  scope->bci = int64_t{reader.ReadUnsigned()} - 1;
  return index != 0 && memory_->Read(methods + (index - 1) * sizeof scope->method, &scope->method);
}

bool JvmReader::ReadScopes(const Blob& blob, uint64_t offset, int64_t innermost_bci) {
  constexpr int kMostInlined = 64;
  for (int i = 0; offset != 0 && i < kMostInlined; ++i) {
    Scope scope;
    if (!ReadScope(blob, offset, &scope)) return false;
    if (i == 0 && innermost_bci != kKnown) scope.bci = innermost_bci;
    if (!Add(scope.method, scope.bci)) return false;
    offset = scope.sender;
  }
  return true;
}

}  // namespace lagwatch::stack::jvm

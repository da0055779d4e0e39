// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/code_cache.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace lagwatch::stack::jvm {
namespace {

constexpr uint64_t kMostHeapBytes = uint64_t{4} << 30;
constexpr uint32_t kMostFrameBytes = 1 << 20;

}  // namespace

bool CodeCache::Refresh() {
  const JvmLayout& at = *layout_;
  heap_count_ = 0;
  uint64_t queue = 0;
  uint32_t limit = 0;
  interpreter_begin_ = interpreter_end_ = 0;
  if (!memory_->Read(at.interpreter, &queue) || queue == 0 ||
      !memory_->Read(queue + at.queue_buffer, &interpreter_begin_) ||
      !memory_->Read(queue + at.queue_limit, &limit))
    return false;
  interpreter_end_ = interpreter_begin_ + limit;
  uint64_t array = 0;
  uint64_t heaps = 0;
  uint32_t count = 0;
  if (!memory_->Read(at.call_stub_return, &call_stub_return_) || !memory_->Read(at.code_heaps, &array) ||
      array == 0 || !memory_->Read(array + at.array_length, &count) ||
      !memory_->Read(array + at.array_data, &heaps))
    return false;
  for (uint32_t i = 0; i < std::min(count, kMostHeaps); ++i) {
    uint64_t address = 0;
    Heap heap{};
    if (memory_->Read(heaps + i * sizeof address, &address) && address != 0 &&
        memory_->Read(address + at.heap_memory + at.space_low, &heap.low) &&
        memory_->Read(address + at.heap_memory + at.space_high, &heap.high) &&
        memory_->Read(address + at.heap_segments + at.space_low, &heap.segments) &&
        memory_->Read(address + at.heap_segment_shift, &heap.segment_shift) && heap.low < heap.high &&
        heap.high - heap.low < kMostHeapBytes && heap.segment_shift >= 4 && heap.segment_shift < 16)
      heaps_[heap_count_++] = heap;
  }
  return heap_count_ != 0;
}

bool CodeCache::Holds(uint64_t pc) const { return FindHeap(pc) != nullptr || IsInterpreter(pc); }

const CodeCache::Heap* CodeCache::FindHeap(uint64_t pc) const {
  for (size_t i = 0; i < heap_count_; ++i) {
    if (heaps_[i].low <= pc && pc < heaps_[i].high) return &heaps_[i];
  }
  return nullptr;
}

uint64_t CodeCache::FindBlock(const Heap& heap, uint64_t pc) {
  constexpr uint8_t kFree = 0xff;
  constexpr int kMostHops = 4096;
  uint64_t segment = (pc - heap.low) >> heap.segment_shift;
  for (int i = 0; i < kMostHops; ++i) {
    uint8_t back = 0;
    if (!memory_->Read(heap.segments + segment, &back) || back == kFree || back > segment) return 0;
    if (back == 0) return heap.low + (segment << heap.segment_shift);
    segment -= back;
  }
  return 0;
}

bool CodeCache::FindBlob(uint64_t pc, Blob* blob) {
  const JvmLayout& at = *layout_;
  const Heap* heap = FindHeap(pc);
  if (heap == nullptr) return false;
  const uint64_t block = FindBlock(*heap, pc);
  uint8_t is_used = 0;
  if (block == 0 || !memory_->Read(block + at.block_used, &is_used) || is_used == 0) return false;
  blob->address = block + at.block_bytes;
  std::array<uint8_t, kMostHeadBytes> head;
  if (!memory_->Read(blob->address, head.data(), head.size())) return false;
  const auto word = [&](uint32_t offset, auto* value) {
    if (offset + sizeof *value <= head.size()) std::memcpy(value, &head[offset], sizeof *value);
  };
  uint32_t size = 0;
  uint64_t name = 0;
  uint32_t frame_words = 0;
  word(at.blob_size, &size);
  word(at.blob_name, &name);
  word(at.blob_frame_words, &frame_words);
  if (at.has_immutable_data()) {
    int32_t code_offset = 0;
    int16_t frame_complete = 0;
    word(at.blob_code_offset, &code_offset);
    word(at.blob_frame_complete, &frame_complete);
    blob->code = blob->address + static_cast<uint64_t>(code_offset);
    blob->frame_complete = frame_complete < 0 ? 0 : static_cast<uint32_t>(frame_complete);
  } else {
    int32_t frame_complete = 0;
    word(at.blob_code_begin, &blob->code);
    word(at.blob_frame_complete, &frame_complete);
    blob->frame_complete = frame_complete < 0 ? 0 : static_cast<uint32_t>(frame_complete);
  }
  // `frame_words` is -1 where the size is not the same everywhere.
  blob->frame_bytes = frame_words <= kMostFrameBytes / 8 ? frame_words * 8 : 0;
  if (pc < blob->address || pc >= blob->address + size) return false;
  blob->kind = KindOf(name, blob->frame_bytes);
  return true;
}

BlobKind CodeCache::KindOf(uint64_t name_address, uint32_t frame_bytes) {
  char name[24];
  if (frame_bytes == 0 || !ReadText(memory_, name_address, name, sizeof name)) return BlobKind::kWithoutFrame;
  const std::string_view text(name);
  return text == "nmethod" || text == "native nmethod" ? BlobKind::kCompiled : BlobKind::kStub;
}

}  // namespace lagwatch::stack::jvm

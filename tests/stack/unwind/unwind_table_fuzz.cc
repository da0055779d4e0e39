// SPDX-License-Identifier: Apache-2.0
// Whatever a module's unwind tables hold: compiling them ends, within memory in proportion to them, and the
// places asked for have a rule or none; the search in memory as well.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "stack/code/page_cache.h"
#include "stack/unwind/tables/eh_frame_search.h"
#include "stack/unwind/tables/unwind_table.h"
#include "tests/fuzz/seeds.h"
#include "tests/stack/unwind/frame_section_seeds.h"

namespace {

using namespace lagwatch::stack;

constexpr size_t kMaxBytes = 1 << 16;
constexpr size_t kHeaderBytes = 4096;
constexpr size_t kHeadBytes = 2;  // which sections there are, and how long the first is in 256ths
enum Where : uint8_t { kInMemory = 1, kInFile = 2, kHasForeignHeader = 4 };

void Check(bool holds) {
  if (!holds) abort();
}

// Memory that ends where a module's .eh_frame does, as if it were loaded, with nothing readable behind.
class LoadedSection {
 public:
  LoadedSection() {
    void* memory = mmap(nullptr, kHeaderBytes + kMaxBytes + 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Check(memory != MAP_FAILED &&
          mprotect(static_cast<char*>(memory) + kHeaderBytes + kMaxBytes, 4096, PROT_NONE) == 0);
    header_ = static_cast<char*>(memory);
  }
  // A module with these bytes, and an index of its functions; that index is `bytes` too where `is_foreign`.
  Module Load(ByteView bytes, bool is_foreign) {
    char* begin = header_ + kHeaderBytes + kMaxBytes - bytes.size;
    std::memcpy(begin, bytes.bytes, bytes.size);
    Module module{};
    module.eh_frame_hdr = reinterpret_cast<uint64_t>(header_);
    module.load_bias = module.eh_frame_hdr - 0x10000;
    std::memset(header_, 0, kHeaderBytes);
    if (is_foreign) {
      std::memcpy(header_, bytes.bytes, std::min<size_t>(bytes.size, kHeaderBytes));
      return module;
    }
    const unsigned char kinds[] = {1, pointer_encoding::kUdata8, pointer_encoding::kUdata4,
                                   pointer_encoding::kDataRelative | pointer_encoding::kSdata4};
    std::memcpy(header_, kinds, sizeof kinds);
    auto address = reinterpret_cast<uint64_t>(begin);
    std::memcpy(header_ + 4, &address, sizeof address);
    // All of the table's entries lead to the second entry: the one after the first CIE.
    uint32_t count = 4;
    std::memcpy(header_ + 12, &count, sizeof count);
    uint32_t first_size = 0;
    if (bytes.size >= 4) std::memcpy(&first_size, bytes.bytes, sizeof first_size);
    for (uint32_t i = 0; i < count; ++i) {
      int32_t entry[] = {static_cast<int32_t>(i) * 0x100 - 0x10000,
                         static_cast<int32_t>(begin - header_ + 4 + first_size % kMaxBytes)};
      std::memcpy(header_ + 16 + i * sizeof entry, entry, sizeof entry);
    }
    return module;
  }

 private:
  char* header_;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static lagwatch::testing::FuzzSeeds seeds;
  const std::string debug_frame = lagwatch::stack::testing::HandMadeDebugFrame();
  auto pieces = lagwatch::stack::testing::PiecesOfLoadedTables();
  for (const std::string& piece : pieces) {
    seeds.Add(std::string("\x01\xff", 2) + piece);
    seeds.Add(std::string("\x02\x80", 2) + piece + debug_frame);
  }
  seeds.Add(std::string("\x02\x00", 2) + debug_frame);
  seeds.AppendTo(argc, argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  if (size_bytes < kHeadBytes || size_bytes > kMaxBytes) return 0;
  static LoadedSection loaded;
  const std::atomic<bool> never_stop{false};
  const auto* bytes = reinterpret_cast<const char*>(data) + kHeadBytes;
  const size_t size = size_bytes - kHeadBytes;
  const size_t first_size = size * data[1] / 255;
  const uint64_t file_address = 0x4000;
  Module module{};
  FileSections file{};
  if ((data[0] & kInMemory) != 0) {
    module = loaded.Load({bytes, first_size, 0}, (data[0] & kHasForeignHeader) != 0);
  } else {
    file.eh_frame = {bytes, first_size, file_address};
  }
  if ((data[0] & kInFile) != 0) file.debug_frame = {bytes + first_size, size - first_size, 0};

  UnwindTable table;
  bool is_compiled = table.Compile(module, file, never_stop);
  Check(table.function_count() <= size / 8);
  Check(table.row_count() <= 2 * size + 2);
  EhFrameSearch search;
  static PageCache pages;
  pages.Clear();
  for (uint64_t i = 0; i < 64; ++i) {
    for (uint64_t offset : {i * 0x40, 0x10000 + i * 0x100, i << 26, ~i}) {
      FoundRule found;
      if (is_compiled && table.Find(offset, &found)) {
        Check(found.function_offset <= offset && found.rule.cfa != UnwindRule::Cfa::kNone);
      }
    }
    FoundRule found;
    if (module.eh_frame_hdr != 0) search.Find(module, i * 0x40, &pages, &found);
  }
  return 0;
}

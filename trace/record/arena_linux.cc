// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/owned_fd.h"
#include "stack/code/script_functions.h"
#include "trace/record/arena.h"

namespace lagwatch::trace {
namespace {

constexpr uint64_t kModules = 2048;
constexpr uint64_t kThreads = 4096;
constexpr uint64_t kFunctions = stack::ScriptFunctions::kMaxFunctions;
constexpr uint64_t kPage = 4096;

constexpr uint64_t PageRound(uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

// The offset of each part; each begins on a page of its own.
struct Offsets {
  uint64_t modules;
  uint64_t threads;
  uint64_t functions;
  uint64_t stacks[2];
  uint64_t pools[3];
  uint64_t end;

  explicit Offsets(const ArenaLayout& layout) {
    uint64_t at = PageRound(sizeof(ArenaHeader));
    auto take = [&](uint64_t bytes) {
      const uint64_t begin = at;
      at += PageRound(bytes);
      return begin;
    };
    modules = take(layout.module_capacity * sizeof(ArenaModule));
    threads = take(layout.thread_capacity * sizeof(ArenaThread));
    functions = take(layout.function_capacity * sizeof(ArenaFunction));
    for (uint64_t& stack : stacks) stack = take(layout.stack_capacity * sizeof(StackNodeBytes));
    pools[0] = take(BlockPool::SizeBytes(layout.main_blocks));
    pools[1] = take(BlockPool::SizeBytes(layout.worker_blocks));
    pools[2] = take(BlockPool::SizeBytes(layout.call_blocks));
    end = at;
  }
};

// Two at least: one that is written, and one to read.
uint64_t BlocksIn(uint64_t bytes) { return std::max<uint64_t>(bytes / sizeof(Block), 2); }

ArenaLayout LayoutOf(const Arena::Sizes& sizes) {
  constexpr uint64_t kLeastNodes = 4096;
  const uint64_t nodes = std::max(sizes.stack_bytes / 2 / sizeof(StackNodeBytes), kLeastNodes);
  return {kModules,
          kThreads,
          kFunctions,
          std::min<uint64_t>(nodes, uint64_t{1} << kStackIndexBits),
          BlocksIn(sizes.main_bytes),
          BlocksIn(sizes.worker_bytes),
          BlocksIn(sizes.call_bytes)};
}

template <typename T>
T* At(const Arena& arena, uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(&arena.header()) + offset);
}

void Prepare(void* memory, const ArenaLayout& layout) {
  auto* header = static_cast<ArenaHeader*>(memory);
  header->layout = layout;
  const Offsets offsets(layout);
  const uint64_t counts[] = {layout.main_blocks, layout.worker_blocks, layout.call_blocks};
  for (int i = 0; i < 3; ++i) {
    reinterpret_cast<BlockPoolHeader*>(static_cast<char*>(memory) + offsets.pools[i])->block_count =
        counts[i];
  }
  header->magic = ArenaHeader::kMagic;
}

void* MapShared(int fd, uint64_t size_bytes) {
  return mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

}  // namespace

std::unique_ptr<Arena> Arena::CreatePrivate(const Sizes& sizes) {
  const ArenaLayout layout = LayoutOf(sizes);
  const uint64_t size_bytes = Offsets(layout).end;
  void* memory =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // A child has no use for it, and must not copy it page by page; but it may still have writers for a moment.
  madvise(memory, size_bytes, MADV_WIPEONFORK);
  Prepare(memory, layout);
  return std::unique_ptr<Arena>(new Arena(memory, size_bytes, layout));
}

base::Result<std::unique_ptr<Arena>> Arena::CreateFile(const std::string& path, const Sizes& sizes) {
  const ArenaLayout layout = LayoutOf(sizes);
  const uint64_t size_bytes = Offsets(layout).end;
  const base::OwnedFd file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) return base::IoError("cannot create " + path, errno);
  if (ftruncate(file.get(), static_cast<off_t>(size_bytes)) != 0) {
    const int error = errno;
    unlink(path.c_str());
    return base::IoError("cannot make " + path + " as large as the recording", error);
  }
  void* memory = MapShared(file.get(), size_bytes);
  if (memory == MAP_FAILED) {
    const int error = errno;
    unlink(path.c_str());
    return base::IoError("cannot map " + path, error);
  }
  Prepare(memory, layout);
  return std::unique_ptr<Arena>(new Arena(memory, size_bytes, layout));
}

base::Result<std::unique_ptr<Arena>> Arena::Open(const std::string& path) {
  const base::OwnedFd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) return base::IoError("cannot open " + path, errno);
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) return base::IoError("cannot map " + path, errno);
  const auto size_bytes = static_cast<uint64_t>(facts.st_size);
  const base::Status is_none(base::StatusCode::kInvalid,
                             path + " is not a recording of this version of lagwatch");
  if (size_bytes < sizeof(ArenaHeader)) return is_none;
  void* memory = MapShared(file.get(), size_bytes);
  if (memory == MAP_FAILED) return base::IoError("cannot map " + path, errno);
  const ArenaLayout layout = static_cast<const ArenaHeader*>(memory)->layout;
  std::unique_ptr<Arena> arena(new Arena(memory, size_bytes, layout));
  constexpr uint64_t kMost = uint64_t{1} << 32;  // no product below overflows
  const bool is_sane =
      layout.module_capacity < kMost && layout.thread_capacity < kMost && layout.function_capacity < kMost &&
      layout.stack_capacity <= uint64_t{1} << kStackIndexBits && layout.main_blocks < kMost &&
      layout.worker_blocks < kMost && layout.call_blocks < kMost;
  if (arena->header().magic != ArenaHeader::kMagic || !is_sane || Offsets(layout).end != size_bytes)
    return is_none;
  return arena;
}

void Arena::FreeButCalls(std::unique_ptr<Arena> arena) {
  Arena* kept = arena.release();  // its destructor would unmap all of it
  const uint64_t calls = Offsets(kept->layout_).pools[2];
  char* memory = static_cast<char*>(kept->memory_);
  munmap(memory, calls);
  madvise(memory + calls, kept->size_bytes_ - calls,
          MADV_DONTNEED);  // private: zero from now on, so without blocks
  kept->memory_ = nullptr;
  delete kept;
}

void Arena::Clear() {
  const int32_t owner_pid = header().owner_pid;
  // Gives the pages of a file back, and those of private memory, so that nothing is touched for it.
  if (madvise(memory_, size_bytes_, MADV_REMOVE) != 0) madvise(memory_, size_bytes_, MADV_DONTNEED);
  Prepare(memory_, layout_);
  header().owner_pid = owner_pid;
}

Arena::~Arena() {
  if (memory_ != nullptr) munmap(memory_, size_bytes_);
}

ArenaModule* Arena::modules() const { return At<ArenaModule>(*this, Offsets(layout_).modules); }
ArenaFunction* Arena::functions() const { return At<ArenaFunction>(*this, Offsets(layout_).functions); }
ArenaThread* Arena::threads() const { return At<ArenaThread>(*this, Offsets(layout_).threads); }
StackNodeBytes* Arena::stack_nodes(uint64_t generation_number) const {
  return At<StackNodeBytes>(*this, Offsets(layout_).stacks[generation_number % 2]);
}
BlockPool Arena::main_pool() const {
  return {At<BlockPoolHeader>(*this, Offsets(layout_).pools[0]), layout_.main_blocks};
}
BlockPool Arena::worker_pool() const {
  return {At<BlockPoolHeader>(*this, Offsets(layout_).pools[1]), layout_.worker_blocks};
}
BlockPool Arena::call_pool() const {
  return {At<BlockPoolHeader>(*this, Offsets(layout_).pools[2]), layout_.call_blocks};
}

}  // namespace lagwatch::trace

// SPDX-License-Identifier: Apache-2.0
// The services of native hits: memory, stacks, CPU time.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/clock.h"
#include "base/process/safe_memory.h"
#include "sdk/probe/native_hit.h"
#include "sdk/probe/site_handlers.h"
#include "stack/code_map.h"
#include "stack/own_stack.h"
#include "trace/hooks/frame_pointer_walk.h"

namespace lagwatch::sdk {
namespace {

// Leaked: a thread may be walking at any time.
std::shared_ptr<stack::CodeMap>* g_code = nullptr;
std::atomic<const stack::OwnStackWalker*> g_walker{nullptr};

// The calling thread's own stack cannot vanish under it: it is read plainly, all else by the kernel.
bool IsOnOwnStack(uint64_t address, size_t size) {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (address < here) return false;
  const uint64_t end = trace::OwnStackEnd(here);
  return address < end && size <= end - address;
}

size_t Read(const probe::Hit&, uint64_t address, void* to, size_t size) {
  if (!IsOnOwnStack(address, size)) return base::ReadOwnMemoryByCall(address, to, size);
  std::memcpy(to, reinterpret_cast<const void*>(address), size);
  return size;
}

// The callers of a function that has returned. Ours are left out: the interpreter, the handler, the code that
// leads there. A function of its own, because the other captures need less of the stack.
[[gnu::noinline]] size_t CaptureFromHandler(const stack::OwnStackWalker& walker, uint64_t caller,
                                            uint64_t* addresses, size_t most) {
  constexpr size_t kMostOwn = 16;
  uint64_t walked[probe::kMaxStackFrames + kMostOwn];
  bool is_complete = false;
  const size_t count = walker.WalkCallers(walked, std::min(most + kMostOwn, std::size(walked)), &is_complete);
  const uint64_t* begin = std::find(walked, walked + count, caller);
  const size_t kept = std::min(static_cast<size_t>(walked + count - begin), most);
  std::copy_n(begin, kept, addresses);
  return kept;
}

size_t CaptureStack(const probe::Hit& hit, uint64_t* addresses, size_t most) {
  const auto& native = static_cast<const NativeHit&>(hit);
  const stack::OwnStackWalker* walker = g_walker.load(std::memory_order_acquire);  // pairs with its store
  size_t count = 0;
  bool is_complete = false;
  if (walker != nullptr && native.from.program_counter != 0)
    count = walker->Walk(native.from, addresses, most, &is_complete);
  else if (walker != nullptr)
    count = CaptureFromHandler(*walker, hit.caller, addresses, most);
  if (count == 0 && hit.caller != 0 && most != 0) addresses[count++] = hit.caller;
  return count;
}

uint64_t CpuTimeNs(const probe::Hit&) { return static_cast<uint64_t>(base::ThreadCpuNs(0)); }

constexpr probe::HitServices kServices{.read = Read, .capture_stack = CaptureStack, .cpu_time_ns = CpuTimeNs};

// Has the unwind tables compiled, which the first hits need; waits for that, but not for ever.
void CompileTables(const stack::CodeMap& code) {
  constexpr int64_t kPatienceNs = 5 * base::kNsPerSecond;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs};
  stack::TableLibrary* tables = code.tables();
  const int64_t end_ns = base::SystemClock().MonoNs() + kPatienceNs;
  for (uint32_t i = 0; i < code.module_count(); ++i) tables->RequestByIndex(i);
  for (uint32_t i = 0; i < code.module_count(); ++i) {
    const bool has_table = code.CopyModule(i).eh_frame_hdr != 0;
    while (has_table && tables->Find(i) == nullptr && base::SystemClock().MonoNs() < end_ns)
      nanosleep(&kPause, nullptr);
  }
}

}  // namespace

const probe::HitServices& ProbeHitServices() { return kServices; }

bool PrepareStackCaptures() {
  if (g_walker.load(std::memory_order_relaxed) != nullptr) return true;  // one thread prepares
  auto code = stack::CodeMap::Create();
  if (!code.ok()) return false;
  auto walker = stack::OwnStackWalker::Create(*code);
  if (!walker.ok()) return false;
  (*code)->Refresh();
  CompileTables(**code);
  g_code = new std::shared_ptr<stack::CodeMap>(std::move(code).value());
  g_walker.store(walker->release(), std::memory_order_release);  // with what it needs
  return true;
}

void RefreshStackCaptures() {
  if (g_code != nullptr) (*g_code)->RefreshIfDue();
}

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
// The services of native hits: memory, stacks, CPU time.
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>

#include "base/clock.h"
#include "base/system/kernel_call.h"
#include "base/system/seccomp.h"
#include "sdk/probe/native_hit.h"
#include "sdk/probe/site_handlers.h"
#include "stack/code_map.h"
#include "stack/own_stack.h"

namespace lagwatch::sdk {
namespace {

// Leaked: a thread may be walking at any time.
std::shared_ptr<stack::CodeMap>* g_code = nullptr;
std::atomic<const stack::OwnStackWalker*> g_walker{nullptr};

// By the kernel; page by page, since a read of several is all or nothing.
size_t ReadByCall(uint64_t address, void* to, size_t size) {
  constexpr uint64_t kPageBytes = 4096;
  static_assert(probe::kMaxTextBytes <= kPageBytes);
  if (base::IsConfined()) return 0;
  const uint64_t first = std::min<uint64_t>(size, kPageBytes - address % kPageBytes);
  const iovec local{to, size};
  const iovec pages[] = {{reinterpret_cast<void*>(address), first},
                         {reinterpret_cast<void*>(address + first), size - first}};
  // The thread's present id: a child of fork(2) has another one than the thread that it was.
  const int64_t read = base::CallKernel(
      SYS_process_vm_readv, static_cast<uint64_t>(base::CallKernel(SYS_gettid)),
      reinterpret_cast<uint64_t>(&local), 1, reinterpret_cast<uint64_t>(pages), first == size ? 1 : 2);
  return read > 0 ? static_cast<size_t>(read) : 0;
}

// The calling thread's own stack cannot vanish under it: it is read plainly, all else by the kernel.
size_t Read(const probe::Hit&, uint64_t address, void* to, size_t size) {
  if (!trace::IsOnOwnStack(address, size)) return ReadByCall(address, to, size);
  const auto* from = reinterpret_cast<const volatile char*>(address);
  for (size_t i = 0; i < size; ++i) static_cast<char*>(to)[i] = from[i];
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

size_t Capture(const NativeHit& native, uint64_t* addresses, size_t most) {
  const stack::OwnStackWalker* walker = g_walker.load(std::memory_order_acquire);  // pairs with its store
  size_t count = 0;
  bool is_complete = false;
  if (walker != nullptr && native.from.program_counter != 0)
    count = walker->Walk(native.from, addresses, most, &is_complete);
  else if (walker != nullptr)
    count = CaptureFromHandler(*walker, native.caller, addresses, most);
  if (count == 0 && native.caller != 0 && most != 0) addresses[count++] = native.caller;
  return count;
}

// A walk may use any register. `count`: the most frames, then those that there are.
void CaptureSaved(uint64_t hit, uint64_t addresses, uint64_t count, uint64_t) {
  const int saved_errno = errno;
  auto* frames = reinterpret_cast<size_t*>(count);
  *frames =
      Capture(*reinterpret_cast<const NativeHit*>(hit), reinterpret_cast<uint64_t*>(addresses), *frames);
  errno = saved_errno;
}

size_t CaptureStack(const probe::Hit& hit, uint64_t* addresses, size_t most) {
  size_t count = most;
  trace::CallWithAnyRegisters(reinterpret_cast<uint64_t>(&static_cast<const NativeHit&>(hit)),
                              reinterpret_cast<uint64_t>(addresses), reinterpret_cast<uint64_t>(&count), 0,
                              &CaptureSaved);
  return count;
}

uint64_t CpuTimeNs(const probe::Hit&) {
  timespec time{};
  base::CallKernel(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, reinterpret_cast<uint64_t>(&time));
  return static_cast<uint64_t>(time.tv_sec * base::kNsPerSecond + time.tv_nsec);
}

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

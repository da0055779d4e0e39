// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "stack/threads/futex_call_linux.h"
#include "stack/threads/lock_owner.h"

namespace lagwatch::stack {
namespace {

// Those that keep a frame of their own while they wait; others jump into inner functions that have no name.
struct NamedFunction {
  const char* name;
  LockKind kind;
  bool is_for_writing = false;
};
constexpr NamedFunction kWaitingFunctions[] = {
    {"pthread_mutex_lock", LockKind::kMutex},
    {"pthread_mutex_timedlock", LockKind::kMutex},
    {"pthread_mutex_clocklock", LockKind::kMutex},
    {"pthread_rwlock_rdlock", LockKind::kRwLock},
    {"pthread_rwlock_wrlock", LockKind::kRwLock, true},
    {"pthread_rwlock_timedrdlock", LockKind::kRwLock},
    {"pthread_rwlock_timedwrlock", LockKind::kRwLock, true},
    {"pthread_rwlock_clockrdlock", LockKind::kRwLock},
    {"pthread_rwlock_clockwrlock", LockKind::kRwLock, true},
    {"pthread_cond_wait", LockKind::kCondition},
    {"pthread_cond_timedwait", LockKind::kCondition},
    {"pthread_cond_clockwait", LockKind::kCondition},
    {"sem_wait", LockKind::kSemaphore},
    {"sem_timedwait", LockKind::kSemaphore},
    {"sem_clockwait", LockKind::kSemaphore},
    {"pthread_barrier_wait", LockKind::kBarrier},
    {"malloc", LockKind::kHeap},
    {"calloc", LockKind::kHeap},
    {"realloc", LockKind::kHeap},
    {"memalign", LockKind::kHeap},
    {"aligned_alloc", LockKind::kHeap},
    {"posix_memalign", LockKind::kHeap},
    {"free", LockKind::kHeap},
};
// Between the system call and the waiting function there are at most this many frames.
constexpr uint32_t kMaxInnerFrames = 4;

// Whether no other process can share the memory at `address`.
bool IsPrivate(uint64_t address, const ModuleMap& modules) {
  StackRegions memory = modules.stacks();
  return memory.IsOnMainStack(address) || FindRegion(address, memory.regions, memory.count) != nullptr;
}

}  // namespace

LockOwners::LockOwners() {
  static_assert(std::size(kWaitingFunctions) <= kMaxFunctions);
  // Of the C library itself: a sanitizer or a preloaded library may have functions of these names in front of
  // its own, which are the ones that wait.
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  for (const NamedFunction& function : kWaitingFunctions) {
    const void* start = dlsym(libc != nullptr ? libc : RTLD_DEFAULT, function.name);
    if (start == nullptr) continue;
    functions_[function_count_++] = {reinterpret_cast<uint64_t>(start), function.kind,
                                     function.is_for_writing};
  }
  const auto start_of = [&](const char* name) {
    return libc == nullptr ? 0 : reinterpret_cast<uint64_t>(dlsym(libc, name));
  };
  syscall_start_ = start_of("syscall");
  lock_wait_start_ = start_of("__lll_lock_wait_private");
  Dl_info library{};
  struct stat file {};
  if (function_count_ != 0 && dladdr(reinterpret_cast<void*>(functions_[0].start), &library) != 0 &&
      stat(library.dli_fname, &file) == 0) {
    library_inode_ = file.st_ino;
    library_base_ = reinterpret_cast<uint64_t>(library.dli_fbase);
    ElfHeaders headers;
    const base::Process own = base::Process::Own();
    if (ReadElfHeaders(own, library_base_, &headers))
      library_build_id_bytes_ = own.Read(headers.build_id, library_build_id_.data(),
                                         std::min(headers.build_id_size_bytes, library_build_id_.size()));
  }
  if (libc != nullptr) dlclose(libc);
}

int LockOwners::MeasureLayouts() {
  mutex_ = MeasureMutexLayout();
  rwlock_ = MeasureRwLockLayout();
  thread_ = MeasureThreadLayout();
  return !mutex_ + !rwlock_ + !thread_;
}

bool LockOwners::IsInLockCall(const BlockedThread& blocked) { return blocked.syscall_number == SYS_futex; }

std::optional<LockWait> LockOwners::Find(const BlockedThread& blocked, const Stack& stack,
                                         const ModuleMap& modules) const {
  if (!IsInLockCall(blocked)) return std::nullopt;
  const uint64_t* arguments = blocked.arguments;
  const uint64_t flags = arguments[1];
  FutexCall call{.process = modules.process(),
                 .address = arguments[0],
                 .operation = static_cast<int>(flags & FUTEX_CMD_MASK),
                 .value = static_cast<uint32_t>(arguments[2]),
                 .has_timeout = arguments[3] != 0,
                 .is_private = (flags & FUTEX_PRIVATE_FLAG) != 0 || IsPrivate(arguments[0], modules)};
  if (!HasSameLibrary(modules)) {
    const auto wait = JudgeByWords(call);
    return wait && JudgeByWords(call) == wait ? wait : std::nullopt;
  }
  const Waiter waiter = FindWaiter(stack, modules);
  LockWait wait = Judge(call, waiter, stack, modules);
  // An owner in the middle of leaving shows in a second look.
  return Judge(call, waiter, stack, modules) == wait ? wait : call.Unknown();
}

bool LockOwners::HasSameLibrary(const ModuleMap& modules) const {
  if (modules.process().is_own()) return true;
  for (uint32_t i = 0; i < modules.module_count(); ++i)
    if (modules.module(i).process == modules.process() && IsLibrary(modules.module(i))) return true;
  return false;
}

bool LockOwners::IsLibrary(const Module& module) const {
  if (library_build_id_bytes_ == 0) return library_inode_ != 0 && module.inode == library_inode_;
  return module.build_id_view() ==
         std::string_view(reinterpret_cast<const char*>(library_build_id_.data()), library_build_id_bytes_);
}

bool LockOwners::IsInLibrary(const Frame& frame, const ModuleMap& modules) const {
  return frame.module != kNoModule && IsLibrary(modules.module(frame.module));
}

uint64_t LockOwners::StartInLibrary(const Frame& frame, const ModuleMap& modules) const {
  const bool is_known = IsInLibrary(frame, modules) && frame.function_offset != 0;
  return is_known ? library_base_ + frame.function_offset : 0;
}

const LockOwners::Function* LockOwners::FindFunction(const Frame& frame, const ModuleMap& modules) const {
  const uint64_t start = StartInLibrary(frame, modules);
  const auto end = functions_.begin() + static_cast<std::ptrdiff_t>(function_count_);
  const auto found =
      std::find_if(functions_.begin(), end, [&](const Function& one) { return one.start == start; });
  return start == 0 || found == end ? nullptr : &*found;
}

LockOwners::Waiter LockOwners::FindWaiter(const Stack& stack, const ModuleMap& modules) const {
  for (uint32_t depth = 0; depth < std::min(stack.frame_count, kMaxInnerFrames); ++depth) {
    const Function* function = FindFunction(stack.frames[depth], modules);
    if (function != nullptr) return {function->kind, function->is_for_writing, depth};
  }
  return {LockKind::kUnknown, false, 0};
}

LockWait LockOwners::Judge(const FutexCall& call, const Waiter& waiter, const Stack& stack,
                           const ModuleMap& modules) const {
  switch (call.operation) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
      return JudgeInheriting(call);
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      break;
    default:
      return call.Unknown();
  }
  switch (waiter.kind) {
    case LockKind::kMutex:
      return JudgeMutex(call, /*is_mutex_for_certain=*/true);
    case LockKind::kRwLock:
      return JudgeRwLock(call, waiter.is_for_writing);
    case LockKind::kCondition:
      // The signal may have come: then the mutex is waited for, in a function between.
      if (call.operation == FUTEX_WAIT && waiter.depth >= 2) return JudgeMutex(call, true);
      return call.Result(waiter.kind, WaitsFor::kSignal, call.address);
    case LockKind::kSemaphore:
    case LockKind::kBarrier:
      return call.Result(waiter.kind, WaitsFor::kSignal, call.address);
    case LockKind::kHeap:
      return call.operation == FUTEX_WAIT && call.IsUnchanged() ? call.Unknown(waiter.kind) : call.Unknown();
    default:
      return JudgeNameless(call, stack, modules);
  }
}

LockWait LockOwners::JudgeNameless(const FutexCall& call, const Stack& stack,
                                   const ModuleMap& modules) const {
  LockWait wait = JudgeMutex(call, /*is_mutex_for_certain=*/false);
  if (wait.kind == LockKind::kUnknown) wait = JudgeThread(call);
  if (wait.kind == LockKind::kUnknown) wait = JudgeStream(call);
  return wait.kind == LockKind::kUnknown ? JudgeOnce(call, stack, modules) : wait;
}

// The waiting functions of robust mutexes and of those with a timeout have no names, but their words are like
// no other's: a robust one's names the owner twice, and the C library's nameless locks know no timeout.
LockWait LockOwners::JudgeMutex(const FutexCall& call, bool is_mutex_for_certain) const {
  const LockWait unknown = call.Unknown(is_mutex_for_certain ? LockKind::kMutex : LockKind::kUnknown);
  MutexWords words;
  if (!mutex_ || !call.process.ReadValue(call.address, &words)) return unknown;
  uint32_t owner = words[mutex_->owner];
  uint32_t kind = words[mutex_->kind];
  bool is_robust = (kind & mutex_->robust_mask) != 0;
  bool is_kind_known = (kind & ~(mutex_->type_mask | mutex_->robust_mask | mutex_->other_mask)) == 0;
  if (words[0] != call.value || owner == 0 || words[mutex_->users] == 0 || !is_kind_known) return unknown;
  if (is_robust) {
    bool names_owner_twice = (call.value & FUTEX_TID_MASK) == owner && (call.value & FUTEX_OWNER_DIED) == 0;
    if (!names_owner_twice) return unknown;
  } else if (!is_mutex_for_certain && (!call.has_timeout || call.value <= 1)) {
    return unknown;
  }
  LockWait wait = call.OwnedBy(owner, LockKind::kMutex, call.address);
  return wait.waits_for == WaitsFor::kOwner ? wait : unknown;
}

// Of glibc, one with waiters has the value 2, which says little, but its owner and its count of users are
// where no other lock has a living thread's id. Of musl, the word is the owner's id, with a mark for waiters,
// except of mutexes of the usual type; the type is before it.
std::optional<LockWait> LockOwners::JudgeByWords(const FutexCall& call) const {
  if (call.operation == FUTEX_LOCK_PI || call.operation == FUTEX_LOCK_PI2) return JudgeInheriting(call);
  constexpr uint32_t kAwaited = 2;
  constexpr uint32_t kMuslRecursive = 1;
  constexpr uint32_t kMuslErrorChecking = 2;
  constexpr uint32_t kMuslRobust = 4;  // a flag
  if (call.operation != FUTEX_WAIT || !call.IsUnchanged()) return std::nullopt;
  LockWait wait = call.Unknown();
  const uint64_t musl_mutex = call.address - sizeof(uint32_t);
  uint32_t type = 0;
  if (call.value == kAwaited) {
    wait = JudgeMutex(call, /*is_mutex_for_certain=*/true);
  } else if ((call.value & FUTEX_WAITERS) != 0 && call.process.ReadValue(musl_mutex, &type)) {
    type &= ~kMuslRobust;
    if (type == kMuslRecursive || type == kMuslErrorChecking)
      wait = call.OwnedBy(call.value & FUTEX_TID_MASK, LockKind::kMutex, musl_mutex);
  }
  return wait.waits_for == WaitsFor::kOwner ? std::optional(wait) : std::nullopt;
}

// The kernel itself wants the owner's id in the word (futex(2), FUTEX_LOCK_PI).
LockWait LockOwners::JudgeInheriting(const FutexCall& call) const {
  uint32_t word;
  if (!call.process.ReadValue(call.address, &word) || (word & FUTEX_OWNER_DIED) != 0) {
    return call.Unknown(LockKind::kMutex);
  }
  return call.OwnedBy(word & FUTEX_TID_MASK, LockKind::kMutex, call.address);
}

// The value waited with shows which of the lock's words is waited for, and with it the lock's address: the
// words of phase and of writers are 1 while they keep others out, and marked as waited for in a higher bit;
// word 0 is waited for only while it counts readers.
LockWait LockOwners::JudgeRwLock(const FutexCall& call, bool is_for_writing) const {
  const LockWait unknown = call.Unknown(LockKind::kRwLock);
  if (!rwlock_) return unknown;
  const RwLockLayout& layout = *rwlock_;
  bool counts_readers = call.value >= layout.reader_unit;
  bool keeps_out = (call.value & 1) != 0;
  size_t waited_word = is_for_writing && keeps_out         ? layout.writers_wait
                       : !is_for_writing && counts_readers ? 0
                                                           : layout.phase_wait;
  uint64_t lock = call.address - waited_word * sizeof(uint32_t);
  RwLockWords words;
  if (!call.process.ReadValue(lock, &words) || words[waited_word] != call.value) return unknown;
  if ((words[0] & layout.write_locked_mask) == 0) return unknown;  // no thread waits for such a lock
  if (words[layout.writer] != 0) return call.OwnedBy(words[layout.writer], LockKind::kRwLock, lock);
  bool is_read = words[0] >= layout.reader_unit && (words[0] & layout.write_phase_mask) == 0;
  return call.Result(LockKind::kRwLock, is_read ? WaitsFor::kReaders : WaitsFor::kUnknown, lock);
}

LockWait LockOwners::JudgeThread(const FutexCall& call) const {
  if (ThreadAt(call.process, call.address) != call.value || call.value == 0) return call.Unknown();
  LockWait wait = call.OwnedBy(call.value, LockKind::kThread, call.address);
  return wait.waits_for == WaitsFor::kOwner ? wait : call.Unknown();
}

uint32_t LockOwners::ThreadAt(const base::Process& process, uint64_t address) const {
  uint32_t word;
  uint64_t futex_offset;
  const bool is_thread =
      thread_ && process.ReadValue(address, &word) &&
      process.ReadValue(address + thread_->robust_list_bytes + sizeof(uint64_t), &futex_offset) &&
      futex_offset == thread_->futex_offset;
  return is_thread ? word : 0;
}

}  // namespace lagwatch::stack

// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

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
};
// Between the system call and the waiting function there are at most this many frames.
constexpr uint32_t kMaxInnerFrames = 4;

bool IsThreadOf(const base::Process& process, uint32_t tid) {
  return tid != 0 && tid <= FUTEX_TID_MASK &&
         ReadThreadStateLetter({process, static_cast<int32_t>(tid)}) != '?';
}

// Whether no other process can share the memory at `address`.
bool IsPrivate(uint64_t address, const ModuleMap& modules) {
  StackRegions memory = modules.stacks();
  return memory.IsOnMainStack(address) || FindRegion(address, memory.regions, memory.count) != nullptr;
}

}  // namespace

struct LockOwners::FutexCall {
  base::Process process;  // that has the lock
  uint64_t address;
  int operation;   // without its flags
  uint32_t value;  // that the word had when the wait began
  bool has_timeout;
  bool is_private;  // other processes have no part in it

  LockWait Result(LockKind kind, WaitsFor waits_for, uint64_t lock, uint32_t owner_tid = 0) const {
    return {lock, kind, waits_for, has_timeout, static_cast<int32_t>(owner_tid)};
  }
  LockWait Unknown(LockKind kind = LockKind::kUnknown) const {
    return Result(kind, WaitsFor::kUnknown, address);
  }
  // Names the owner if it can be one.
  LockWait OwnedBy(uint32_t owner_tid, LockKind kind, uint64_t lock) const {
    // The watchdog itself, the caller, holds nothing that others wait for.
    bool can_be = is_private && IsThreadOf(process, owner_tid) && static_cast<pid_t>(owner_tid) != gettid();
    return can_be ? Result(kind, WaitsFor::kOwner, lock, owner_tid) : Result(kind, WaitsFor::kUnknown, lock);
  }
};

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
  Dl_info library{};
  struct stat file {};
  if (function_count_ != 0 && dladdr(reinterpret_cast<void*>(functions_[0].start), &library) != 0 &&
      stat(library.dli_fname, &file) == 0) {
    library_inode_ = file.st_ino;
    library_base_ = reinterpret_cast<uint64_t>(library.dli_fbase);
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
  if (!IsInLockCall(blocked) || !HasSameLibrary(modules)) return std::nullopt;
  const uint64_t* arguments = blocked.arguments;
  const uint64_t flags = arguments[1];
  FutexCall call{.process = modules.process(),
                 .address = arguments[0],
                 .operation = static_cast<int>(flags & FUTEX_CMD_MASK),
                 .value = static_cast<uint32_t>(arguments[2]),
                 .has_timeout = arguments[3] != 0,
                 .is_private = (flags & FUTEX_PRIVATE_FLAG) != 0 || IsPrivate(arguments[0], modules)};
  const Waiter waiter = FindWaiter(stack, modules);
  LockWait wait = Judge(call, waiter);
  // An owner in the middle of leaving shows in a second look.
  return Judge(call, waiter) == wait ? wait : call.Unknown();
}

bool LockOwners::HasSameLibrary(const ModuleMap& modules) const {
  if (modules.process().is_own()) return true;
  for (uint32_t i = 0; library_inode_ != 0 && i < modules.module_count(); ++i)
    if (modules.module(i).inode == library_inode_) return true;
  return false;
}

LockOwners::Waiter LockOwners::FindWaiter(const Stack& stack, const ModuleMap& modules) const {
  for (uint32_t depth = 0; depth < std::min(stack.frame_count, kMaxInnerFrames); ++depth) {
    const Frame& frame = stack.frames[depth];
    if (frame.module == kNoModule || frame.function_offset == 0) continue;
    const Module& module = modules.module(frame.module);
    uint64_t start = module.load_bias + frame.function_offset;
    if (!modules.process().is_own()) {
      if (module.inode != library_inode_) continue;
      start = library_base_ + frame.function_offset;
    }
    for (size_t i = 0; i < function_count_; ++i) {
      const Function& function = functions_[i];
      if (function.start == start) return {function.kind, function.is_for_writing, depth};
    }
  }
  return {LockKind::kUnknown, false, 0};
}

LockWait LockOwners::Judge(const FutexCall& call, const Waiter& waiter) const {
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
    case LockKind::kThread:
    case LockKind::kInterpreterLock:
    case LockKind::kSafepoint:
    case LockKind::kClass:
    case LockKind::kCompilation:
    case LockKind::kPipe:
    case LockKind::kUnixSocket:
    case LockKind::kConnection:
    case LockKind::kDisplay:
    case LockKind::kChild:
    case LockKind::kFileLock:
    case LockKind::kBusCall:
    case LockKind::kUnknown:
      break;
  }
  LockWait wait = JudgeMutex(call, /*is_mutex_for_certain=*/false);
  return wait.kind == LockKind::kUnknown ? JudgeThread(call) : wait;
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
  uint32_t word;
  uint64_t futex_offset;
  uint64_t list = call.address + (thread_ ? thread_->robust_list_bytes : 0);
  bool is_thread = thread_ && call.process.ReadValue(call.address, &word) && word == call.value &&
                   call.process.ReadValue(list + sizeof(uint64_t), &futex_offset) &&
                   futex_offset == thread_->futex_offset;
  if (!is_thread) return call.Unknown();
  LockWait wait = call.OwnedBy(word, LockKind::kThread, call.address);
  return wait.waits_for == WaitsFor::kOwner ? wait : call.Unknown();
}

}  // namespace lagwatch::stack

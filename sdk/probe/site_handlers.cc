// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/site_handlers.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>

#include "base/process/safe_memory.h"
#include "base/system/kernel_call.h"
#include "base/ticks.h"
#include "probe/run/interpreter.h"
#include "sdk/probe/native_hit.h"
#include "sdk/probe/thrown_type.h"
#include "trace/instrument/rules/function_names.h"

namespace lagwatch::sdk {

constinit std::atomic<void (*)()> g_before_exit{nullptr};
constinit std::atomic<pid_t> g_probed_process{0};

namespace {

using probe::PlaceKind;
using trace::HandlerRegisters;
using trace::ProbeEntry;
using trace::ProbeHandlers;
using trace::ProbeReturn;

constexpr size_t kFloatArguments = 8;

// Initial-exec: no call and no allocation at the first access.
constinit thread_local uint32_t t_tid __attribute__((tls_model("initial-exec"))) = 0;

// The thread's allocation that was counted last, by when it began. One that began earlier and ends later has
// it inside, as realloc(NULL, n) has malloc(n).
constinit thread_local uint64_t t_allocation_ticks __attribute__((tls_model("initial-exec"))) = 0;

// Scripts' handlers are built without vector registers (see CMakeLists.txt), except by clang and with
// sanitizers.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
constexpr HandlerRegisters kRegisters = HandlerRegisters::kAny;
#else
constexpr HandlerRegisters kRegisters = HandlerRegisters::kGeneral;
#endif

NativeHit HitOf(const ProbeEntry& entry, PlaceKind kind) {
  NativeHit hit;
  hit.services = &ProbeHitServices();
  hit.int_arguments = entry.int_args;
  hit.stack_arguments = reinterpret_cast<uint64_t>(entry.stack + 1);
  hit.caller = entry.return_address;
  hit.function = entry.function;
  hit.tid = OwnTid();
  hit.kind = kind;
  return hit;
}

void CopyBits(uint64_t bits, double* number) { __builtin_memcpy(number, &bits, sizeof bits); }

// The caller, as it is after the return.
stack::CallRegisters CallerOf(const ProbeEntry& entry) {
  return {entry.return_address, reinterpret_cast<uint64_t>(entry.stack) + sizeof(uint64_t),
          entry.frame_pointer};
}

NativeHit HitOf(const ProbeReturn& returned, PlaceKind kind) {
  NativeHit hit;
  hit.services = &ProbeHitServices();
  hit.int_arguments = returned.int_args;
  hit.returned_ints[0] = returned.result[0];
  hit.returned_ints[1] = returned.result[1];
  if (returned.vectors != nullptr) {
    CopyBits(returned.vectors[0].low, &hit.returned_floats[0]);
    CopyBits(returned.vectors[1].low, &hit.returned_floats[1]);
  }
  hit.now_ticks = returned.left_ticks;
  hit.duration_ticks = returned.left_ticks - returned.entered_ticks;
  hit.caller = returned.return_address;
  hit.function = returned.function;
  hit.tid = OwnTid();
  hit.kind = kind;
  return hit;
}

uint64_t ToNs(const SiteState& site, uint64_t ticks) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(ticks) * site.state->block().ns_per_tick_q32 >>
                               32);
}

template <bool kHasVectors>
void OnEntry(const ProbeEntry& entry, void* user_data) {
  const ActiveSite site(user_data);
  if (!site) return;
  NativeHit hit = HitOf(entry, PlaceKind::kEntry);
  double floats[kFloatArguments];
  if (kHasVectors && entry.vector_args != nullptr) {
    for (size_t i = 0; i < kFloatArguments; ++i) CopyBits(entry.vector_args[i].low, &floats[i]);
    hit.float_arguments = floats;
  }
  if ((site->probe->needs() & probe::kNeedsStack) != 0) hit.from = CallerOf(entry);
  RunHit(*site, hit);
}

template <bool kTakesReturns, bool kTakesErrors>
void OnReturn(const ProbeReturn& returned, void* user_data) {
  const ActiveSite site(user_data);
  if (!site || !(returned.left_by_exception ? kTakesErrors : kTakesReturns)) return;
  RunHit(*site, HitOf(returned, returned.left_by_exception ? PlaceKind::kError : PlaceKind::kReturn));
}

// An argument that cannot be read ends the hit as soon as the program asks for any.
bool ReadNoteArguments(const SiteState& site, const NativeHit& hit, const uint64_t registers[16],
                       uint64_t values[kMaxNoteArguments]) {
  for (uint32_t rest = site.used_arguments; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<size_t>(__builtin_ctz(rest));
    const NoteArgument& argument = site.arguments[i];
    uint64_t bits = static_cast<uint64_t>(argument.number);
    if (argument.kind == NoteArgument::Kind::kRegister) bits = registers[argument.base] >> argument.shift;
    if (argument.kind == NoteArgument::Kind::kMemory) {
      bits = 0;
      if (hit.services->read(hit, argument.AddressWith(registers), &bits, argument.size) != argument.size)
        return false;
    }
    values[i] = argument.Widen(bits);
  }
  return true;
}

void OnNote(const ProbeEntry& entry, void* user_data) {
  const ActiveSite site(user_data);
  if (!site) return;
  constexpr size_t kRbx = 3;
  constexpr size_t kRbp = 6;
  constexpr size_t kRsp = 7;
  NativeHit hit;
  hit.services = &ProbeHitServices();
  hit.function = entry.function;
  hit.tid = OwnTid();
  hit.kind = PlaceKind::kUsdt;
  uint64_t values[kMaxNoteArguments] = {};
  if (ReadNoteArguments(*site, hit, entry.registers, values)) hit.int_arguments = values;
  // The instruction has one byte at least: the place behind it is in the same function.
  hit.from = {entry.function + 1, entry.registers[kRsp], entry.registers[kRbp], entry.registers[kRbx]};
  if ((site->probe->needs() & probe::kNeedsCaller) != 0) {
    uint64_t frames[2] = {};
    hit.services->capture_stack(hit, frames, 2);
    hit.caller = frames[1];
  }
  RunHit(*site, hit);
}

// __cxa_throw(object, type, destructor).
void OnThrow(const ProbeEntry& entry, void* user_data) {
  const ActiveSite site(user_data);
  if (!site) return;
  const int saved_errno = errno;
  char mangled[probe::kMaxTextBytes];
  char name[probe::kMaxTextBytes];
  uint64_t text = 0;
  size_t size = 0;
  // A std::type_info is its table of virtual functions and its name.
  if (base::ReadOwnMemoryByCall(entry.int_args[1] + sizeof(uint64_t), &text, sizeof text) == sizeof text)
    size = base::ReadOwnMemoryByCall(text, mangled, sizeof mangled - 1);
  mangled[size] = '\0';
  ReadableTypeName(mangled, name, sizeof name);
  errno = saved_errno;
  if (!site->names.empty() && !trace::MatchesGlob(site->names, name)) return;
  probe::HitDetails details;
  details.thrown_type = name;
  details.thrown_object = entry.int_args[0];
  NativeHit hit = HitOf(entry, PlaceKind::kThrow);
  hit.details = &details;
  hit.from = CallerOf(entry);
  RunHit(*site, hit);
}

template <SiteRole kRole>
void OnAllocated(const ProbeReturn& returned, void* user_data) {
  const ActiveSite site(user_data);
  if (!site || returned.left_by_exception) return;
  const uint64_t* args = returned.int_args;
  probe::HitDetails details;
  details.address = returned.result[0];
  details.bytes = args[0];
  if (kRole == SiteRole::kAllocateArray) details.bytes = args[0] * args[1];
  if (kRole == SiteRole::kReallocate || kRole == SiteRole::kAllocateAligned) details.bytes = args[1];
  if (kRole == SiteRole::kAllocateInto) {
    details.bytes = args[2];
    if (static_cast<int32_t>(returned.result[0]) != 0 ||
        ProbeHitServices().read(probe::Hit{}, args[0], &details.address, sizeof details.address) !=
            sizeof details.address)
      details.address = 0;
  }
  if (details.address == 0 || returned.entered_ticks < t_allocation_ticks) return;
  t_allocation_ticks = returned.entered_ticks;
  NativeHit hit = HitOf(returned, PlaceKind::kAlloc);
  hit.details = &details;
  RunHit(*site, hit);
}

// Of a mutex; locks for writers have 0 at that place.
bool IsRecursive([[maybe_unused]] uint64_t lock) {
#ifdef __GLIBC__
  constexpr int kTypeBits = 3;
  return (reinterpret_cast<const pthread_mutex_t*>(lock)->__data.__kind & kTypeBits) ==
         PTHREAD_MUTEX_RECURSIVE_NP;
#else
  return true;
#endif
}

void OnLocked(const ProbeReturn& returned, void* user_data) {
  const ActiveSite site(user_data);
  if (!site || returned.left_by_exception || static_cast<int32_t>(returned.result[0]) != 0) return;
  const uint64_t lock = returned.int_args[0];
  site->locks->Take(
      lock, OwnTid(), IsRecursive(lock),
      {.since_ticks = returned.left_ticks, .waited_ticks = returned.left_ticks - returned.entered_ticks});
}

void RunUnlocked(const SiteState& site, const ProbeEntry& entry, uint64_t lock) {
  HeldLocks::Held held;
  if (!site.locks->LetGo(lock, OwnTid(), &held)) return;
  probe::HitDetails details;
  details.address = lock;
  details.waited_ns = ToNs(site, held.waited_ticks);
  NativeHit hit = HitOf(entry, PlaceKind::kLock);
  hit.now_ticks = base::ReadTicks();
  details.held_ns = ToNs(site, hit.now_ticks - held.since_ticks);
  hit.details = &details;
  hit.from = CallerOf(entry);
  RunHit(site, hit);
}

void OnUnlock(const ProbeEntry& entry, void* user_data) {
  if (const ActiveSite site(user_data); site) RunUnlocked(*site, entry, entry.int_args[0]);
}

// pthread_cond_wait(condition, lock) lets the lock go and takes it again.
void OnWaitBegin(const ProbeEntry& entry, void* user_data) {
  if (const ActiveSite site(user_data); site) RunUnlocked(*site, entry, entry.int_args[1]);
}
void OnWaitEnd(const ProbeReturn& returned, void* user_data) {
  const ActiveSite site(user_data);
  if (site && !returned.left_by_exception)
    site->locks->Take(returned.int_args[1], OwnTid(), IsRecursive(returned.int_args[1]),
                      {.since_ticks = returned.left_ticks, .waited_ticks = 0});
}

void OnTransferred(const ProbeReturn& returned, void* user_data) {
  const ActiveSite site(user_data);
  if (!site || returned.left_by_exception) return;
  const auto bytes = static_cast<int64_t>(returned.result[0]);
  probe::HitDetails details;
  details.descriptor = static_cast<int32_t>(returned.int_args[0]);
  details.bytes = bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
  details.waited_ns = ToNs(*site, returned.left_ticks - returned.entered_ticks);
  details.operation = site->operation.c_str();
  NativeHit hit = HitOf(returned, PlaceKind::kIo);
  hit.details = &details;
  RunHit(*site, hit);
}

// exit() calls _exit() at its end: all probes are hit at the one that comes first.
std::atomic<uint64_t> g_exit_function{0};

bool IsFirstExit(uint64_t function) {
  uint64_t first = 0;
  return g_exit_function.compare_exchange_strong(first, function) || first == function;
}

void OnExit(const ProbeEntry& entry, void* user_data) {
  const ActiveSite site(user_data);
  const pid_t probed = g_probed_process.load(std::memory_order_relaxed);  // set before the first hit
  if (!site || (probed != 0 && probed != getpid())) return;
  probe::HitDetails details;
  details.status = static_cast<int32_t>(entry.int_args[0]);
  NativeHit hit = HitOf(entry, PlaceKind::kExit);
  hit.details = &details;
  if (IsFirstExit(entry.function)) RunHit(*site, hit);
  if (void (*before_exit)() = g_before_exit.load(std::memory_order_acquire)) before_exit();
}

constexpr ProbeHandlers kEntry{.on_entry = OnEntry<false>, .registers = kRegisters, .needs_room = true};
constexpr ProbeHandlers kVectorEntry{
    .on_entry = OnEntry<true>, .wants_vectors = true, .registers = kRegisters, .needs_room = true};
constexpr ProbeHandlers kThrow{.on_entry = OnThrow};
constexpr ProbeHandlers KeepingArguments(ProbeHandlers handlers) {
  handlers.keeps_args = true;
  handlers.registers = kRegisters;
  handlers.needs_room = true;
  return handlers;
}
template <SiteRole kRole>
constexpr ProbeHandlers kAllocate = KeepingArguments({.on_return = OnAllocated<kRole>});
constexpr ProbeHandlers kLock = KeepingArguments({.on_return = OnLocked});
constexpr ProbeHandlers kUnlock{.on_entry = OnUnlock, .registers = kRegisters, .needs_room = true};
constexpr ProbeHandlers kWait = KeepingArguments({.on_entry = OnWaitBegin, .on_return = OnWaitEnd});
constexpr ProbeHandlers kTransfer = KeepingArguments({.on_return = OnTransferred});
constexpr ProbeHandlers kNote{.on_entry = OnNote, .registers = kRegisters, .needs_room = true};
constexpr ProbeHandlers kExit{.on_entry = OnExit};
template <bool kTakesReturns, bool kTakesErrors, bool kWantsVectors>
constexpr ProbeHandlers kReturn{.on_return = OnReturn<kTakesReturns, kTakesErrors>,
                                .wants_vectors = kWantsVectors,
                                .registers = kRegisters,
                                .needs_room = true};
// By what they need: nothing more, arguments, vectors, both.
template <bool kTakesReturns, bool kTakesErrors>
constexpr ProbeHandlers kReturns[4] = {kReturn<kTakesReturns, kTakesErrors, false>,
                                       KeepingArguments(kReturn<kTakesReturns, kTakesErrors, false>),
                                       kReturn<kTakesReturns, kTakesErrors, true>,
                                       KeepingArguments(kReturn<kTakesReturns, kTakesErrors, true>)};

const ProbeHandlers* FunctionHandlers(const probe::VerifiedProbe& probe, std::string* why) {
  const uint32_t needs = probe.needs();
  const PlaceKind kind = probe.place().kind;
  if (kind == PlaceKind::kEntry || kind == PlaceKind::kCall)
    return (needs & probe::kNeedsFloatArguments) != 0 ? &kVectorEntry : &kEntry;
  if ((needs & (probe::kNeedsFloatArguments | probe::kNeedsStackArguments)) != 0) {
    *why = "its floating-point arguments and those on the stack are known at @entry only";
    return nullptr;
  }
  const auto reads_exception = [](const probe::Operation& each) {
    const auto value = static_cast<probe::HitValue>(each.number);
    return (each.code == probe::OperationCode::kReadText && value == probe::HitValue::kThrownType) ||
           (each.code == probe::OperationCode::kReadValue && value == probe::HitValue::kThrownObject);
  };
  if (std::ranges::any_of(probe.operations(), reads_exception)) {
    *why = "the type and the address of an exception are known at throw only";
    return nullptr;
  }
  const size_t variant =
      ((needs & probe::kNeedsIntArguments) != 0 ? 1 : 0) + ((needs & probe::kNeedsReturned) != 0 ? 2 : 0);
  switch (kind) {
    case PlaceKind::kReturn:
      return &kReturns<true, false>[variant];
    case PlaceKind::kError:
      return &kReturns<false, true>[variant];
    case PlaceKind::kDuration:
      return &kReturns<true, true>[variant];
    default:
      *why = "it is at no function";
      return nullptr;
  }
}

// By the table; several rows have one role.
PlaceKind PlaceOf(SiteRole role) {
  if (role == SiteRole::kNote) return PlaceKind::kUsdt;
#define SITE_ROLE(place, function, its_role, module) \
  if (role == SiteRole::k##its_role) return PlaceKind::k##place;
#include "sdk/probe/site_roles.def"
  return PlaceKind::kEntry;
}

}  // namespace

uint32_t OwnTid() {
  if (t_tid == 0) t_tid = static_cast<uint32_t>(base::CallKernel(SYS_gettid));
  return t_tid;
}

void RunHit(const SiteState& site, const NativeHit& hit) { probe::RunProbe(*site.probe, hit, site.state); }

const ProbeHandlers* HandlersFor(SiteRole role, const probe::VerifiedProbe& probe, std::string* why) {
  if (role == SiteRole::kFunction) return FunctionHandlers(probe, why);
  if (PlaceOf(role) != probe.place().kind) {
    *why = "it is not of this place";
    return nullptr;
  }
  switch (role) {
    case SiteRole::kThrow:
      return &kThrow;
    case SiteRole::kAllocate:
      return &kAllocate<SiteRole::kAllocate>;
    case SiteRole::kAllocateArray:
      return &kAllocate<SiteRole::kAllocateArray>;
    case SiteRole::kReallocate:
      return &kAllocate<SiteRole::kReallocate>;
    case SiteRole::kAllocateAligned:
      return &kAllocate<SiteRole::kAllocateAligned>;
    case SiteRole::kAllocateInto:
      return &kAllocate<SiteRole::kAllocateInto>;
    case SiteRole::kLock:
    case SiteRole::kTryLock:
      return &kLock;
    case SiteRole::kUnlock:
      return &kUnlock;
    case SiteRole::kWaitUnlocked:
      return &kWait;
    case SiteRole::kTransfer:
      return &kTransfer;
    case SiteRole::kExit:
      return &kExit;
    case SiteRole::kNote:
      return &kNote;
    case SiteRole::kFunction:
    case SiteRole::kJavaMethod:
      break;
  }
  return nullptr;
}

}  // namespace lagwatch::sdk

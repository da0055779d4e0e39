// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <csignal>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "base/process/own_memory.h"
#include "base/system/process.h"
#include "stack/capture_signal_owner.h"
#include "stack/signal/kernel_calls.h"
#include "stack/signal_stacks.h"
#include "stack/thread_block_layout.h"

namespace lagwatch::stack {
namespace {

// Discounts all of this, and the slots except for the handler's part.
constinit std::mutex g_owner_mutex;
bool g_is_taken[CaptureSlots::kMaxSlots];
uint32_t g_capturer_count = 0;
// The number, and whether calls restart in the bit above.
constexpr uint32_t kRestartsCalls = 1 << 8;
std::atomic<uint32_t> g_signal{0};
std::atomic<bool> g_is_lost{false};  // no signal has our handler
std::atomic<SignalSet> g_read_signals{0};

// On pages of its own. Null when there is no memory.
CaptureSlot* CreateSlot() {
  void* pages = base::MapUnlocked(sizeof(CaptureSlot));
  if (pages == nullptr) return nullptr;
  madvise(pages, sizeof(CaptureSlot), MADV_NOHUGEPAGE);  // a huge page would make all of it resident at once
  base::WipeInForks(pages, sizeof(CaptureSlot));  // zeros are an idle slot, in which no process may answer
  return new (pages) CaptureSlot;
}

// Null when all are taken, or there is no memory.
CaptureSlot* TakeSlot() {
  uint32_t index = 0;
  while (index < CaptureSlots::kMaxSlots && g_is_taken[index]) ++index;
  if (index == CaptureSlots::kMaxSlots) return nullptr;
  CaptureSlot* slot = g_capture_slots.slots[index].load();
  if (slot == nullptr) {
    slot = CreateSlot();
    if (slot == nullptr) return nullptr;
    g_capture_slots.slots[index].store(slot);
  }
  // Also of a slot that was there before a fork: this is a child, which found it wiped. Touched as far as
  // stacks usually are, so that the handler takes no page fault; the rest costs nothing until a stack is that
  // deep.
  slot->index = index;
  std::memset(slot->stack.bytes, 0, kUsualRawStackBytes);
  g_is_taken[index] = true;
  return slot;
}

bool HasHandler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == HandleCaptureSignal;
}

// The application's own signals are to work as before.
struct sigaction ActionOnTopOf(const struct sigaction& previous) {
  struct sigaction action {};
  // All, the C library's own signals, too, which it would not let be added: an interrupted call must not be
  // made again while another signal waits for its handler.
  const SignalSet mask = ~kFaultSignals;
  std::memcpy(&action.sa_mask, &mask, sizeof mask);
  action.sa_sigaction = HandleCaptureSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  if (HasHandler(previous)) {
    action.sa_flags = SA_SIGINFO | (previous.sa_flags & (SA_RESTART | SA_ONSTACK | SA_NODEFER));
    action.sa_mask = previous.sa_mask;
  }
  return action;
}

bool IsUnused(int signal_number) {
  struct sigaction current {};
  return base::SetSignalAction(signal_number, nullptr, &current) == 0 && !HasHandler(current) &&
         current.sa_handler == SIG_DFL;
}

// From the upper end, because applications take SIGRTMIN and up.
int ChooseUnusedSignal() {
  for (int candidate = SIGRTMAX - 1; candidate >= SIGRTMIN; --candidate) {
    if (IsUnused(candidate)) return candidate;
  }
  return 0;
}

// The signal's previous action, if our handler was ever installed on top of it; else null.
PreviousAction* FindPrevious(int signal_number) {
  CaptureSlots& slots = g_capture_slots;
  uint32_t count = slots.previous_count.load(std::memory_order_relaxed);  // written under our lock
  for (uint32_t i = 0; i < count; ++i) {
    if (slots.previous[i].signal_number == signal_number) return &slots.previous[i];
  }
  return nullptr;
}

// Installs our handler on top of the one `found` there. Returns false if that is impossible or forbidden: a
// handler that is itself on top of an earlier one of ours may call that, and they would call each other for
// ever. `found` may be our own handler, restored by a handler that had replaced it: then the one below it is
// still the same.
bool InstallHandler(int signal_number, const struct sigaction& found) {
  CaptureSlots& slots = g_capture_slots;
  PreviousAction* entry = FindPrevious(signal_number);
  if (IsOurs(found) && entry == nullptr) return false;
  const struct sigaction previous = IsOurs(found) ? entry->action : found;
  if (entry != nullptr && !entry->is_given_back && !IsOurs(found) && HasHandler(previous)) return false;
  uint32_t count = slots.previous_count.load(std::memory_order_relaxed);  // written under our lock
  if (entry == nullptr && count == CaptureSlots::kMaxSignals) return false;
  if (entry == nullptr) entry = &slots.previous[count++];
  entry->signal_number = signal_number;
  entry->is_given_back = false;
  entry->action = previous;
  slots.previous_count.store(count, std::memory_order_release);  // pairs with the handler
  const struct sigaction action = ActionOnTopOf(previous);
  struct sigaction replaced {};
  if (base::SetSignalAction(signal_number, &action, &replaced) != 0) return false;
  if (replaced.sa_handler == found.sa_handler) {
    const bool restarts_calls = (action.sa_flags & SA_RESTART) != 0;
    g_signal.store(static_cast<uint32_t>(signal_number) | (restarts_calls ? kRestartsCalls : 0));
    g_is_lost.store(false);
    return true;
  }
  base::SetSignalAction(signal_number, &replaced, nullptr);  // the program replaced it just now
  entry->is_given_back = true;
  return false;
}

base::Status InstallFirst(int wanted_number) {
  constexpr auto kUnavailable = base::StatusCode::kUnavailable;
  if (!g_capture_slots.thread_block.is_known()) g_capture_slots.thread_block = FindThreadBlockLayout();
  const int number = wanted_number != 0 ? wanted_number : ChooseUnusedSignal();
  if (number == 0) {  // captures go on without a signal
    g_is_lost.store(true);
    return base::Status();
  }
  struct sigaction found {};
  if (base::SetSignalAction(number, nullptr, &found) != 0) {
    return base::Status(base::StatusCode::kInvalid,
                        "there is no signal " + std::to_string(number) + " to capture with");
  }
  if (InstallHandler(number, found)) return base::Status();
  return base::Status(kUnavailable,
                      "cannot install the handler of signal " + std::to_string(number) + " to capture with");
}

void ReleaseSignals() {
  uint32_t count = g_capture_slots.previous_count.load(std::memory_order_relaxed);  // written under our lock
  for (uint32_t i = 0; i < count; ++i) {
    PreviousAction& previous = g_capture_slots.previous[i];
    struct sigaction current {};
    if (base::SetSignalAction(previous.signal_number, nullptr, &current) != 0 || !IsOurs(current)) continue;
    // Ignoring a signal discards those under way to any thread (POSIX, sigaction); only then is the default
    // safe, which would end the process, or a handler that does not expect ours.
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    base::SetSignalAction(previous.signal_number, &ignore, nullptr);
    base::SetSignalAction(previous.signal_number, &previous.action, nullptr);
    previous.is_given_back = true;
  }
  g_signal.store(0);
}

}  // namespace

base::Result<CaptureSlot*> CaptureSignalOwner::Join(int wanted_number) {
  constexpr auto kUnavailable = base::StatusCode::kUnavailable;
  SignalStacks::NoteOwn();
  std::lock_guard lock(g_owner_mutex);
  const bool is_first = g_capturer_count == 0;
  if (!is_first && wanted_number != 0 && wanted_number != signal().number) {
    return base::Status(kUnavailable, "there are captures with signal " + std::to_string(signal().number));
  }
  CaptureSlot* slot = TakeSlot();
  if (slot == nullptr) return base::Status(kUnavailable, "no room for another capturer, or no memory");
  if (base::Status status = is_first ? InstallFirst(wanted_number) : base::Status(); !status.ok()) {
    g_is_taken[slot->index] = false;
    return status;
  }
  ++g_capturer_count;
  return slot;
}

void CaptureSignalOwner::Leave(CaptureSlot* slot) {
  std::lock_guard lock(g_owner_mutex);
  if (--g_capturer_count == 0) ReleaseSignals();
  g_is_taken[slot->index] = false;
}

void CaptureSignalOwner::AbandonInForkedChild() {
  new (&g_owner_mutex) std::mutex;  // a thread that stayed in the parent may have held it
  ReleaseSignals();
  g_capturer_count = 0;
  SignalStacks::ForgetInForkedChild();
  for (uint32_t i = 0; i < CaptureSlots::kMaxSlots; ++i) {
    g_is_taken[i] = false;
    CaptureSlot* slot = g_capture_slots.slots[i].load();
    if (slot == nullptr) continue;
    // The parent may have been in the middle of a capture.
    const uint64_t request = slot->request.load();
    const uint64_t idle = CaptureSlot::Request(CaptureSlot::TicketOf(request), CaptureSlot::kIdle);
    if (request != idle) slot->request.store(idle);
  }
}

CaptureSignalOwner::Signal CaptureSignalOwner::signal() {
  uint32_t word = g_signal.load();
  return {static_cast<int>(word & (kRestartsCalls - 1)), (word & kRestartsCalls) != 0};
}

bool CaptureSignalOwner::Owns(int signal_number) {
  struct sigaction current {};
  return signal_number != 0 && base::SetSignalAction(signal_number, nullptr, &current) == 0 &&
         IsOurs(current);
}

void CaptureSignalOwner::NoteRead(const sigset_t& signals) {
  SignalSet set;
  __builtin_memcpy(&set, &signals, sizeof set);
  g_read_signals.fetch_or(set);
}

bool CaptureSignalOwner::IsRead(int signal_number) {
  return (g_read_signals.load() >> (signal_number - 1) & 1) != 0;
}

CaptureSignalOwner::Kept CaptureSignalOwner::Keep() {
  if (Owns(signal().number)) {
    if (g_is_lost.load()) g_is_lost.store(false);
    return {false, false, true};
  }
  std::lock_guard lock(g_owner_mutex);
  if (Owns(signal().number)) return {false, false, true};  // another capturer was first
  const bool was_lost = !g_is_lost.exchange(true);
  const int other = ChooseUnusedSignal();
  struct sigaction found {};
  const bool is_moved =
      other != 0 && base::SetSignalAction(other, nullptr, &found) == 0 && InstallHandler(other, found);
  return {was_lost, is_moved, is_moved};
}

}  // namespace lagwatch::stack

// SPDX-License-Identifier: Apache-2.0
// A backend of PostgreSQL. It sleeps in an epoll for a signal, whatever it waits for: what that is, and which
// other backend has the lock, is in the server's shared memory. Source: proc.h, lock.h and wait_event.h of
// PostgreSQL 15, on 64-bit systems; all is checked, so other versions' data are taken for none.
#include <array>

#include "stack/interpreters/bytes.h"
#include "stack/interpreters/found_interpreter.h"

namespace lagwatch::stack {
namespace postgres {
namespace {

struct FoundPostgres {
  // Places of the addresses of the backend's own entry in the table of processes, and of its wait.
  uint64_t own_entry;
  uint64_t wait_event;
};

// In an entry of the table of processes.
constexpr size_t kPid = 64;
constexpr size_t kWaitLock = 112;
constexpr size_t kWaitMode = 128;
constexpr size_t kEntryBytes = 132;

// In a lock: its tag's last byte says by which method it is locked, and the list is of those that hold it or
// wait for it.
constexpr size_t kMethod = 15;
constexpr size_t kWaitMask = 20;
constexpr size_t kFirstHolder = 32;
constexpr size_t kLockBytes = 40;
constexpr uint64_t kListHead = 24;

// In one of these.
constexpr size_t kLockOfHolder = 0;
constexpr size_t kEntryOfHolder = 8;
constexpr size_t kHeldMask = 24;
constexpr size_t kLinks = 32;
constexpr size_t kNext = 40;
constexpr size_t kHolderBytes = 48;

// The modes, as bits, that each mode is in conflict with.
constexpr std::array<uint32_t, 9> kConflicts = {0, 0x100, 0x180, 0x1e0, 0x1f0, 0x1d8, 0x1f8, 0x1fc, 0x1fe};

class Postgres final : public FoundInterpreter<FoundPostgres> {
 public:
  using FoundInterpreter::FoundInterpreter;

  void LookAt(const LoadedModule& loaded, CodeMap*) override {
    if (found() != nullptr || loaded.exports.Find("ProcSleep") == 0) return;
    const uint64_t own_entry = loaded.exports.Find("MyProc");
    const uint64_t wait_event = loaded.exports.Find("my_wait_event_info");
    if (own_entry == 0 || wait_event == 0) return;
    Find([&](FoundPostgres* found) {
      *found = {.own_entry = own_entry, .wait_event = wait_event};
      return true;
    });
  }

  void AddTo(const CapturedThread&, CodeMap*, Stack*) override {}

  policies::Doing FindWait(int tid, const FutexWait&, CodeMap*) override {
    using policies::Doing;
    constexpr uint32_t kLock = 3;
    constexpr uint32_t kTimeout = 9;
    Entry entry;
    if (!ReadEntry(tid, &entry)) return Doing::kUnknown;
    const uint32_t kind = WaitClass();
    return kind == kLock ? Doing::kLock : kind == kTimeout ? Doing::kSleep : Doing::kUnknown;
  }

  ScriptPeer FindPeer(int tid, const FutexWait&) override {
    Entry own;
    if (!ReadEntry(tid, &own)) return {};
    const auto address = MemberAt<uint64_t>(own.bytes, kWaitLock);
    const auto mode = MemberAt<uint32_t>(own.bytes, kWaitMode);
    std::array<uint8_t, kLockBytes> lock;
    if (address == 0 || mode == 0 || mode >= kConflicts.size() || !memory()->Read(address, &lock)) return {};
    constexpr uint8_t kMethods = 2;  // of the server itself, and of its users
    const bool is_awaited = lock[kMethod] != 0 && lock[kMethod] <= kMethods &&
                            (MemberAt<uint32_t>(lock, kWaitMask) >> mode & 1) != 0;
    const int32_t pid = is_awaited ? FindHolder(address, MemberAt<uint64_t>(lock, kFirstHolder), own.address,
                                                kConflicts[mode])
                                   : 0;
    return {.kind = pid == 0 ? policies::LockKind::kUnknown : policies::LockKind::kRwLock,
            .address = address,
            .pid = pid};
  }

 private:
  struct Entry {
    uint64_t address = 0;
    std::array<uint8_t, kEntryBytes> bytes;
  };
  // Of the backend whose only thread is `tid`.
  bool ReadEntry(int tid, Entry* entry) {
    return found() != nullptr && memory()->Read(found()->own_entry, &entry->address) &&
           memory()->Read(entry->address, &entry->bytes) && MemberAt<int32_t>(entry->bytes, kPid) == tid;
  }
  uint32_t WaitClass() {
    uint64_t address = 0;
    uint32_t event = 0;
    return memory()->Read(found()->wait_event, &address) && memory()->Read(address, &event) ? event >> 24 : 0;
  }
  // The process id of the first other backend that holds the lock in one of the modes of `mask`.
  int32_t FindHolder(uint64_t lock, uint64_t first, uint64_t own_entry, uint32_t mask) {
    constexpr int kMost = 1024;
    uint64_t links = first;
    for (int i = 0; i < kMost && links != lock + kListHead; ++i) {
      std::array<uint8_t, kHolderBytes> holder;
      if (!memory()->Read(links - kLinks, &holder) || MemberAt<uint64_t>(holder, kLockOfHolder) != lock)
        return 0;
      const auto entry = MemberAt<uint64_t>(holder, kEntryOfHolder);
      int32_t pid = 0;
      if (entry != own_entry && (MemberAt<uint32_t>(holder, kHeldMask) & mask) != 0 &&
          memory()->Read(entry + kPid, &pid) && pid > 0)
        return pid;
      links = MemberAt<uint64_t>(holder, kNext);
    }
    return 0;
  }
};

}  // namespace
}  // namespace postgres

std::unique_ptr<Interpreter> CreatePostgres(Memory* memory) {
  return std::make_unique<postgres::Postgres>(memory);
}

}  // namespace lagwatch::stack

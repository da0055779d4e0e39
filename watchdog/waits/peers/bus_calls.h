// SPDX-License-Identifier: Apache-2.0
// The last calls of D-Bus methods that this process has sent. The kernel knows only the bus at the other end
// of the socket; the service that should answer is named in the message (D-Bus Specification, "Message
// Protocol").
#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/process/process.h"
#include "stack/code/module_map.h"

namespace lagwatch::watchdog {

struct BusCall {
  int64_t mono_ns = 0;
  int32_t tid = 0;  // that sent it
  int32_t fd = 0;   // the socket, in that thread's table
  uint32_t serial = 0;
  char destination[96] = {};  // a longer one is not noted
  char member[64] = {};       // the method's name; cut
};

// Thread safety: any thread, at any time.
class BusCalls {
 public:
  // Whether a message that has been sent may be a call: by its first bytes, of which there are `size_bytes`.
  // Context: any, signal.
  static bool MayBeCall(const void* bytes, size_t size_bytes) {
    constexpr size_t kHeaderBytes = 16;
    if (size_bytes < kHeaderBytes) return false;
    unsigned char first[4];  // byte order, type, flags, version of the protocol
    std::memcpy(first, bytes, sizeof first);
    return (first[0] == 'l' || first[0] == 'B') && first[1] == 1 && first[3] == 1;
  }
  // The calling thread has sent the first `sent_bytes` of `pieces` over `fd`. Does nothing if they are no
  // call that is to be answered, or another thread notes one in the same place. Context: any, signal.
  void Note(int fd, const iovec* pieces, size_t count, size_t sent_bytes, int64_t now_ns);

  // The last call that thread `tid` sent. Context: watchdog.
  std::optional<BusCall> LastOf(int32_t tid) const;
  // The last call that a thread of GDBus's or QtDBus's in `process` sent for others, at `since_ns` or later.
  // Context: watchdog.
  std::optional<BusCall> LastOfWorkers(const base::Process& process, int64_t since_ns) const;

  // Becomes a copy of those that are at `address` of another process with this very program or library. False
  // if they cannot be read, or change meanwhile. Context: watchdog.
  bool CopyFrom(const base::Process& process, uint64_t address);

 private:
  static constexpr size_t kCalls = 16;

  struct Slot {
    std::atomic<uint32_t> version{0};  // odd while it is written
    BusCall call;
  };

  std::optional<BusCall> Read(uint32_t number) const;

  std::array<Slot, kCalls> slots_;
  std::atomic<uint32_t> count_{0};
};

// Those of this process; never destroyed.
BusCalls& ProcessBusCalls();

// The address of the ProcessBusCalls() of another process, which is watched by the same build of lagwatch:
// then it is as far from the begin of the module as here. 0 where it is not. `own` and `others` are the
// modules of both. Context: watchdog.
uint64_t FindBusCalls(const stack::ModuleMap& own, const stack::ModuleMap& others);

}  // namespace lagwatch::watchdog

// SPDX-License-Identifier: Apache-2.0
// Notices that a program is late with its notification to the service manager, before that ends the program.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "watchdog/service/service_manager.h"

namespace lagwatch::watchdog {

// A notification is late after this part of the manager's time. Programs send two in that time, as
// sd_watchdog_enabled(3) advises.
inline constexpr int64_t kLatePercent = 75;

// Thread safety: NoteMessage and Note from any thread, the others from the watchdog's.
class ServiceBeats {
 public:
  // Null when no manager waits for this process. Context: background.
  static std::unique_ptr<ServiceBeats> FromEnvironment();
  // Null when there is no memory. Context: background.
  static std::unique_ptr<ServiceBeats> For(const ServiceManager& manager);

  // Of this process, not of one that was forked from it.
  pid_t pid() const { return pid_; }
  // Whether a message is a "WATCHDOG=1" for the manager. `address` is the message's own; null: that of the
  // peer of socket `fd`, which is asked only if the text fits. Context: any, signal.
  bool IsBeat(int fd, const void* address, socklen_t address_bytes, const iovec* text, size_t count) const;
  // The calling thread has sent one. Context: any, signal.
  void Note(int64_t now_ns);

  struct Late {
    int64_t since_ns = 0;    // CLOCK_MONOTONIC, of the last notification
    int64_t timeout_ns = 0;  // the manager's
    int32_t tid = 0;         // that sent it
  };
  // The time at which the next one is late (CLOCK_MONOTONIC). There is none before the second one: some
  // programs begin to send them late.
  int64_t due_ns() const;
  // True, once for each, when one is late. Context: watchdog.
  bool TakeLate(int64_t now_ns, Late* late);

 private:
  ServiceBeats() = default;

  ServiceManager manager_;
  pid_t pid_ = 0;
  std::atomic<int64_t> last_ns_{0};
  std::atomic<int32_t> last_tid_{0};
  std::atomic<uint32_t> count_{0};
  int64_t reported_ns_ = 0;  // the last one before the last dump
};

}  // namespace lagwatch::watchdog

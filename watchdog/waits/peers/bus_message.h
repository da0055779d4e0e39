// SPDX-License-Identifier: Apache-2.0
// Messages of D-Bus: the fields of their headers, and the question which process has a name. D-Bus
// Specification, "Message Protocol", "Authentication Protocol" and "Message Bus Messages".
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace lagwatch::watchdog {

struct BusHeader {
  static constexpr uint8_t kCall = 1;
  static constexpr uint8_t kReturn = 2;
  static constexpr uint8_t kError = 3;

  uint8_t type = 0;
  bool is_answered = false;  // the sender wants an answer
  bool is_swapped = false;   // in the other byte order than this machine's
  uint32_t serial = 0;
  uint32_t reply_serial = 0;  // of the call that it answers; 0: none
  uint32_t body_begin = 0;
  uint32_t body_bytes = 0;
  std::string_view destination;  // within the message; may be empty, as the next
  std::string_view member;

  // Of a message, or of its first bytes. None where they are no message's, or fields are missing.
  // Context: any, signal.
  static std::optional<BusHeader> Parse(std::string_view bytes);
};

// The process that has `name` at the bus with the address, by the bus's own answer over a connection of this
// moment. 0 where none has it, or the bus does not answer within `wait_ns`. Context: watchdog.
int32_t AskBusForProcess(const sockaddr* address, socklen_t address_bytes, std::string_view name,
                         int64_t wait_ns);

}  // namespace lagwatch::watchdog

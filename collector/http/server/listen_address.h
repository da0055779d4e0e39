// SPDX-License-Identifier: Apache-2.0
// Parses a listening address: "127.0.0.1:8790" or "[::1]:8790". Context: background; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::collector {

struct ListenAddress {
  std::string ip;     // without brackets
  uint16_t port = 0;  // 0: any free one

  // Errors: kInvalid. Names of hosts are not looked up.
  static base::Result<ListenAddress> Parse(std::string_view text);
  std::string ToText() const;
  bool IsLoopback() const { return ip.starts_with("127.") || ip == "::1"; }
};

}  // namespace lagwatch::collector

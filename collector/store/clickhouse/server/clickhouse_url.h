// SPDX-License-Identifier: Apache-2.0
// The address of a ClickHouse:
// clickhouse://USER:PASSWORD@HOST:PORT[,HOST:PORT…]/DATABASE?cluster=NAME. Context: background.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::collector {

inline constexpr std::string_view kClickHouseScheme = "clickhouse://";

struct ClickHouseUrl {
  std::string user = "default";
  std::string password;
  std::vector<std::string> nodes;  // HOST:PORT of their HTTP interfaces; a cluster's: all of them
  std::string database = "lagwatch";
  std::string cluster;  // as the servers' configuration names it; empty: one server by itself

  // Parts that are left out stay as above; the port is 8123 then. User and password may be percent-encoded.
  // Errors: kInvalid; the message does not hold the password.
  static base::Result<ClickHouseUrl> Parse(std::string_view url);
};

}  // namespace lagwatch::collector

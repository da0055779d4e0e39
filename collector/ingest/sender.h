// SPDX-License-Identifier: Apache-2.0
// The sender of a batch, as far as the collector knows it: users' names are made by senders. Context:
// background; pure.
#pragma once

#include <string>

namespace lagwatch::collector {

struct Sender {
  std::string key = {};      // the name of the key that brings it; empty: not known
  std::string address = {};  // of 4 bytes, or the /64 of IPv6; empty: not known, all share one

  std::string network = {};  // that the address is in, which one stranger may have as a whole; likewise
};

}  // namespace lagwatch::collector

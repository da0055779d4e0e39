// SPDX-License-Identifier: Apache-2.0
// Identifies the peer that a connection is counted for. Context: background; pure.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <string>

namespace lagwatch::collector {

// An IPv4 address, or the /64 that an IPv6 address lies in: one site has all of that.
inline std::string PeerOf(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  const auto text = [](const auto& bytes, size_t size) {
    return std::string(bytes.begin(), bytes.begin() + size);
  };
  if (address.is_v4()) return text(address.to_v4().to_bytes(), 4);
  if (address.to_v6().is_v4_mapped())
    return text(ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_bytes(), 4);
  return text(address.to_v6().to_bytes(), 8);
}

}  // namespace lagwatch::collector

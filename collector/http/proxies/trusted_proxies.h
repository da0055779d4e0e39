// SPDX-License-Identifier: Apache-2.0
// The address of a client behind proxies: as those say it that the operator trusts, and no others.
// Context: background; pure.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::collector {

class TrustedProxies {
 public:
  // `texts` are addresses, or networks such as "10.0.0.0/8". Errors: kInvalid.
  static base::Result<TrustedProxies> Parse(const std::vector<std::string>& texts);

  bool empty() const { return networks_.empty(); }
  bool Contains(const boost::asio::ip::address& address) const;

 private:
  struct Network {
    boost::asio::ip::address_v6 address;  // of IPv4: mapped to IPv6
    int bits = 128;
  };
  std::vector<Network> networks_;
};

// The rightmost address of the headers that is not a trusted proxy's; `proxy`, the connection's own, when
// they have none, have an unreadable one before that, or contradict each other. `forwarded_for` is
// X-Forwarded-For and `forwarded` RFC 7239's header, each with all its lines joined by commas.
boost::asio::ip::address ClientAddress(const TrustedProxies& trusted, const boost::asio::ip::address& proxy,
                                       std::string_view forwarded_for, std::string_view forwarded);

// The peer that an address is counted for: an IPv4 address, or the /64 that an IPv6 address lies in, because
// one site has all of that.
std::string PeerOf(const boost::asio::ip::address& address);

}  // namespace lagwatch::collector

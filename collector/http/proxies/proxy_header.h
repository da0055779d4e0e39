// SPDX-License-Identifier: Apache-2.0
// The header of the PROXY protocol, versions 1 and 2, with which a proxy begins a connection
// (https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt). Context: background; pure.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <optional>
#include <string_view>

namespace lagwatch::collector {

// Bytes that are read before it is known how many there are: no header is shorter than "PROXY UNKNOWN\r\n".
inline constexpr size_t kProxyHeaderStart = 15;
inline constexpr size_t kMostProxyHeader = 16 + 2048;

// Number of bytes to read next, given those so far, kProxyHeaderStart at least; 0: it is whole. Nothing when
// it is no such header.
std::optional<size_t> ProxyHeaderMissing(std::string_view bytes);

// The client's address of a whole header; nothing when the proxy names none (its own request, or another
// kind of address).
std::optional<boost::asio::ip::address> ProxyHeaderClient(std::string_view header);

}  // namespace lagwatch::collector

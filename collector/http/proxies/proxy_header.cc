// SPDX-License-Identifier: Apache-2.0
#include "collector/http/proxies/proxy_header.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace lagwatch::collector {
namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);  // of version 2
constexpr std::string_view kWord = "PROXY ";                        // … 1
constexpr size_t kMostLine = 107;
constexpr size_t kFixedBytes = 16;  // of version 2

size_t LengthIn(std::string_view header) {
  return static_cast<size_t>(static_cast<uint8_t>(header[14])) << 8 | static_cast<uint8_t>(header[15]);
}

template <typename Address>
ip::address AddressAt(std::string_view header) {
  typename Address::bytes_type bytes;
  std::copy_n(header.begin() + kFixedBytes, bytes.size(), bytes.begin());
  return Address(bytes);
}

}  // namespace

std::optional<size_t> ProxyHeaderMissing(std::string_view bytes) {
  if (bytes.starts_with(kSignature)) {
    if (bytes.size() < kFixedBytes) return kFixedBytes - bytes.size();
    const size_t size = kFixedBytes + LengthIn(bytes);
    if ((static_cast<uint8_t>(bytes[12]) >> 4) != 2 || size > kMostProxyHeader) return std::nullopt;
    return size - std::min(size, bytes.size());
  }
  if (!bytes.starts_with(kWord) || bytes.size() > kMostLine) return std::nullopt;
  if (bytes.ends_with("\r\n")) return 0;
  // One by one: the request, or TLS, comes right after it.
  return bytes.find('\n') == bytes.npos ? std::optional<size_t>(1) : std::nullopt;
}

std::optional<ip::address> ProxyHeaderClient(std::string_view header) {
  if (header.starts_with(kSignature)) {
    const uint8_t command = static_cast<uint8_t>(header[12]) & 0x0f;
    const uint8_t family = static_cast<uint8_t>(header[13]) >> 4;
    if (command != 1) return std::nullopt;
    if (family == 1 && LengthIn(header) >= 12) return AddressAt<ip::address_v4>(header);
    if (family == 2 && LengthIn(header) >= 36) return AddressAt<ip::address_v6>(header);
    return std::nullopt;
  }
  // "PROXY TCP4 CLIENT SERVER PORT PORT"
  std::string_view rest = header.substr(kWord.size());
  const std::string_view family = rest.substr(0, rest.find(' '));
  if (family != "TCP4" && family != "TCP6") return std::nullopt;
  rest.remove_prefix(family.size() + 1);
  boost::system::error_code error;
  const ip::address address = ip::make_address(std::string(rest.substr(0, rest.find(' '))), error);
  return error ? std::nullopt : std::optional(address);
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "collector/http/proxies/trusted_proxies.h"

#include <strings.h>

#include <charconv>
#include <optional>

namespace lagwatch::collector {
namespace {

namespace ip = boost::asio::ip;

constexpr int kMappedBits = 96;  // of IPv4 in IPv6

ip::address_v6 AsV6(const ip::address& address) {
  return address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()) : address.to_v6();
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80"; nothing for names and what is hidden.
std::optional<ip::address> ParseAddress(std::string_view text) {
  if (text.starts_with('[')) {
    text = text.substr(1, text.find(']') - 1);
  } else if (const size_t colon = text.find(':'); colon != text.npos && colon == text.rfind(':')) {
    text = text.substr(0, colon);
  }
  boost::system::error_code error;
  ip::address address = ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return ip::make_address_v4(ip::v4_mapped, address.to_v6());
  return address;
}

// The value of "for" of an element of Forwarded; empty without one.
std::string_view ForOf(std::string_view element) {
  while (!element.empty()) {
    const size_t end = element.find(';');
    const std::string_view pair = Trimmed(element.substr(0, end));
    element = end == element.npos ? std::string_view() : element.substr(end + 1);
    if (pair.size() < 4 || strncasecmp(pair.data(), "for=", 4) != 0) continue;
    std::string_view value = pair.substr(4);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return value;
  }
  return {};
}

std::optional<ip::address> RightmostUntrusted(const TrustedProxies& trusted, std::string_view list,
                                              std::string_view (*value_of)(std::string_view)) {
  std::optional<ip::address> last;
  while (!list.empty()) {
    const size_t comma = list.rfind(',');
    const std::string_view element = comma == list.npos ? list : list.substr(comma + 1);
    list = comma == list.npos ? std::string_view() : list.substr(0, comma);
    const auto address = ParseAddress(value_of(Trimmed(element)));
    if (!address) return std::nullopt;
    last = address;
    if (!trusted.Contains(*address)) return last;
  }
  return last;  // a proxy's own request
}

}  // namespace

base::Result<TrustedProxies> TrustedProxies::Parse(const std::vector<std::string>& texts) {
  TrustedProxies proxies;
  for (const std::string& text : texts) {
    const size_t slash = text.find('/');
    boost::system::error_code error;
    const ip::address address = ip::make_address(text.substr(0, slash), error);
    const int most = address.is_v4() ? 32 : 128;
    int bits = most;
    if (slash != std::string::npos) {
      const char* end = text.data() + text.size();
      const auto read = std::from_chars(text.data() + slash + 1, end, bits);
      if (read.ec != std::errc() || read.ptr != end) bits = -1;
    }
    if (error || bits < 0 || bits > most) {
      return base::Status(
          base::StatusCode::kInvalid,
          "'" + text + "' is no address, such as 127.0.0.1, and no network, such as 10.0.0.0/8");
    }
    proxies.networks_.push_back({AsV6(address), address.is_v4() ? kMappedBits + bits : bits});
  }
  return proxies;
}

bool TrustedProxies::Contains(const ip::address& address) const {
  const auto bytes = AsV6(address).to_bytes();
  for (const Network& network : networks_) {
    const auto wanted = network.address.to_bytes();
    int bits = network.bits;
    bool is_in = true;
    for (size_t i = 0; i < bytes.size() && bits > 0 && is_in; ++i, bits -= 8) {
      const auto mask = static_cast<uint8_t>(bits >= 8 ? 0xff : 0xff << (8 - bits));
      is_in = ((bytes[i] ^ wanted[i]) & mask) == 0;
    }
    if (is_in) return true;
  }
  return false;
}

ip::address ClientAddress(const TrustedProxies& trusted, const ip::address& proxy,
                          std::string_view forwarded_for, std::string_view forwarded) {
  if (!trusted.Contains(proxy)) return proxy;
  const auto as_is = [](std::string_view element) { return element; };
  const auto by_for = RightmostUntrusted(trusted, forwarded_for, as_is);
  const auto by_forwarded = RightmostUntrusted(trusted, forwarded, &ForOf);
  if (forwarded.empty()) return by_for.value_or(proxy);
  if (forwarded_for.empty()) return by_forwarded.value_or(proxy);
  return by_for == by_forwarded ? by_for.value_or(proxy) : proxy;
}

std::string PeerOf(const ip::address& address) {
  const auto text = [](const auto& bytes, size_t size) {
    return std::string(bytes.begin(), bytes.begin() + size);
  };
  if (address.is_v4()) return text(address.to_v4().to_bytes(), 4);
  if (address.to_v6().is_v4_mapped())
    return text(ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_bytes(), 4);
  return text(address.to_v6().to_bytes(), 8);
}

}  // namespace lagwatch::collector

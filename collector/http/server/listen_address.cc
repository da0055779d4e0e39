// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>

#include <charconv>

#include "collector/http/server/http_server.h"

namespace lagwatch::collector {
namespace {

bool IsIp(const std::string& text, int family) {
  in6_addr address;
  return inet_pton(family, text.c_str(), &address) == 1;
}

}  // namespace

base::Result<ListenAddress> ListenAddress::Parse(std::string_view text) {
  base::Status invalid(
      base::StatusCode::kInvalid,
      "'" + std::string(text) +
          "' is not an address to listen on; write IP:PORT such as 127.0.0.1:8790 or [::1]:8790");
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return invalid;
  std::string_view host = text.substr(0, colon);
  bool is_bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);

  ListenAddress address{.ip = std::string(host)};
  const char* end = text.data() + text.size();
  auto [parsed, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || parsed != end || !IsIp(address.ip, is_bracketed ? AF_INET6 : AF_INET))
    return invalid;
  return address;
}

std::string ListenAddress::ToText() const {
  bool is_v6 = ip.find(':') != std::string::npos;
  return (is_v6 ? "[" + ip + "]" : ip) + ":" + std::to_string(port);
}

}  // namespace lagwatch::collector

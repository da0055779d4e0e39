// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/auth.h"

#include <algorithm>

namespace lagwatch::collector {
namespace {

// The value of "sentry_key=" in a list of assignments.
std::string_view KeyAmong(std::string_view list, std::string_view separators) {
  constexpr std::string_view kName = "sentry_key=";
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find_first_of(separators));
    if (entry.starts_with(kName)) return entry.substr(kName.size());
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
  }
  return {};
}

}  // namespace

std::string_view KeyOfSentryAuth(std::string_view header) { return KeyAmong(header, ", "); }

std::string_view KeyOfSentryQuery(std::string_view query) { return KeyAmong(query, "&"); }

std::string_view KeyOfDsn(std::string_view dsn) {
  const size_t scheme_end = dsn.find("://");
  if (scheme_end == std::string_view::npos) return {};
  std::string_view authority = dsn.substr(scheme_end + 3);
  authority = authority.substr(0, authority.find('/'));
  const size_t at = authority.find('@');
  if (at == std::string_view::npos) return {};
  const std::string_view user = authority.substr(0, at);
  return user.substr(0, user.find(':'));  // older DSNs have a secret there
}

}  // namespace lagwatch::collector

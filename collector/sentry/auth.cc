// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/auth.h"

#include <algorithm>
#include <utility>

#include "report/sentry/dsn.h"

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

std::string KeyOfDsn(std::string_view dsn) {
  auto parsed = report::ParseSentryDsn(dsn);
  return parsed.ok() ? std::move(parsed->key) : "";
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "report/sentry/dsn.h"

#include <algorithm>

namespace lagwatch::report {

base::Result<SentryDsn> ParseSentryDsn(std::string_view dsn) {
  const base::Status invalid(base::StatusCode::kInvalid,
                             "this is no DSN of Sentry: it has the form https://KEY@host/PROJECT");
  const size_t scheme_end = dsn.find("://");
  if (scheme_end == std::string_view::npos) return invalid;
  const size_t authority = scheme_end + 3;
  const size_t at = dsn.find('@', authority);
  const size_t path = dsn.find('/', authority);
  const size_t last_slash = dsn.rfind('/');
  if (at == std::string_view::npos || path == std::string_view::npos || at > path) return invalid;
  const std::string_view user = dsn.substr(authority, at - authority);
  SentryDsn parsed{.endpoint = std::string(dsn.substr(0, authority)),
                   .key = std::string(user.substr(0, user.find(':'))),
                   .project = std::string(dsn.substr(last_slash + 1))};
  parsed.endpoint += dsn.substr(at + 1, last_slash - at - 1);
  const bool is_project = !parsed.project.empty() && std::ranges::all_of(parsed.project, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
  if (parsed.key.empty() || path == at + 1 || !is_project) return invalid;
  return parsed;
}

}  // namespace lagwatch::report

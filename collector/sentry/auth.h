// SPDX-License-Identifier: Apache-2.0
// Finds the key of a DSN, http://KEY@host:port/PROJECT, in requests of Sentry's SDKs.
// Context: background; pure.
#pragma once

#include <string>
#include <string_view>

namespace lagwatch::collector {

// All are empty when there is no key; views borrow from the argument.
//
// Of the header "X-Sentry-Auth: Sentry sentry_version=7, sentry_key=KEY, sentry_client=…".
std::string_view KeyOfSentryAuth(std::string_view header);
// Of a URL's query, "sentry_version=7&sentry_key=KEY".
std::string_view KeyOfSentryQuery(std::string_view query);
std::string KeyOfDsn(std::string_view dsn);

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
// Sends hangs to a Sentry server, an event each, instead of batches to a collector. Context: background.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "report/upload/transport/http_client.h"
#include "report/upload/transport/transport.h"

namespace lagwatch::report {

// The scheme of an endpoint that is a DSN: "sentry:https://KEY@host/PROJECT".
inline constexpr std::string_view kSentryScheme = "sentry:";

// `options.endpoint` begins with kSentryScheme; its key is the DSN's. Refused, so that they are set aside and
// counted, are reports that are sealed or of no hang; ends of hangs add to the events of their batch, and all
// other records are dropped. A batch that is sent again has the same events. Errors: kInvalid.
base::Result<std::unique_ptr<Transport>> CreateSentryTransport(const HttpOptions& options);

}  // namespace lagwatch::report

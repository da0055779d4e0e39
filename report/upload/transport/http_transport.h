// SPDX-License-Identifier: Apache-2.0
// Transports over HTTP(S), and the source of the remote config. A client may be asked for other things in
// between, by the same thread. Context: background, as HttpClient.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "report/config/config_fetcher.h"
#include "report/upload/transport/http_client.h"
#include "report/upload/transport/transport.h"

namespace lagwatch::report {

// POST {endpoint}/v1/reports.
std::unique_ptr<Transport> CreateHttpTransport(std::shared_ptr<HttpClient> client);

// GET {endpoint}/v1/config.
std::unique_ptr<ConfigSource> CreateHttpConfigSource(std::shared_ptr<HttpClient> client,
                                                     const ConfigAudience& audience,
                                                     const std::string& app_version);

// The scheme of an endpoint that is a DSN: "sentry:https://KEY@host/PROJECT".
inline constexpr std::string_view kSentryScheme = "sentry:";

// Sends hangs to a Sentry server, an event each, instead of batches to a collector.
// `options.endpoint` begins with kSentryScheme; its key is the DSN's. Refused, so that they are set aside and
// counted, are reports that are sealed or of no hang; ends of hangs add to the events of their batch, and all
// other records are dropped. A batch that is sent again has the same events. Errors: kInvalid.
base::Result<std::unique_ptr<Transport>> CreateSentryTransport(const HttpOptions& options);

}  // namespace lagwatch::report

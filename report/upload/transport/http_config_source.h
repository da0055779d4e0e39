// SPDX-License-Identifier: Apache-2.0
// The remote config over HTTP(S): GET {endpoint}/v1/config. Context: background, as HttpClient.
#pragma once

#include <memory>
#include <string>

#include "report/config/config_fetcher.h"
#include "report/upload/transport/http_client.h"

namespace lagwatch::report {

// The client may be asked for other things in between, by the same thread.
std::unique_ptr<ConfigSource> CreateHttpConfigSource(std::shared_ptr<HttpClient> client,
                                                     const ConfigAudience& audience,
                                                     const std::string& app_version);

}  // namespace lagwatch::report

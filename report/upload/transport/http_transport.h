// SPDX-License-Identifier: Apache-2.0
// Transport over HTTP(S): POST {endpoint}/v1/reports. Context: background, as HttpClient.
#pragma once

#include <memory>

#include "base/status.h"
#include "report/upload/transport/http_client.h"
#include "report/upload/transport/transport.h"

namespace lagwatch::report {

// The client may be asked for other things in between, by the same thread.
std::unique_ptr<Transport> CreateHttpTransport(std::shared_ptr<HttpClient> client);

}  // namespace lagwatch::report

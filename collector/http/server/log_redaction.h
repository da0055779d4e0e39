// SPDX-License-Identifier: Apache-2.0
// Keeps keys out of the log, wherever a line has them from. Context: background; thread-safe.
#pragma once

#include <spdlog/formatter.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::collector {

// The line with keys of this collector's kind, the `secrets`, the user information of URLs
// (http://KEY@host/) and values of sentry_key replaced. Secrets of fewer than 4 bytes stay.
std::string Redacted(std::string_view line, const std::vector<std::string>& secrets);

// A formatter that redacts the lines of another one.
std::unique_ptr<spdlog::formatter> CreateRedactingFormatter(std::unique_ptr<spdlog::formatter> inner,
                                                            std::vector<std::string> secrets);

}  // namespace lagwatch::collector

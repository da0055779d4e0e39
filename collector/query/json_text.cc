// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json_text.h"

#include <cmath>

namespace lagwatch::collector {

std::string JsonText(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

double ToMs(double ns) { return std::round(ns / 1000) / 1000; }

}  // namespace lagwatch::collector

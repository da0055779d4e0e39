// SPDX-License-Identifier: Apache-2.0
// Requests and answers as Beast has them. Context: background; pure.
#pragma once

#include <boost/beast/http.hpp>
#include <optional>

#include "collector/http/request.h"

namespace lagwatch::collector {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;
using ResponseMessage = boost::beast::http::response<boost::beast::http::string_body>;

inline constexpr uint32_t kMaxHeadBytes = 8192;

// Borrows from the parser, whose head is complete.
RequestHead HeadOf(const RequestParser& parser);

// Why a head that Beast takes is none all the same: a proxy in front could see other requests in it than we
// do.
std::optional<Response> RefuseAmbiguous(const RequestParser& parser);

// The answer to what is no HTTP; nothing when `error` says only that none came, or not all.
std::optional<Response> RefuseMalformed(const boost::system::error_code& error);

ResponseMessage MessageOf(Response response, unsigned version, bool keep_alive);
// The head of an endless answer; what follows it ends with the connection.
boost::beast::http::response<boost::beast::http::empty_body> StreamHeadOf(const Response& response,
                                                                          unsigned version);

}  // namespace lagwatch::collector

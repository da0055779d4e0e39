// SPDX-License-Identifier: Apache-2.0
// Requests and answers as Beast has them. Context: background.
#pragma once

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "collector/http/proxies/trusted_proxies.h"
#include "collector/http/server/request.h"

namespace lagwatch::collector {

// A body in a string that grows as it is read. Beast's own string_body takes as much memory as the head's
// Content-Length announces.
struct GrowingBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool kIsRequest, typename Fields>
    reader(boost::beast::http::header<kIsRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      size_t size = 0;
      for (const boost::asio::const_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        size += buffer.size();
      }
      return size;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

using RequestParser = boost::beast::http::request_parser<GrowingBody>;
using ResponseMessage = boost::beast::http::response<boost::beast::http::string_body>;

inline constexpr uint32_t kMaxHeadBytes = 8192;

// Borrows from the parser, whose head is complete.
RequestHead HeadOf(const RequestParser& parser);

// Refuses ambiguous heads that Beast accepts: a proxy in front could see other requests in them than we do.
std::optional<Response> RefuseAmbiguous(const RequestParser& parser);

// The client's address, as a trusted proxy says it in the head; `proxy` if it says none.
boost::asio::ip::address ClientOf(const RequestParser& parser, const TrustedProxies& trusted,
                                  const boost::asio::ip::address& proxy);

// The answer to malformed HTTP; nothing if `error` says only that no request came, or not all of it.
std::optional<Response> RefuseMalformed(const boost::system::error_code& error);

ResponseMessage MessageOf(Response response, unsigned version, bool keep_alive);
// The head of an endless answer, which ends with the connection.
boost::beast::http::response<boost::beast::http::empty_body> StreamHeadOf(const Response& response,
                                                                          unsigned version);

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
// Any bytes as a request: through the parser, the router and the collector's endpoints, as a
// connection takes them.
#include <boost/asio/buffer.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "collector/http/endpoints.h"
#include "collector/http/server/message.h"
#include "collector/http/server/router.h"
#include "collector/query/query_api.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/fuzz/seeds.h"

namespace lagwatch::collector {
namespace {

struct Collector {
  std::unique_ptr<Store> store = std::move(SqliteStore::Open(":memory:").value());
  Ingest ingest{store.get(), Clusterer::Create("").value()};
  QueryApi query_api{store.get(), Clusterer::Create("")->rules()};
  KeyRing keys{{{"k", Access::kAdmin}}};
  Metrics metrics;
  Router router{CollectorEndpoints(
                    {.ingest = &ingest, .query_api = &query_api, .keys = &keys, .metrics = &metrics}, {}),
                &keys};
};

void Answer(const Router& router, RequestParser* parser, std::string_view rest) {
  auto admission = router.Admit(HeadOf(*parser));
  if (auto* refusal = std::get_if<Response>(&admission)) {
    MessageOf(std::move(*refusal), parser->get().version(), false);
    return;
  }
  auto& admitted = std::get<Admitted>(admission);
  boost::system::error_code error;
  parser->body_limit(admitted.endpoint->body_limit);
  parser->eager(true);
  if (!parser->is_done()) parser->put(boost::asio::buffer(rest.data(), rest.size()), error);
  if (error || !parser->is_done()) return;
  admitted.request.body = std::move(parser->get().body());
  Router::Handle(*admitted.endpoint, std::move(admitted.request),
                 [&](Response response) { MessageOf(std::move(response), parser->get().version(), true); });
}

void Take(std::string_view input) {
  static const Collector& collector = *new Collector;
  RequestParser parser;
  parser.header_limit(kMaxHeadBytes);
  parser.body_limit(UINT64_MAX);
  boost::system::error_code error;
  const size_t used = parser.put(boost::asio::buffer(input.data(), input.size()), error);
  if (error) RefuseMalformed(error);
  if (error || !parser.is_header_done() || RefuseAmbiguous(parser)) return;
  Answer(collector.router, &parser, input.substr(used));
}

}  // namespace
}  // namespace lagwatch::collector

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static lagwatch::testing::FuzzSeeds seeds;
  const std::string common = " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\n";
  for (const char* target :
       {"/v1/clusters?level=2&app=a%20b", "/v1/reports/0123", "/v1/config?app=a", "/metrics", "/readyz"})
    seeds.Add("GET " + std::string(target) + common + "\r\n");
  const std::string post = "POST /v1/reports" + common + "Content-Type: application/x-protobuf\r\n";
  seeds.Add(post + "Content-Length: 2\r\n\r\n\x0a\x01");
  seeds.Add(post + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n\x0a\x01\r\n0\r\n\r\n");
  seeds.Add(post + "Content-Encoding: gzip\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n\x1f\x8b");
  seeds.Add(
      "POST /api/1/envelope/ HTTP/1.1\r\nHost: x\r\nX-Sentry-Auth: Sentry sentry_key=k\r\nContent-Length: "
      "2\r\n\r\n{}");
  seeds.AppendTo(argc, argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lagwatch::collector::Take({reinterpret_cast<const char*>(data), size});
  return 0;
}

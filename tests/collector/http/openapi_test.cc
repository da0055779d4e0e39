// SPDX-License-Identifier: Apache-2.0
// The collector's OpenAPI document against the program itself, by a JSON Schema library that is not ours.
#include "collector/query/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "collector/http/endpoints.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/sample_traces.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Process;
using testing::SampleReport;

constexpr char kAdminToken[] = "a_of_this_test";

// One of each kind of record, so that no list is empty.
std::string BatchOf(const SampleReport& report) {
  std::string batch =
      testing::EncodeBatch({report.Encode(), SampleReport{.stack = {"@0x1f", "Draw"}}.Encode()});
  const report::FrameSliceView frames{.id = base::CreateUuidV7(1),
                                      .session_id = base::CreateUuidV7(2),
                                      .app = "editor",
                                      .app_version = "1.0",
                                      .user = "u-1",
                                      .loop = "ui",
                                      .scene = "inbox",
                                      .refresh_interval_ns = 16'666'667,
                                      .frames = {.frames = 600, .dropped = 3, .by_level = {597, 3}}};
  const report::Usage usage{
      .id = base::CreateUuidV7(3),
      .session_id = base::CreateUuidV7(4),
      .app = "editor",
      .app_version = "1.0",
      .user = "u-1",
      .loops = {{"ui", {.watched_ns = 3'600'000'000'000, .dispatches = 10, .hangs = 1}}},
      .values = {{"scene", "inbox", {.watched_ns = 3'600'000'000'000, .hangs = 1}}}};
  const report::Losses losses{.id = base::CreateUuidV7(5),
                              .app = "editor",
                              .app_version = "1.0",
                              .losses = {{report::LossReason::kTooOld, 7, 3, 0}}};
  report::AppendToBatch({report::RecordType::kFrameSlice, testing::EncodeFrames(frames)}, &batch);
  report::AppendToBatch({report::RecordType::kUsage, testing::EncodeUsage(usage)}, &batch);
  report::AppendToBatch({report::RecordType::kLosses, report::EncodeLosses(losses)}, &batch);
  return batch;
}

SampleReport LockReport() {
  return {.threads = {{"indexer", {"Rebuild"}}},
          .waits = {{.fields = {.tid = 4712,
                                .lock = {.address = 0x7f10,
                                         .kind = report::LockKind::kMutex,
                                         .waits_for = report::WaitsFor::kOwner,
                                         .owner_tid = 4713},
                                .owner_name = "indexer"},
                     .stack = {"pthread_mutex_lock", "Lookup"},
                     .owner_stack = {"nanosleep", "Rebuild"}}},
          .history = {{.tag = "paint", .age_ns = 9'000'000, .wall_ns = 1'000'000}},
          .wait_outcome = report::WaitOutcome::kLock};
}

class OpenApiTest : public ::testing::Test {
 protected:
  // Once it listens.
  uint16_t Port() {
    EXPECT_TRUE(testing::WaitUntil([&] { return program_.Output().ends_with('\n'); })) << program_.Errors();
    const std::string line = program_.Output();
    return static_cast<uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  }

  testing::ScopedTempDirectory directory_;
  Process program_{{LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", directory_ / "data",
                    "--retention-days", "0", "--trace-retention-days", "0", "--admin-token", kAdminToken}};
};

TEST_F(OpenApiTest, TheProgramAnswersAsItSays) {
  const uint16_t port = Port();
  testing::Client client(port);
  client.headers[0] = std::string("Authorization: Bearer ") + kAdminToken;
  const SampleReport report = LockReport();
  const report::TraceRecord trace = testing::TraceOf(report.header.id);
  std::string batch = BatchOf(report);
  testing::AppendTrace(trace, &batch);
  const report::TraceRecord probe = testing::ProbeAnswerOf(
      {.script = std::string(64, 'b'),
       .name = "who-calls",
       .hits = 3,
       .tables = {{"calls", "count", "", false, {"caller"}, {{.key = {R"(["Draw","main"])"}, .count = 3}}},
                  {"times", "histogram", "ns", true, {}, {{.count = 2, .buckets = {{{}, 1}, {1024, 1}}}}},
                  {"mean", "avg", "ns", false, {"path"}, {{.key = {"null"}, .count = 2, .value = 5}}}}});
  testing::AppendTrace(probe, &batch);
  ASSERT_EQ(client.Post(batch).json()["rejected"], 0);
  client.headers[1] = "Content-Type: application/json";
  const std::string config = R"({"threshold_ms": 700})";
  const Json put = client.Perform("PUT", "/v1/admin/config", &config).json();
  const std::string piece(1000, 'x');
  client.headers[1] = "Content-Type: application/octet-stream";
  const std::string symbols = "?size=5000&offset=0&sha256=" + std::string(64, 'a');
  ASSERT_EQ(client.Perform("PUT", "/v1/symbols/0123456789abcdef" + symbols, &piece).status, 200);
  const std::string key = client.Get("/v1/clusters").json()[0]["key"];
  std::string key_of_lock;
  for (const Json& cluster : client.Get("/v1/clusters").json()) {
    if (!cluster["held_by"].empty()) key_of_lock = cluster["key"];
  }
  EXPECT_NE(key_of_lock, "");

  const Json values = {
      {"body POST /v1/reports", base::ToHex(testing::EncodeBatch({SampleReport().Encode()}))},
      {"POST /api/{project}/envelope/", "1"},
      {"body POST /api/{project}/envelope/", base::ToHex("{}\n{\"type\":\"session\"}\n{}\n")},
      {"POST /api/{project}/store/", "1"},
      {"body POST /api/{project}/store/", {{"event_id", std::string(32, 'a')}}},
      {"GET /v1/reports/{id}", base::ToString(report.header.id)},
      {"query GET /v1/reports/{id}",
       {"", "?format=json", "?stacks=table", "?format=lwtrace", "?format=speedscope", "?format=chrome",
        "?format=collapsed"}},
      {"GET /v1/traces/{id}", base::ToString(trace.id)},
      {"query GET /v1/traces/{id}",
       {"", "?format=lwtrace", "?format=speedscope&tid=100", "?format=chrome", "?format=pprof",
        "?format=collapsed", "?format=nanoscope"}},
      {"GET /v1/traces/{id}/flame", base::ToString(trace.id)},
      {"query GET /v1/traces/{id}/flame", {"", "?tid=101"}},
      {"GET /v1/probes/{script}", std::string(64, 'b')},
      {"query GET /v1/probes/{script}", {"", "?format=collapsed"}},
      {"query GET /v1/clusters", {"", "?days=14&q=LOOKUP", "?state=all"}},
      {"query GET /v1/compare", "?baseline=2.3.1&version=2.3.1"},
      {"GET /v1/clusters/{key}", key},
      {"query GET /v1/usage", {"", "?by=day", "?by=hour&loop=ui", "?by=value&key=scene"}},
      {"GET /v1/clusters/{key}/breakdown", key_of_lock},
      {"GET /v1/clusters/{key}/samples", key_of_lock},
      {"query GET /v1/clusters/{key}", {"", "?trend=hour&by=version"}},
      {"GET /v1/symbols/{build_id}", "0123456789abcdef"},
      {"query GET /v1/symbols/{build_id}", "?sha256=" + std::string(64, 'a')},
      {"PUT /v1/symbols/{build_id}", "0123456789abcdef"},
      {"query PUT /v1/symbols/{build_id}", symbols},
      {"body PUT /v1/symbols/{build_id}", base::ToHex(piece)},
      {"body POST /v1/admin/keys", {{"name", "ci"}, {"access", "read"}, {"expires_in_s", 60}}},
      {"DELETE /v1/admin/keys/{name}", "ci"},
      {"GET /v1/admin/config/{version}", put["version"].dump()},
      {"body PUT /v1/admin/config", {{"threshold_ms", 800}}},
      {"body POST /v1/admin/config/rollback", {{"version", put["version"]}}},
      {"body POST /v1/admin/allowlist", {{"user", "u-1"}}},
      {"body POST /v1/admin/capture-requests", {{"cluster", key}}},
      {"DELETE /v1/admin/capture-requests/{cluster}", key},
      {"body POST /v1/admin/probe-requests", {{"script", std::string(64, 'b')}, {"duration_s", 5}}},
      {"DELETE /v1/admin/probe-requests/{script}", std::string(64, 'b')},
      {"GET /v1/admin/clusters/{key}", key},
      {"PATCH /v1/admin/clusters/{key}", key},
      {"body POST /v1/admin/deletions", {{"kind", "user"}, {"subject", "nobody"}}},
      {"body PATCH /v1/admin/clusters/{key}", {{"title", "Slow lookup"}, {"state", "known"}}}};
  Process check({"/usr/bin/env", "python3", LAGWATCH_CHECK_OPENAPI,
                 "http://127.0.0.1:" + std::to_string(port), kAdminToken, JsonText(values)});
  EXPECT_EQ(check.Wait(), 0) << check.Output() << check.Errors();
}

TEST_F(OpenApiTest, EachEndpointIsInItAndNoOther) {
  std::set<std::string> known;
  const Json document = Json::parse(OpenApiText());
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      std::string name = method;
      for (char& letter : name) letter = static_cast<char>(std::toupper(letter));
      known.insert(name + " " + path);
    }
  }
  // None of these is asked: it is enough that they are there.
  int there = 0;
  auto* any = static_cast<void*>(&there);
  const Services services{.key_file = static_cast<const KeyFile*>(any),
                          .feed = static_cast<const ReportFeed*>(any),
                          .causes = static_cast<const AnnotatedCauses*>(any),
                          .config_admin = static_cast<ConfigAdmin*>(any),
                          .audit = static_cast<AuditLog*>(any),
                          .recluster = static_cast<const ReclusterJob*>(any),
                          .deletions = static_cast<Deletions*>(any),
                          .symbols = static_cast<SymbolsApi*>(any),
                          .metrics = static_cast<Metrics*>(any)};
  std::set<std::string> served;
  const std::vector<Endpoint> endpoints = CollectorEndpoints(services, {});
  for (const Endpoint& endpoint : endpoints)
    served.insert(std::string(endpoint.method) + " " + std::string(endpoint.path));
  // The page is for people.
  std::vector<Endpoint> page;
  AddPage({}, &page);
  for (const Endpoint& endpoint : page) served.erase("GET " + std::string(endpoint.path));
  EXPECT_EQ(known, served);
}

}  // namespace
}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
// Measures how many reports a collector accepts per second.
//
//   bench_ingest [--reports N] [--soak SECONDS]
//
// A collector's server in a process of its own, with SQLite, is sent reports of real stalls, all of them
// different, as fast as it answers: in requests of 20 and alone, with TLS and without. Two floors are
// measured in the same run, on the same two sides of the same machine:
//   - SQLite's floor: bare inserts of such rows in transactions as large as the server's were;
//   - HTTP's floor: the same requests, to an endpoint of the same server that answers without work.
// Prints reports_per_s, requests_per_s, p99_ms, rss_mib, sqlite_floor_rows_per_s, http_floor_rps and the
// ratios to these, all of the median of three rounds; once more with TLS (batches_tls), and with a report a
// request (alone, alone_tls). With --soak, batches are sent for that long, and the server's memory is
// checked.
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/ingest/bodies.h"
#include "bench/ingest/load.h"
#include "bench/ingest/server_process.h"
#include "bench/ingest/sqlite_floor.h"
#include "tests/testing/temp_directory.h"
#include "tests/testing/tls_server.h"

namespace lagwatch::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBatch = 20;
constexpr int kConnections = 32;

struct Measured {
  double reports_per_s = 0;
  double requests_per_s = 0;
  double p99_ms = 0;
  double http_floor_rps = 0;
  double rss_mib = 0;
  double reports_of_a_commit = 0;

  Json ToJson() const {
    return {{"reports_per_s", reports_per_s},
            {"requests_per_s", requests_per_s},
            {"p99_ms", p99_ms},
            {"http_floor_rps", http_floor_rps},
            {"rss_mib", rss_mib},
            {"reports_of_a_commit", reports_of_a_commit}};
  }
};

void WriteCertificate(const std::string& directory) {
  const testing::Identity identity = testing::MakeIdentity("IP:127.0.0.1", nullptr);
  std::ofstream(directory + "/cert.pem") << identity.CertificatePem();
  std::ofstream(directory + "/key.pem") << identity.KeyPem();
}

LoadResult LoadOrFail(uint16_t port, bool is_tls, const std::vector<std::string>& requests) {
  LoadResult result = Load(port, is_tls, kConnections, requests);
  if (result.failed != 0) {
    std::fprintf(stderr, "bench: %zu of %zu requests were refused\n", result.failed, requests.size());
    std::exit(1);
  }
  return result;
}

Measured Measure(const char* name, bool is_tls, const std::vector<std::string>& requests,
                 const std::vector<std::string>& nothing, size_t reports_each) {
  testing::ScopedTempDirectory directory;
  WriteCertificate(directory / "");
  ServerProcess server(directory / "", is_tls);
  const LoadResult floor = LoadOrFail(server.port(), is_tls, nothing);
  const LoadResult load = LoadOrFail(server.port(), is_tls, requests);
  Measured measured{.reports_per_s = load.requests_per_s * static_cast<double>(reports_each),
                    .requests_per_s = load.requests_per_s,
                    .p99_ms = load.p99_ms,
                    .http_floor_rps = floor.requests_per_s,
                    .rss_mib = server.RssMib()};
  const uint64_t commits = server.StopAndCountCommits();
  measured.reports_of_a_commit = static_cast<double>(requests.size() * reports_each) /
                                 static_cast<double>(std::max<uint64_t>(commits, 1));
  std::fprintf(stderr, "%-12s %s\n", name, measured.ToJson().dump().c_str());
  return measured;
}

// Batches and then SQLite's floor, which the machine's other work does not always slow down alike.
struct Round {
  Measured batches;
  double sqlite_floor_rows_per_s;

  double ratio() const { return batches.reports_per_s / sqlite_floor_rows_per_s; }
};

// Of three, by their ratio.
template <typename MeasureRound>
Round MedianRound(MeasureRound measure) {
  std::array<Round, 3> rounds;
  for (Round& round : rounds) {
    round = measure();
    std::fprintf(stderr, "             %.2f of SQLite's floor\n", round.ratio());
  }
  std::ranges::sort(rounds, {}, &Round::ratio);
  return rounds[1];
}

// MiB of the server after each tenth of the time.
std::vector<double> Soak(const std::vector<std::string>& real, int seconds) {
  testing::ScopedTempDirectory directory;
  ServerProcess server(directory / "", false);
  std::vector<double> rss_mib;
  const auto begin = std::chrono::steady_clock::now();
  size_t reports = 0;
  for (uint64_t round = 0;; ++round) {
    const auto requests = MakeRequests(real, 200, kBatch, 1'000'000 + round * 1000, kUploadPath, kKey);
    LoadOrFail(server.port(), false, requests);
    reports += requests.size() * kBatch;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() >= seconds * static_cast<double>(rss_mib.size() + 1) / 10) {
      rss_mib.push_back(server.RssMib());
      std::fprintf(stderr, "%4.0f s: %zu reports, %.0f MiB\n", passed.count(), reports, rss_mib.back());
    }
    if (passed.count() >= seconds) return rss_mib;
  }
}

int Main(int argc, char** argv) {
  size_t reports = 40'000;
  int soak_s = 0;
  CLI::App app("Measures how many reports a collector takes.", "bench_ingest");
  app.add_option("--reports", reports, "In batches; a quarter of it alone")->capture_default_str();
  app.add_option("--soak", soak_s, "Seconds for which batches go on, to look at the memory");
  CLI11_PARSE(app, argc, argv);

  std::fprintf(stderr, "making real reports and %zu like them\n", reports);
  const std::vector<std::string> real = MakeRealReports(argv[0]);
  if (soak_s > 0) {
    std::printf("%s\n", Json({{"soak_s", soak_s}, {"rss_mib", Soak(real, soak_s)}}).dump().c_str());
    return 0;
  }
  const auto batches = MakeRequests(real, reports / kBatch, kBatch, 1, kUploadPath, kKey);
  const auto alone = MakeRequests(real, reports / 4, 1, 2'000'000, kUploadPath, kKey);
  const auto to_nothing = [](std::vector<std::string> requests) {
    for (std::string& request : requests)
      request.replace(request.find(kUploadPath), sizeof kUploadPath - 1, kNothingPath);
    return requests;
  };
  const auto no_batches = to_nothing(batches);
  const auto none_alone = to_nothing(alone);

  const auto [plain, floor] = MedianRound([&]() -> Round {
    const Measured measured = Measure("batches", false, batches, no_batches, kBatch);
    testing::ScopedTempDirectory directory;
    const auto reports_of_a_commit = static_cast<size_t>(measured.reports_of_a_commit);
    return {measured,
            SqliteRowsPerSecond(directory / "", real, reports, std::max<size_t>(1, reports_of_a_commit))};
  });
  const Measured tls = Measure("batches, TLS", true, batches, no_batches, kBatch);
  const Measured single = Measure("alone", false, alone, none_alone, 1);
  const Measured single_tls = Measure("alone, TLS", true, alone, none_alone, 1);
  const Json json = {{"reports_per_s", plain.reports_per_s},
                     {"requests_per_s", plain.requests_per_s},
                     {"p99_ms", plain.p99_ms},
                     {"sqlite_floor_rows_per_s", floor},
                     {"http_floor_rps", plain.http_floor_rps},
                     {"ratio_to_sqlite_floor", plain.reports_per_s / floor},
                     {"ratio_to_http_floor", plain.requests_per_s / plain.http_floor_rps},
                     {"rss_mib", plain.rss_mib},
                     {"batches_tls", tls.ToJson()},
                     {"alone", single.ToJson()},
                     {"alone_tls", single_tls.ToJson()}};
  std::printf("%s\n", json.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace lagwatch::bench

int main(int argc, char** argv) { return lagwatch::bench::Main(argc, argv); }

// SPDX-License-Identifier: Apache-2.0
#include "bench/ingest/bodies.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "base/clock.h"
#include "report/format/packed_batch.h"
#include "report/upload/transport/gzip.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::bench {
namespace {

constexpr int kSessions = 3;

// A later field of the same number counts instead of the earlier.
void SetBytes(int field, std::string_view bytes, std::string* encoded) {
  *encoded += static_cast<char>(field << 3 | 2);
  *encoded += static_cast<char>(bytes.size());
  *encoded += bytes;
}

// `real` as another user has it, now.
std::string AsAnother(std::string real, std::mt19937_64* random) {
  constexpr int kId = 1, kSessionId = 2, kHangId = 3, kUser = 7;
  const int64_t now_ms = base::SystemClock().WallMs();
  const base::Uuid id = base::CreateUuidV7(now_ms);
  SetBytes(kId, id.as_bytes(), &real);
  SetBytes(kSessionId, base::CreateUuidV7(now_ms).as_bytes(), &real);
  SetBytes(kHangId, id.as_bytes(), &real);
  SetBytes(kUser, "u-" + std::to_string((*random)() % 20'000), &real);
  report::AppendCause((*random)() % 500 + 1, &real);
  return real;
}

std::string BodyOf(const std::vector<std::string>& real, size_t reports, std::mt19937_64* random) {
  std::vector<std::string> encoded;
  for (size_t i = 0; i < reports; ++i) encoded.push_back(AsAnother(real[(*random)() % real.size()], random));
  std::vector<report::Record> records;
  for (const std::string& each : encoded) records.push_back({report::RecordType::kReport, each});
  const std::string packed = report::PackBatch(records);
  std::string body;
  report::AppendToBatch({report::RecordType::kPacked, packed}, &body);
  return report::Gzip(body);
}

}  // namespace

std::vector<std::string> MakeRealReports(const std::string& program) {
  testing::ScopedTempDirectory directory;
  const std::string wire = std::filesystem::path(program).parent_path() / "bench_wire";
  const std::string command = wire + " " + std::to_string(kSessions) + " " + (directory / "") + " >&2";
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "bench: %s failed\n", command.c_str());
    std::exit(1);
  }
  std::vector<std::string> reports;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "")) {
    if (entry.path().extension() != ".report") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    reports.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return reports;
}

std::vector<std::string> MakeRequests(const std::vector<std::string>& real, size_t requests,
                                      size_t reports_each, uint64_t seed, const std::string& path,
                                      const std::string& key) {
  std::vector<std::string> made(requests);
  auto make_part = [&](size_t first) {
    std::mt19937_64 random(seed + first);
    for (size_t i = first; i < requests; i += 2) {
      const std::string body = BodyOf(real, reports_each, &random);
      made[i] = "POST " + path + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + key +
                "\r\nContent-Type: application/x-protobuf\r\nContent-Encoding: gzip\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body;
    }
  };
  std::thread other(make_part, 1);
  make_part(0);
  other.join();
  return made;
}

}  // namespace lagwatch::bench

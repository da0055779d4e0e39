// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a record on its way to the disk and back: appends against bare writes of the same
// bytes to a file beside them, with and without waiting for the disk, and reading them.
//
// Figures are medians over rounds, and the compared variants take turns: on a shared machine, noise comes and
// goes. $TMPDIR selects the file system. Prints appends_per_s, us_per_append against us_per_write
// (ratio_to_write); us_per_append_fdatasync until the disk has it, of which the appending thread pays
// us_per_append_beside_fdatasync; us_per_segment with a file of its own; recovery_mb_per_s, crc32c_mb_per_s.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/process/env.h"
#include "base/uuid.h"
#include "report/spool/segment_format.h"
#include "report/spool/spool_reader.h"
#include "report/spool/spool_writer.h"

namespace {

using namespace lagwatch;
using report::RecordType;
using report::SpoolWriter;
using report::SyncPolicy;

constexpr size_t kPayloadBytes = 10 << 10;  // a report of a program with a dozen threads
constexpr int kRounds = 150;
constexpr int kAppendsPerRound = 100;  // as many as one segment takes
constexpr int kSyncs = 100;
constexpr int kRecoverySegments = 32;
constexpr int kRecoveryRounds = 10;

int64_t NowNs() { return base::SystemClock().MonoNs(); }

double UsOf(const std::function<void()>& work, int turns) {
  const int64_t begin_ns = NowNs();
  for (int i = 0; i < turns; ++i) work();
  return static_cast<double>(NowNs() - begin_ns) / 1000 / turns;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "spool: %s\n", what);
  std::exit(1);
}

class Directory {
 public:
  Directory() {
    std::string path = (std::filesystem::temp_directory_path() / "lagwatch-bench-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) Fail("cannot make a temporary directory");
    path_ = path;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  const std::string& path() const { return path_; }
  std::unique_ptr<SpoolWriter> NewWriter(SyncPolicy policy) const {
    auto writer = SpoolWriter::Create(&base::SystemEnv(), path_,
                                      base::CreateUuidV7(base::SystemClock().WallMs()), {}, policy);
    if (!writer.ok()) Fail(writer.status().message().c_str());
    return std::move(writer).value();
  }
  void Empty() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      std::filesystem::remove(entry.path());
  }

 private:
  std::string path_;
};

// As varied as a report: nothing in it compresses or repeats for the file system's convenience.
std::string RandomPayload() {
  std::string payload(kPayloadBytes, '\0');
  uint32_t random = 1;
  for (char& byte : payload) byte = static_cast<char>((random = random * 1664525 + 1013904223) >> 24);
  return payload;
}

struct AppendFigures {
  std::vector<double> append_us;
  std::vector<double> write_us;
  std::vector<double> whole_segment_us;  // a record in a segment of its own: what a hang's report costs
};

void MeasureAppends(const std::string& payload, AppendFigures* figures) {
  Directory directory;
  auto writer = directory.NewWriter(SyncPolicy::kNever);
  std::string record(sizeof(report::RecordHeader), '\0');
  record += payload;
  auto append = [&] {
    if (!writer->Append(RecordType::kReport, payload)) Fail("an append was refused");
  };
  const std::string bare_path = directory.path() + "/bare";
  for (int round = 0; round < kRounds; ++round) {
    // Both files are begun before the clock is.
    append();
    const int fd = open(bare_path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    auto bare_write = [&] {
      if (write(fd, record.data(), record.size()) != static_cast<ssize_t>(record.size()))
        Fail("a write failed");
    };
    bare_write();
    const bool is_append_first = round % 2 == 0;
    if (is_append_first) figures->append_us.push_back(UsOf(append, kAppendsPerRound));
    figures->write_us.push_back(UsOf(bare_write, kAppendsPerRound));
    if (!is_append_first) figures->append_us.push_back(UsOf(append, kAppendsPerRound));
    close(fd);
    writer->Seal();
    auto append_and_seal = [&] {
      append();
      writer->Seal();
    };
    figures->whole_segment_us.push_back(UsOf(append_and_seal, kAppendsPerRound / 10));
    directory.Empty();
  }
}

struct SyncFigures {
  std::vector<double> append_us;   // what the appending thread pays while another one syncs
  std::vector<double> on_disk_us;  // from the append to the disk's answer
};

void MeasureSyncs(const std::string& payload, SyncFigures* figures) {
  Directory directory;
  auto writer = directory.NewWriter(SyncPolicy::kEveryRecord);
  for (uint64_t i = 1; i <= kSyncs; ++i) {
    const int64_t begin_ns = NowNs();
    if (!writer->Append(RecordType::kReport, payload)) Fail("an append was refused");
    figures->append_us.push_back(static_cast<double>(NowNs() - begin_ns) / 1000);
    while (writer->counters().syncs < i) {
      if (writer->counters().syncs_failed > 0) Fail("a sync was refused");
    }
    figures->on_disk_us.push_back(static_cast<double>(NowNs() - begin_ns) / 1000);
  }
}

// In MB/s, a million bytes each.
struct RecoveryFigures {
  std::vector<double> mb_per_s;
  std::vector<double> crc_mb_per_s;
};

void MeasureRecovery(const std::string& payload, RecoveryFigures* figures) {
  Directory directory;
  auto writer = directory.NewWriter(SyncPolicy::kNever);
  for (int i = 0; i < kRecoverySegments * kAppendsPerRound; ++i) writer->Append(RecordType::kReport, payload);
  writer->Seal();
  report::SpoolReader reader(&base::SystemEnv(), directory.path());
  auto names = reader.List(report::SpoolReader::Include::kFinished);
  if (!names.ok()) Fail(names.status().message().c_str());
  for (int round = 0; round < kRecoveryRounds; ++round) {
    for (const std::string& name : *names) {
      size_t read_bytes = 0;
      const double us = UsOf(
          [&] {
            auto segment = reader.Read(name);
            if (!segment.ok() || segment->skipped_bytes != 0) Fail("a segment is damaged");
            for (const report::OwnedRecord& record : segment->records)
              read_bytes += sizeof(report::RecordHeader) + record.payload.size();
          },
          1);
      figures->mb_per_s.push_back(static_cast<double>(read_bytes) / us);
    }
    uint32_t checksum = 0;
    const double us = UsOf([&] { checksum = base::Crc32c(payload.data(), payload.size(), checksum); }, 1000);
    if (checksum == 0) Fail("a checksum came to nothing");
    figures->crc_mb_per_s.push_back(static_cast<double>(payload.size()) / us);
  }
}

}  // namespace

int main() {
  const std::string payload = RandomPayload();
  AppendFigures appends;
  SyncFigures syncs;
  RecoveryFigures recovery;
  MeasureAppends(payload, &appends);
  MeasureSyncs(payload, &syncs);
  MeasureRecovery(payload, &recovery);

  const double append_us = Median(appends.append_us);
  const double write_us = Median(appends.write_us);
  std::printf("records of %zu bytes, medians of %d rounds of %d; one in a segment of its own: %.1f us\n",
              kPayloadBytes + sizeof(report::RecordHeader), kRounds, kAppendsPerRound,
              Median(appends.whole_segment_us));
  std::printf(
      "{\"appends_per_s\":%.0f,\"us_per_append\":%.2f,\"us_per_append_fdatasync\":%.0f,\"us_per_write\":%.2f,"
      "\"ratio_to_write\":%.3f,\"recovery_mb_per_s\":%.0f,\"us_per_append_beside_fdatasync\":%.2f,"
      "\"us_per_segment\":%.2f,\"crc32c_mb_per_s\":%.0f}\n",
      1e6 / append_us, append_us, Median(syncs.on_disk_us), write_us, append_us / write_us,
      Median(recovery.mb_per_s), Median(syncs.append_us), Median(appends.whole_segment_us),
      Median(recovery.crc_mb_per_s));
}

// SPDX-License-Identifier: Apache-2.0
// Measures the size of a report on its way to the collector: reports of real stalls (wire/application.h),
// made by the real monitor and named by the real namer.
//
//   bench_wire [SESSIONS [DIRECTORY]]
//
// Each session is a process of its own, of one user and version, and makes 20 reports: the request of a
// client that was offline for a while. With DIRECTORY, the measured bytes are left there: NN.batch is a
// session's body as it is sent, NN-MM.report one report's before gzip.
//
// Prints raw_bytes (in the spool), single_gzip_bytes and single_gzip_bytes_max (sent alone),
// batch20_gzip_bytes_per_report (20 of a session), plain_batch20_gzip_bytes_per_report (the same, not
// packed).
#include <lagwatch/lagwatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/process/env.h"
#include "bench/wire/application.h"
#include "report/format/packed_batch.h"
#include "report/spool/spool_reader.h"
#include "report/upload/name_frames.h"
#include "report/upload/transport/gzip.h"
#include "sdk/upload_service.h"
#include "tests/testing/temp_directory.h"

namespace {

using namespace lagwatch;
using report::Record;
using report::RecordType;

constexpr int kDefaultSessions = 12;
constexpr size_t kReportsOfSession = 20;
constexpr size_t kSessionsAtOnce = 3;
constexpr uint32_t kThresholdMs = 240;
constexpr uint32_t kSampleIntervalMs = 5;
// A watchdog that wakes late on a busy machine takes fewer: about 20 remain.
constexpr uint32_t kRingSize = 24;
constexpr int64_t kStallMs = 280;
// Longer than 1 ms, so that a report's history is full, and all of it new since the report before.
constexpr int kTurnsBetween = 200;

// --- the child's side

int PlaySession(const std::string& spool, int number) {
  std::string user = "u-" + std::to_string(7100 + number % 7);
  std::string version = "2." + std::to_string(number % 3) + ".1";
  auto monitor = Monitor::Start({.app = "mail",
                                 .app_version = version,
                                 .user = user,
                                 .spool_directory = spool,
                                 .threshold_ms = kThresholdMs,
                                 .anr_threshold_ms = 0,
                                 .detection = {.check_period_ms = kThresholdMs,
                                               .sample_interval_ms = kSampleIntervalMs,
                                               .ring_size = kRingSize,
                                               .usage_period_s = 0},
                                 .slow = {.dispatch_ms = 35}});
  if (!monitor.is_on()) {
    std::cerr << "the monitor is off: " << monitor.why_off() << "\n";
    return 1;
  }
  Loop loop = monitor.WatchLoop("ui");
  bench::Application application(spool, kStallMs);
  auto stalls = application.Stalls();
  std::mt19937 random(static_cast<unsigned>(number));
  std::shuffle(stalls.begin(), stalls.end(), random);
  const char* tags[] = {"key", "paint", "timer", "mouse-move", "socket"};
  // A machine that is busy with other things can make a hang end before it is looked at.
  for (size_t i = 0; i < 2 * kReportsOfSession && monitor.stats().reports_written < kReportsOfSession; ++i) {
    lw_set_scene(i % 8 < 5 ? "inbox" : "composer");
    for (int turn = 0; turn < kTurnsBetween; ++turn) {
      // Waits for the next event first.
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
      ScopedDispatch dispatch(loop, tags[random() % std::size(tags)]);
      application.Turn(1000 + static_cast<int64_t>(random() % 1000));
    }
    const bench::Stall& stall = stalls[i % stalls.size()];
    ScopedDispatch dispatch(loop, stall.tag);
    stall.run();
  }
  return 0;
}

// --- the parent's side

struct Session {
  std::vector<std::string> raw;    // as in the spool
  std::vector<std::string> named;  // as sent
};

pid_t StartSession(const std::string& spool, int number) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  execl("/proc/self/exe", "bench_wire", "--play", spool.c_str(), std::to_string(number).c_str(), nullptr);
  _exit(127);
}

Session ReadSession(const std::string& spool, report::FrameNamer* namer) {
  Session session;
  report::SpoolReader reader(&base::SystemEnv(), spool);
  auto names = reader.List(report::SpoolReader::Include::kLiveToo);
  if (!names.ok()) return session;
  for (const std::string& name : *names) {
    auto segment = reader.Read(name);
    if (!segment.ok()) continue;
    for (const report::OwnedRecord& record : segment->records) {
      if (record.type != RecordType::kReport) continue;
      session.raw.push_back(record.payload);
      session.named.push_back(record.payload);
      report::NameFrames(report::DecodeReport(record.payload).value(), namer, &session.named.back());
    }
  }
  return session;
}

std::vector<Session> PlaySessions(int count) {
  std::vector<Session> sessions;
  auto namer = sdk::CreateLocalFrameNamer("");
  for (int number = 0; number < count;) {
    testing::ScopedTempDirectory directory;
    std::vector<std::pair<pid_t, std::string>> running;
    while (number < count && running.size() < kSessionsAtOnce) {
      std::string spool = directory / std::to_string(number);
      running.emplace_back(StartSession(spool, number++), spool);
    }
    for (const auto& [pid, spool] : running) {
      waitpid(pid, nullptr, 0);
      sessions.push_back(ReadSession(spool, namer.get()));
    }
  }
  return sessions;
}

std::vector<Record> RecordsOf(const std::vector<std::string>& reports) {
  std::vector<Record> records;
  for (const std::string& report : reports) records.push_back({RecordType::kReport, report});
  return records;
}

std::string PackedBody(const std::vector<std::string>& reports) {
  std::string body;
  std::string packed = report::PackBatch(RecordsOf(reports));
  report::AppendToBatch({RecordType::kPacked, packed}, &body);
  return body;
}

std::string PlainBody(const std::vector<std::string>& reports) {
  std::string body;
  for (const Record& record : RecordsOf(reports)) report::AppendToBatch(record, &body);
  return body;
}

// Describes the reports' contents, to put the sizes into perspective.
void Describe(const std::vector<Session>& sessions) {
  double reports = 0, samples = 0, stacks = 0, frames = 0, threads = 0, waits = 0, history = 0, symbols = 0;
  for (const Session& session : sessions) {
    for (const std::string& encoded : session.named) {
      auto report = report::DecodeReport(encoded);
      if (!report.ok()) std::abort();
      ++reports;
      samples += static_cast<double>(report->samples.size());
      stacks += static_cast<double>(report->stacks.size());
      for (const report::Stack& stack : report->stacks) frames += static_cast<double>(stack.frames.size());
      threads += static_cast<double>(report->threads.size());
      waits += static_cast<double>(report->waits.size());
      history += static_cast<double>(report->history.size());
      symbols += static_cast<double>(report->symbols.size());
    }
  }
  std::printf(
      "A report has on average %.1f samples, %.1f different stacks of %.1f frames, %.1f names, %.1f "
      "threads,\n"
      "%.2f waits for locks and %.0f past dispatches, none of them in the report before.\n",
      samples / reports, stacks / reports, frames / stacks, symbols / reports, threads / reports,
      waits / reports, history / reports);
}

void Keep(const std::string& directory, const std::vector<Session>& sessions) {
  auto keep = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(directory + "/" + name, std::ios::binary) << bytes;
  };
  for (size_t i = 0; i < sessions.size(); ++i) {
    const std::string session = std::to_string(i);
    keep(session + ".packed", report::PackBatch(RecordsOf(sessions[i].named)));
    for (size_t k = 0; k < sessions[i].named.size(); ++k) {
      const std::string name = session + "-" + std::to_string(k);
      keep(name + ".report", sessions[i].named[k]);
      keep(name + ".packed", report::PackBatch(RecordsOf({sessions[i].named[k]})));
    }
  }
}

void Measure(const std::vector<Session>& sessions) {
  size_t reports = 0, raw = 0, single = 0, single_max = 0, batches = 0, plain_batches = 0;
  for (const Session& session : sessions) {
    reports += session.raw.size();
    for (const std::string& report : session.raw) raw += report.size();
    for (const std::string& report : session.named) {
      const size_t bytes = report::Gzip(PackedBody({report})).size();
      single += bytes;
      single_max = std::max(single_max, bytes);
    }
    batches += report::Gzip(PackedBody(session.named)).size();
    plain_batches += report::Gzip(PlainBody(session.named)).size();
  }
  auto per_report = [&](size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(reports); };
  std::printf(
      "{\"reports\": %zu, \"raw_bytes\": %.0f, \"single_gzip_bytes\": %.0f, \"single_gzip_bytes_max\": %zu, "
      "\"batch20_gzip_bytes_per_report\": %.0f, \"plain_batch20_gzip_bytes_per_report\": %.0f}\n",
      reports, per_report(raw), per_report(single), single_max, per_report(batches),
      per_report(plain_batches));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "--play") return PlaySession(words[1], std::atoi(words[2].c_str()));
  const int count = words.empty() ? kDefaultSessions : std::max(1, std::atoi(words[0].c_str()));
  const std::vector<Session> sessions = PlaySessions(count);
  if (words.size() == 2) Keep(words[1], sessions);
  Describe(sessions);
  Measure(sessions);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// How many bytes a report takes on its way to the collector: reports of real stalls (wire/application.h),
// made by the real monitor and named by the real namer.
//
//   bench_wire [SESSIONS]
//
// Each session is a process of its own, of one user and version, and makes 20 reports: what a client that was
// offline for a while sends in one request.
#include <fcntl.h>
#include <lagwatch/lagwatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/env.h"
#include "bench/wire/application.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "report/upload/gzip.h"
#include "report/upload/name_frames.h"
#include "sdk/upload_service.h"
#include "tests/testing/temp_directory.h"

namespace {

using namespace lagwatch;
using report::Record;
using report::RecordType;

constexpr int kDefaultSessions = 12;
constexpr size_t kReportsOfSession = 20;
constexpr int64_t kThresholdMs = 100;
constexpr int64_t kSampleIntervalMs = 2;
constexpr int64_t kStallMs = 130;
constexpr int kFirstTurns = 200;  // fill the history
constexpr int kTurnsBetween = 40;

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
                                 .slow_dispatch_ms = 35,
                                 .check_period_ms = kThresholdMs,
                                 .sample_interval_ms = kSampleIntervalMs,
                                 .ring_size = 20,
                                 .usage_period_s = 0});
  if (!monitor.is_on()) {
    std::cerr << "the monitor is off: " << monitor.why_off() << "\n";
    return 1;
  }
  Loop loop = monitor.WatchLoop("ui");
  bench::Application application(spool, kStallMs);
  std::mt19937 random(static_cast<unsigned>(number));
  const char* tags[] = {"key", "paint", "timer", "mouse-move", "socket"};
  auto turns = [&](int count) {
    for (int i = 0; i < count; ++i) {
      // Waits for the next event first.
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      ScopedDispatch dispatch(loop, tags[random() % std::size(tags)]);
      application.Turn(1000 + static_cast<int64_t>(random() % 1000));
    }
  };
  turns(kFirstTurns);
  auto stalls = application.Stalls();
  std::shuffle(stalls.begin(), stalls.end(), random);
  for (size_t i = 0; i < kReportsOfSession; ++i) {
    lw_set_scene(i % 8 < 5 ? "inbox" : "composer");
    {
      ScopedDispatch dispatch(loop, stalls[i % stalls.size()].tag);
      stalls[i % stalls.size()].run();
    }
    turns(kTurnsBetween);
  }
  return 0;
}

// --- the parent's side

struct Session {
  std::vector<std::string> raw;    // as in the spool
  std::vector<std::string> named;  // as sent
};

Session Record20(int number, report::FrameNamer* namer) {
  testing::ScopedTempDirectory directory;
  std::string spool = directory / "spool";
  pid_t pid = fork();
  if (pid == 0) {
    execl("/proc/self/exe", "bench_wire", "--play", spool.c_str(), std::to_string(number).c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  Session session;
  report::SpoolReader reader(&base::SystemEnv(), spool);
  auto names = reader.List(report::SpoolReader::Include::kLiveToo);
  if (!names.ok()) return session;
  for (const std::string& name : *names) {
    auto segment = reader.Read(name);
    if (!segment.ok()) continue;
    for (const report::SpoolRecord& record : segment->records) {
      if (record.type != RecordType::kReport) continue;
      session.raw.push_back(record.payload);
      session.named.push_back(report::NameFrames(record.payload, namer));
    }
  }
  return session;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "--play") return PlaySession(words[1], std::atoi(words[2].c_str()));
  int sessions = words.empty() ? kDefaultSessions : std::max(1, std::atoi(words[0].c_str()));
  auto namer = sdk::CreateLocalFrameNamer();
  for (int i = 0; i < sessions; ++i) {
    Session session = Record20(i, namer.get());
    std::printf("session %d: %zu reports\n", i, session.raw.size());
    if (words.size() == 2) {
      for (size_t k = 0; k < session.raw.size(); ++k) {
        char name[64];
        std::snprintf(name, sizeof name, "/%02d-%03zu", i, k);
        std::ofstream(words[1] + name + ".raw") << session.raw[k];
        std::ofstream(words[1] + name + ".named") << session.named[k];
      }
    }
  }
  return 0;
}

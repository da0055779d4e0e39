// SPDX-License-Identifier: Apache-2.0
// Two programs' two weeks.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/collector/sample_traces.h"
#include "tests/collector/seed/seeder.h"
#include "tests/collector/seed/seeds.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::testing {
namespace {

using policies::VerdictWord;
using Stack = std::vector<std::string>;

struct Release {
  std::string version;
  int first_day;  // of the days before today that it is used in
  int last_day;
};

// A repeated cause of hangs.
struct Cause {
  std::string app;
  std::vector<std::string> versions;
  VerdictWord word;
  std::string tag;
  std::vector<Stack> stacks;  // of its samples, the most expensive first
  Stack callers;              // of all of them
  int reports_a_day;
  int64_t usual_ms;
  Stack owner = {};  // the lock's owner
};

const std::vector<std::pair<std::string, std::vector<Release>>>& Programs() {
  static const std::vector<std::pair<std::string, std::vector<Release>>> programs = {
      {"editor", {{"2.3.0", 13, 9}, {"2.3.1", 9, 4}, {"2.4.0", 4, 0}}},
      {"player", {{"1.9", 13, 5}, {"1.10", 6, 0}}}};
  return programs;
}

std::vector<Cause> Causes() {
  const Stack editor = {"Editor::Handle", "EventLoop::Run", "main"};
  const Stack player = {"Player::OnFrame", "EventLoop::Run", "main"};
  const auto with = [](Stack first, const Stack& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  };
  return {
      {"editor",
       {"2.3.0", "2.3.1"},
       VerdictWord::kCpu,
       "paste",
       {{"ParseOutline"},
        {"std::vector<Heading, std::allocator<Heading> >::push_back", "ParseOutline"},
        {"Heading::Level", "ParseOutline"}},
       with({"Editor::OnPaste"}, editor),
       7,
       3400},
      {"editor",
       {"2.3.0", "2.3.1", "2.4.0"},
       VerdictWord::kDisk,
       "save",
       {{"SaveFile"}},
       with({"Editor::OnSave"}, editor),
       5,
       2900},
      {"editor",
       {"2.3.1", "2.4.0"},
       VerdictWord::kDisk,
       "autosave",
       {{"SaveFile"}},
       with({"Editor::OnSave", "AutoSave::OnTimer"}, editor),
       3,
       2400},
      {"editor",
       {"2.3.0", "2.3.1", "2.4.0"},
       VerdictWord::kLock,
       "find",
       {{"Index::Lookup"}},
       with({"Editor::OnFind"}, editor),
       4,
       2600,
       {"Index::Rebuild", "Index::RunIndexer"}},
      {"editor",
       {"2.4.0"},
       VerdictWord::kLock,
       "replace",
       {{"Index::Lookup"}},
       with({"Editor::OnReplace"}, editor),
       2,
       2300,
       {"Index::Rebuild", "Index::RunIndexer"}},
      {"player",
       {"1.9", "1.10"},
       VerdictWord::kNetwork,
       "cover",
       {{"Http::Read", "Http::Fetch"}},
       with({"Library::LoadCover"}, player),
       4,
       5200},
      {"player",
       {"1.10"},
       VerdictWord::kStarved,
       "frame",
       {{"Decoder::Next"}, {"Decoder::Transform", "Decoder::Next"}},
       with({"Player::Decode"}, player),
       3,
       2200},
      {"player",
       {"1.9", "1.10"},
       VerdictWord::kMemory,
       "open",
       {{"Playlist::Load"}},
       with({"Player::OnOpen"}, player),
       1,
       2700},
  };
}

class Story {
 public:
  explicit Story(Seeder* seeder) : seeder_(seeder) {}

  void Tell() {
    for (const auto& [app, releases] : Programs())
      for (const Release& release : releases)
        for (int day = release.last_day; day <= release.first_day; ++day)
          seeder_->AddUse(app, release.version, day);
    for (const Cause& cause : Causes())
      for (const std::string& version : cause.versions) Freeze(cause, version);
    for (const char* version : {"1.9", "1.10"})
      for (int user = 0; user < 3; ++user) AnswerProbe(version, user);
    AddAnswer({.script = std::string(64, 'e'), .refusal = "the script is not in the list of --fleet-probes"},
              "1.10", 3);
  }

 private:
  // Use of the player's cache, by a script that is in the lists of all users but one.
  void AnswerProbe(const std::string& version, int user) {
    const std::string stack = R"(["Cache::Find","Library::LoadCover","Player::OnFrame","main"])";
    const std::string other = R"(["Cache::Find","Playlist::Load","Player::OnOpen","main"])";
    AddAnswer({.script = std::string(64, 'd'),
               .name = "cache-use",
               .functions = 1,
               .hits = 90,
               .left_out = 8,
               .tables = {{"by kind",
                           "count",
                           "",
                           true,
                           {"kind"},
                           {{.key = {R"("cover")"}, .count = 60}, {.key = {R"("list")"}, .count = 30}}},
                          {"callers",
                           "count",
                           "",
                           false,
                           {"stack"},
                           {{.key = {stack}, .count = 60}, {.key = {other}, .count = 30}}},
                          {"times",
                           "histogram",
                           "ns",
                           false,
                           {},
                           {{.count = 90, .buckets = {{1'024, 10}, {2'048, 50}, {4'096, 30}}}}}}},
              version, user);
  }
  void AddAnswer(const report::ProbeResult& result, const std::string& version, int user) {
    report::TraceRecord record = ProbeAnswerOf(result, seeder_->BeginOf(0));
    record.app = "player";
    record.app_version = version;
    record.user = "u-" + std::to_string(user);
    record.begin_wall_ms = static_cast<uint64_t>(seeder_->BeginOf(0));
    seeder_->Add(report::RecordType::kTrace, report::EncodeTraceRecord(record));
  }

  void Freeze(const Cause& cause, const std::string& version) {
    const auto& programs = Programs();
    const auto program =
        std::ranges::find(programs, cause.app, &std::pair<std::string, std::vector<Release>>::first);
    const auto release = std::ranges::find(program->second, version, &Release::version);
    for (int day = release->last_day; day <= release->first_day; ++day)
      for (int i = 0; i < cause.reports_a_day; ++i)
        FreezeOnce(cause, version, seeder_->BeginOf(day) + seeder_->Below(20 * kMsPerHour));
  }

  void FreezeOnce(const Cause& cause, const std::string& version, int64_t start_ms) {
    const std::string user = "u-" + std::to_string(seeder_->Below(12));
    const int64_t hang_ms = cause.usual_ms * (60 + seeder_->Below(120)) / 100;
    SampleReport report;
    auto& header = report.header;
    Seeder::StampHeader(start_ms, &header);
    header.app = cause.app;
    header.app_version = version;
    header.user = user;
    header.distribution = DistributionOf(user);
    header.tag = cause.tag;
    header.elapsed_ns = 2'000 * kNsPerMs;
    // The editor's outlines are a plug-in's.
    report.module_path = cause.tag == "paste" ? "/opt/editor/plugins/liboutline.so" : "/usr/bin/" + cause.app;
    for (int i = 0; i < 20; ++i)
      report.samples.push_back(
          StackOf(cause, seeder_->Below(10) < 6 ? 0 : seeder_->Below(std::ssize(cause.stacks))));
    report.stack = StackOf(cause, 0);
    report.threads = {{"worker", {"Pool::Wait", "Pool::Run"}}};
    report.verdict = VerdictOf(cause.word, 1'000 * kNsPerMs);
    if (!cause.owner.empty()) AddWait(cause, &report);
    for (int i = 6; i > 0; --i) {
      report.history.push_back({.tag = i % 2 ? "key" : "draw",
                                .age_ns = (2'000 + i * 90) * kNsPerMs,
                                .wall_ns = (4 + seeder_->Below(30)) * kNsPerMs,
                                .cpu_ns = 2 * kNsPerMs});
    }
    std::string encoded = report.Encode();
    report::AppendCause(std::hash<std::string>()(cause.app + cause.tag), &encoded);
    seeder_->Add(report::RecordType::kReport, encoded);
    seeder_->Add(report::RecordType::kHangEnd,
                 EncodeEnd(header.id, std::max<int64_t>(hang_ms, 2'050) * kNsPerMs));
    if (cause.tag == "cover") AddTrace(cause, header);
  }

  // Before the hang: other covers, one after the other, while a pool's thread waits for work.
  void AddTrace(const Cause& cause, const report::ReportHeader& header) {
    constexpr int64_t kWindowMs = 5'000;
    TraceBuilder builder;
    builder.trace.process_name = cause.app;
    builder.trace.pid = static_cast<int32_t>(header.pid);
    builder.trace.threads[0] = {
        .tid = static_cast<int32_t>(header.tid), .name = "ui", .runs = {}, .calls = {}, .dispatches = {}};
    builder.trace.modules[0].path = "/usr/bin/" + cause.app;
    for (int64_t at_ms = 0; at_ms < kWindowMs; at_ms += 10) {
      const bool is_loading = at_ms % 700 < 500;
      builder.Sample(at_ms, is_loading ? "main;EventLoop::Run;Player::OnFrame;Library::LoadCover;Http::Fetch"
                                       : "main;EventLoop::Run;Player::OnFrame;Player::Draw");
    }
    const uint32_t worker = builder.AddThread("worker");
    builder.Wait(worker, 100, kWindowMs, "Pool::Run;Pool::Wait;pthread_cond_wait",
                 trace::CallKind::kCondition);
    report::TraceRecord record = TraceOf(header.id, builder.trace, header.start_wall_ms);
    record.app = header.app;
    record.app_version = header.app_version;
    record.user = header.user;
    record.begin_wall_ms = static_cast<uint64_t>(header.start_wall_ms - kWindowMs);
    record.duration_ns = kWindowMs * kNsPerMs;
    seeder_->Add(report::RecordType::kTrace, report::EncodeTraceRecord(record));
  }

  static const char* DistributionOf(const std::string& user) {
    constexpr const char* kNames[] = {"Debian GNU/Linux 12 (bookworm)", "Ubuntu 24.04.1 LTS",
                                      "Fedora Linux 41"};
    return kNames[std::hash<std::string>()(user) % 3];
  }

  static Stack StackOf(const Cause& cause, int64_t which) {
    Stack stack = cause.stacks[static_cast<size_t>(which)];
    stack.insert(stack.end(), cause.callers.begin(), cause.callers.end());
    return stack;
  }

  static void AddWait(const Cause& cause, SampleReport* report) {
    report->waits = {{.fields = {.tid = report->header.tid,
                                 .lock = {.address = 0x7ffd29eaade0,
                                          .kind = report::LockKind::kMutex,
                                          .waits_for = report::WaitsFor::kOwner,
                                          .owner_tid = static_cast<int32_t>(report->header.tid) + 7},
                                 .owner_name = "indexer"},
                      .stack = report->stack,
                      .owner_stack = cause.owner}};
    report->wait_outcome = report::WaitOutcome::kLock;
  }

  Seeder* const seeder_;
};

}  // namespace

void SeedStory(Seeder* seeder) { Story(seeder).Tell(); }

}  // namespace lagwatch::testing

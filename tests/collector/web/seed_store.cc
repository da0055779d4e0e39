// SPDX-License-Identifier: Apache-2.0
// Fills a collector's data directory with what the page's tests and pictures are about.
//
//   seed_store DATA story       two programs' two weeks: what froze them, what was fixed, what came back
//   seed_store DATA hostile     one report each of whose texts would be a script, were it taken for HTML
//   seed_store DATA implausible reports with numbers and times that no program has: one with them everywhere,
//   and one for
//                               each number; and two as they should be
//   seed_store DATA many COUNT  as many causes, of one report each
//   seed_store DATA large       a report of the largest size that the collector takes
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collector/ingest/ingest.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/collector/sample_traces.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::testing {
namespace {

using policies::VerdictWord;
using Stack = std::vector<std::string>;

constexpr int64_t kMsPerHour = 3'600'000;
constexpr int64_t kMsPerDay = 24 * kMsPerHour;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int kDays = 14;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "seed_store: %s\n", why.c_str());
  std::exit(1);
}

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
  std::vector<Stack> stacks;  // what its samples show, the most expensive first
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

policies::Verdict VerdictOf(VerdictWord word, int64_t wall_ns) {
  policies::Verdict verdict{.word = word, .shares = {.wall_ns = wall_ns}};
  auto& shares = verdict.shares;
  const int64_t most = wall_ns * 9 / 10;
  shares.user_ns = wall_ns - most;
  switch (word) {
    case VerdictWord::kCpu:
      shares.user_ns = most, shares.kernel_ns = wall_ns - most;
      break;
    case VerdictWord::kLock:
      shares.lock_ns = most;
      break;
    case VerdictWord::kDisk:
      shares.disk_ns = most;
      break;
    case VerdictWord::kMemory:
      shares.memory_ns = most;
      break;
    case VerdictWord::kNetwork:
      shares.network_ns = most;
      break;
    default:
      shares.run_queue_ns = most;
  }
  verdict.use.cpu_ns = shares.user_ns + shares.kernel_ns;
  verdict.use.minor_faults = word == VerdictWord::kMemory ? 5200 : 12;
  verdict.use.major_faults = word == VerdictWord::kMemory ? 310 : 0;
  verdict.use.voluntary_switches = word == VerdictWord::kCpu ? 0 : 9;
  return verdict;
}

class Seeder {
 public:
  explicit Seeder(const std::string& data) {
    std::filesystem::create_directories(data);
    auto store = collector::SqliteStore::Open(data + "/collector.db");
    if (!store.ok()) Fail(store.status().message());
    store_ = std::move(*store);
    ingest_ = std::make_unique<collector::Ingest>(store_.get(), collector::Clusterer::Create("").value());
  }

  void TellStory() {
    for (const auto& [app, releases] : Programs())
      for (const Release& release : releases)
        for (int day = release.last_day; day <= release.first_day; ++day) Use(app, release.version, day);
    for (const Cause& cause : Causes())
      for (const std::string& version : cause.versions) Freeze(cause, version);
    Flush();
  }

  void AddHostile() {
    const std::string text =
        R"(<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>)";
    SampleReport report;
    auto& header = report.header;
    StampHeader(now_ms_ - kMsPerHour, &header);
    header.app = header.app_version = header.user = header.os = header.machine = text;
    header.loop = header.tag = text;
    header.elapsed_ns = 90'000 * kNsPerMs;
    report.module_path = "/" + text;
    report.stack = {text, text + "2", "\"'><svg onload=document.title='owned'>", "main"};
    report.threads = {{text, {text}}};
    report.waits = {{.fields = {.tid = header.tid,
                                .lock = {.kind = report::LockKind::kMutex,
                                         .waits_for = report::WaitsFor::kOwner,
                                         .owner_tid = static_cast<int32_t>(header.tid) + 1},
                                .owner_name = text,
                                .owner_pid = 7,
                                .owner_process = text,
                                .owner_state = 'S',
                                .owner_session_id = header.session_id},  // of this report
                     .stack = report.stack,
                     .owner_stack = {text + "3", "main"}}};
    report.wait_outcome = report::WaitOutcome::kLock;
    report.verdict = VerdictOf(VerdictWord::kLock, 2'000 * kNsPerMs);
    report.history = {{.tag = text, .age_ns = 91'000 * kNsPerMs, .wall_ns = 5 * kNsPerMs}};
    report.facts = {{.name = text, .text = text}};
    Add(report::RecordType::kReport, report.Encode());
    Use(text, text, 0);
    Flush();
  }

  // The values go past the checks of ingest: a store may have got them before there were any.
  void AddImplausible() {
    AddPlainReport("before");
    for (const int64_t value : {kBeyondDatesMs, INT64_MAX, INT64_MIN, int64_t{-1}}) {
      const std::string name = "all " + std::to_string(value);
      AddReportWith(name, [&](SampleReport* report) {
        for (const Number& number : Numbers()) number.set(report, value);
      });
      Add(report::RecordType::kHangEnd, EncodeEnd(last_id_, value));
      AddImplausibleUse(value);
    }
    for (const Number& number : Numbers()) {
      AddReportWith(number.name, [&](SampleReport* report) { number.set(report, kBeyondDatesMs); });
      AddReportWith(std::string(number.name) + " most",
                    [&](SampleReport* report) { number.set(report, INT64_MAX); });
    }
    AddPlainReport("after");
    Use("implausible", "1.0", 0);
    Flush();
  }

  // 400 samples of 250 frames each, all different, and 500 threads.
  void AddLarge() {
    constexpr int kSamples = 400, kFrames = 250, kThreads = 500, kFramesOfAThread = 60;
    SampleReport report;
    StampHeader(now_ms_ - kMsPerHour, &report.header);
    report.header.app = "large";
    report.room_bytes = 16 << 20;
    report.header.elapsed_ns = 40'000 * kNsPerMs;
    const auto stack = [](const std::string& leaf, int of, int frames) {
      Stack names = {"Leaf" + leaf};
      for (int i = 1; i < frames - 1; ++i)
        names.push_back("Outer::Inner" + std::to_string((of * 7 + i) % 20'000) + "::Call");
      names.emplace_back("main");
      return names;
    };
    for (int i = 0; i < kSamples; ++i) report.samples.push_back(stack(std::to_string(i), i * 40, kFrames));
    report.stack = report.samples.front();
    for (int i = 0; i < kThreads; ++i)
      report.threads.push_back({"worker" + std::to_string(i), stack("OfThread", i * 13, kFramesOfAThread)});
    report.verdict = VerdictOf(VerdictWord::kCpu, 2'000 * kNsPerMs);
    Add(report::RecordType::kReport, report.Encode());
    Flush();
  }

  void AddMany(int count) {
    for (int i = 0; i < count; ++i) {
      SampleReport report;
      StampHeader(now_ms_ - Below(kDays * kMsPerDay), &report.header);
      report.header.elapsed_ns = (2000 + Below(3000)) * kNsPerMs;
      const std::string number = std::to_string(i);
      report.stack = {"Leaf" + number, "Caller" + number, "Outer", "main"};
      report.verdict = VerdictOf(static_cast<VerdictWord>(1 + i % 7), 2'000 * kNsPerMs);
      Add(report::RecordType::kReport, report.Encode());
      if (i % 5000 == 4999) std::fprintf(stderr, "seed_store: %d reports\n", i + 1);
    }
    Flush();
  }

 private:
  static constexpr int kRecordsOfABatch = 200;
  static constexpr int64_t kBeyondDatesMs = 8'640'000'000'000'001;  // past the last of JavaScript's dates

  // A number of a report.
  struct Number {
    const char* name;
    std::function<void(SampleReport*, int64_t)> set;
  };

  static const std::vector<Number>& Numbers() {
    static const auto narrow = [](int64_t value) { return static_cast<uint32_t>(value); };
    static const std::vector<Number> numbers = {
        {"id", [](auto* report, int64_t value) { report->header.id = base::CreateUuidV7(value); }},
        {"start_wall_ms", [](auto* report, int64_t value) { report->header.start_wall_ms = value; }},
        {"elapsed_ns", [](auto* report, int64_t value) { report->header.elapsed_ns = value; }},
        {"threshold_ms", [](auto* report, int64_t value) { report->header.threshold_ms = narrow(value); }},
        {"ordinal", [](auto* report, int64_t value) { report->header.ordinal = narrow(value); }},
        {"pid", [](auto* report, int64_t value) { report->header.pid = narrow(value); }},
        {"tid", [](auto* report, int64_t value) { report->header.tid = narrow(value); }},
        {"cpu_window_ns", [](auto* report, int64_t value) { report->header.cpu_window_ns = value; }},
        {"cpu_thread_ns", [](auto* report, int64_t value) { report->header.cpu_thread_ns = value; }},
        {"cpu_process_ns", [](auto* report, int64_t value) { report->header.cpu_process_ns = value; }},
        {"sample_cpu_ns", [](auto* report, int64_t value) { report->sample_cpu_ns = {value}; }},
        {"history",
         [](auto* report, int64_t value) {
           report->history = {{.tag = "past", .age_ns = value, .wall_ns = value, .cpu_ns = value}};
         }},
        {"verdict_wall_ns", [](auto* report, int64_t value) { report->verdict.shares.wall_ns = value; }},
        {"verdict_user_ns", [](auto* report, int64_t value) { report->verdict.shares.user_ns = value; }},
        {"verdict_lock_ns", [](auto* report, int64_t value) { report->verdict.shares.lock_ns = value; }},
        {"verdict_cpu_ns", [](auto* report, int64_t value) { report->verdict.use.cpu_ns = value; }},
        {"minor_faults", [](auto* report, int64_t value) { report->verdict.use.minor_faults = value; }},
        {"suspended_ns", [](auto* report, int64_t value) { report->discounted.suspended_ns = value; }},
        {"stopped_ns", [](auto* report, int64_t value) { report->discounted.stopped_ns = value; }},
        {"debugger_pid",
         [](auto* report, int64_t value) { report->discounted.debugger_pid = static_cast<int>(value); }},
        {"facts", [](auto* report, int64_t value) {
           for (const char* name : {"rss_bytes", "capture_pause_us", "cpu_pressure_permille",
                                    "load_1_permille", "battery_percent", "waits_for_pid", "uptime_ms"})
             report->facts.push_back({.name = name, .number = value, .text = {}});
         }}};
    return numbers;
  }

  void AddReportWith(const std::string& name, const std::function<void(SampleReport*)>& change) {
    SampleReport report;
    StampHeader(now_ms_ - kMsPerHour, &report.header);
    report.header.app = "implausible";
    report.header.tag = name;
    report.stack = {"Leaf " + name, "Caller", "main"};
    report.verdict = VerdictOf(VerdictWord::kCpu, 2'000 * kNsPerMs);
    change(&report);
    last_id_ = report.header.id;
    Add(report::RecordType::kReport, report.Encode());
  }

  void AddPlainReport(const std::string& name) {
    AddReportWith(name, [](SampleReport*) {});
  }

  void AddImplausibleUse(int64_t value) {
    report::Usage usage{.id = base::CreateUuidV7(now_ms_),
                        .session_id = base::CreateUuidV7(now_ms_),
                        .app = "implausible",
                        .app_version = std::to_string(value),
                        .user = "u",
                        .begin_wall_ms = static_cast<uint64_t>(value),
                        .end_wall_ms = static_cast<uint64_t>(value)};
    usage.loops = {{"ui",
                    {.watched_ns = value,
                     .dispatches = static_cast<uint64_t>(value),
                     .hangs = static_cast<uint64_t>(value),
                     .hang_ns = value}}};
    Add(report::RecordType::kUsage, EncodeUsage(usage));
  }

  void Add(report::RecordType type, const std::string& encoded) {
    report::AppendToBatch({type, encoded}, &batch_);
    if (++records_ == kRecordsOfABatch) Flush();
  }

  void Flush() {
    if (records_ == 0) return;
    const auto result = ingest_->Submit(batch_);
    if (!result.ok()) Fail(result.status().message());
    if (result->rejected > 0) Fail("a record was rejected");
    batch_.clear();
    records_ = 0;
  }

  int64_t Below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  void StampHeader(int64_t start_ms, report::ReportHeader* header) {
    header->id = header->hang_id = base::CreateUuidV7(start_ms);
    header->session_id = base::CreateUuidV7(start_ms);
    header->start_wall_ms = start_ms;
  }

  // Adds the usage of the version on a day, with its hangs.
  void Use(const std::string& app, const std::string& version, int day) {
    for (int user = 0; user < 12; ++user) {
      const int64_t begin_ms = BeginOf(day) + Below(8 * kMsPerHour);
      const int64_t watched_ms = kMsPerHour + Below(5 * kMsPerHour);
      const bool is_better = version == "2.4.0";
      const int64_t hang_ms = Below(is_better ? 9'000 : 24'000) * (1 + user % 3);
      report::Usage usage{.id = base::CreateUuidV7(begin_ms),
                          .session_id = base::CreateUuidV7(begin_ms),
                          .app = app,
                          .app_version = version,
                          .user = "u-" + std::to_string(user),
                          .begin_wall_ms = static_cast<uint64_t>(begin_ms),
                          .end_wall_ms = static_cast<uint64_t>(begin_ms + watched_ms)};
      usage.loops = {{"ui",
                      {.watched_ns = watched_ms * kNsPerMs,
                       .dispatches = 40'000,
                       .hangs = static_cast<uint64_t>(hang_ms / 2500),
                       .hang_ns = hang_ms * kNsPerMs,
                       .durations = DurationsOf(begin_ms < BeginOf(day) + 2 * kMsPerHour),
                       .background = {.watched_ns = watched_ms / 4 * kNsPerMs,
                                      .hangs = static_cast<uint64_t>(hang_ms / 10'000),
                                      .hang_ns = hang_ms / 3 * kNsPerMs}}}};
      Add(report::RecordType::kUsage, EncodeUsage(usage));
    }
  }

  // Short dispatches are far more frequent than long ones; those of a second come in a part of the day.
  static policies::DurationHistogram DurationsOf(bool has_long) {
    policies::DurationHistogram durations;
    for (size_t i = 0; i < durations.counts.size(); ++i) durations.counts[i] = uint64_t{38'000} >> (2 * i);
    if (has_long) durations.counts[11] = 40;
    return durations;
  }

  // Today's early hours may not have come yet: a day ends now.
  int64_t BeginOf(int day) const { return now_ms_ - (day + 1) * kMsPerDay + kMsPerHour; }

  void Freeze(const Cause& cause, const std::string& version) {
    const auto& programs = Programs();
    const auto program =
        std::ranges::find(programs, cause.app, &std::pair<std::string, std::vector<Release>>::first);
    const auto release = std::ranges::find(program->second, version, &Release::version);
    for (int day = release->last_day; day <= release->first_day; ++day)
      for (int i = 0; i < cause.reports_a_day; ++i)
        FreezeOnce(cause, version, BeginOf(day) + Below(20 * kMsPerHour));
  }

  void FreezeOnce(const Cause& cause, const std::string& version, int64_t start_ms) {
    const std::string user = "u-" + std::to_string(Below(12));
    const int64_t hang_ms = cause.usual_ms * (60 + Below(120)) / 100;
    SampleReport report;
    auto& header = report.header;
    StampHeader(start_ms, &header);
    header.app = cause.app;
    header.app_version = version;
    header.user = user;
    header.distribution = DistributionOf(user);
    header.tag = cause.tag;
    header.elapsed_ns = 2'000 * kNsPerMs;
    // The editor's outlines are a plug-in's.
    report.module_path = cause.tag == "paste" ? "/opt/editor/plugins/liboutline.so" : "/usr/bin/" + cause.app;
    for (int i = 0; i < 20; ++i)
      report.samples.push_back(StackOf(cause, Below(10) < 6 ? 0 : Below(std::ssize(cause.stacks))));
    report.stack = StackOf(cause, 0);
    report.threads = {{"worker", {"Pool::Wait", "Pool::Run"}}};
    report.verdict = VerdictOf(cause.word, 1'000 * kNsPerMs);
    if (!cause.owner.empty()) AddWait(cause, &report);
    for (int i = 6; i > 0; --i) {
      report.history.push_back({.tag = i % 2 ? "key" : "draw",
                                .age_ns = (2'000 + i * 90) * kNsPerMs,
                                .wall_ns = (4 + Below(30)) * kNsPerMs,
                                .cpu_ns = 2 * kNsPerMs});
    }
    std::string encoded = report.Encode();
    report::AppendCause(std::hash<std::string>()(cause.app + cause.tag), &encoded);
    Add(report::RecordType::kReport, encoded);
    Add(report::RecordType::kHangEnd, EncodeEnd(header.id, std::max<int64_t>(hang_ms, 2'050) * kNsPerMs));
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
    Add(report::RecordType::kTrace, report::EncodeTraceRecord(record));
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

  std::unique_ptr<collector::Store> store_;
  std::unique_ptr<collector::Ingest> ingest_;
  std::mt19937_64 random_{42};
  const int64_t now_ms_ = base::SystemClock().WallMs();
  base::Uuid last_id_;  // of the report that AddReportWith made last
  std::string batch_;
  int records_ = 0;
};

int Main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[2] : "";
  if (what != "story" && what != "hostile" && what != "implausible" && what != "large" &&
      !(what == "many" && argc == 4))
    Fail("usage: seed_store DATA story|hostile|implausible|large|many COUNT");
  Seeder seeder(argv[1]);
  if (what == "story") seeder.TellStory();
  if (what == "hostile") seeder.AddHostile();
  if (what == "large") seeder.AddLarge();
  if (what == "implausible") seeder.AddImplausible();
  if (what == "many") seeder.AddMany(std::atoi(argv[3]));
  return 0;
}

}  // namespace
}  // namespace lagwatch::testing

int main(int argc, char** argv) { return lagwatch::testing::Main(argc, argv); }

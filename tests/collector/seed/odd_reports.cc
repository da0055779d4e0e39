// SPDX-License-Identifier: Apache-2.0
// Reports of texts and numbers that no program has.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/collector/seed/seeder.h"
#include "tests/collector/seed/seeds.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::testing {
namespace {

using policies::VerdictWord;

class Implausible {
 public:
  explicit Implausible(Seeder* seeder) : seeder_(seeder) {}

  void AddAll() {
    AddPlainReport("before");
    for (const int64_t value : {kBeyondDatesMs, INT64_MAX, INT64_MIN, int64_t{-1}}) {
      const std::string name = "all " + std::to_string(value);
      AddReportWith(name, [&](SampleReport* report) {
        for (const Number& number : Numbers()) number.set(report, value);
      });
      seeder_->Add(report::RecordType::kHangEnd, EncodeEnd(last_id_, value));
      AddImplausibleUse(value);
    }
    for (const Number& number : Numbers()) {
      AddReportWith(number.name, [&](SampleReport* report) { number.set(report, kBeyondDatesMs); });
      AddReportWith(std::string(number.name) + " most",
                    [&](SampleReport* report) { number.set(report, INT64_MAX); });
    }
    AddPlainReport("after");
    seeder_->AddUse("implausible", "1.0", 0);
  }

 private:
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
    Seeder::StampHeader(seeder_->now_ms() - kMsPerHour, &report.header);
    report.header.app = "implausible";
    report.header.tag = name;
    report.stack = {"Leaf " + name, "Caller", "main"};
    report.verdict = VerdictOf(VerdictWord::kCpu, 2'000 * kNsPerMs);
    change(&report);
    last_id_ = report.header.id;
    seeder_->Add(report::RecordType::kReport, report.Encode());
  }

  void AddPlainReport(const std::string& name) {
    AddReportWith(name, [](SampleReport*) {});
  }

  void AddImplausibleUse(int64_t value) {
    report::Usage usage{.id = base::CreateUuidV7(seeder_->now_ms()),
                        .session_id = base::CreateUuidV7(seeder_->now_ms()),
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
    seeder_->Add(report::RecordType::kUsage, EncodeUsage(usage));
  }

  Seeder* const seeder_;
  base::Uuid last_id_;  // of the report that AddReportWith made last
};

}  // namespace

void SeedHostile(Seeder* seeder) {
  const std::string text =
      R"(<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>)";
  SampleReport report;
  auto& header = report.header;
  Seeder::StampHeader(seeder->now_ms() - kMsPerHour, &header);
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
  seeder->Add(report::RecordType::kReport, report.Encode());
  seeder->AddUse(text, text, 0);
}

// The values go past the checks of ingest: a store may have got them before there were any.
void SeedImplausible(Seeder* seeder) { Implausible(seeder).AddAll(); }

}  // namespace lagwatch::testing

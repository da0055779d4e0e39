// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>

#include "collector/sentry/intake.h"

namespace lagwatch::collector {
namespace {

const prometheus::Histogram::BucketBoundaries kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                          0.25,  0.5,    1,     2.5,  5,     10};

// Of a number that is counted elsewhere.
void Raise(prometheus::Counter* counter, double to) {
  counter->Increment(std::max(to - counter->Value(), 0.0));
}

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& answers =
      Counters("lagwatch_http_answers_total", "Answers by endpoint and HTTP status");
  prometheus::Family<prometheus::Histogram>& times =
      prometheus::BuildHistogram()
          .Name("lagwatch_http_seconds")
          .Help("Time from a whole request to its answer, by endpoint")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& records =
      Counters("lagwatch_records_total", "Records of uploads by result");
  prometheus::Family<prometheus::Counter>& sentry_drops =
      Counters("lagwatch_sentry_items_dropped_total", "Items of Sentry's envelopes without a hang, by type");
  prometheus::Family<prometheus::Counter>& sentry_events = Counters(
      "lagwatch_sentry_events_dropped_total",
      "Events of Sentry's SDKs that are no hangs, by kind: crash, error, message, or observed, which may be "
      "hangs in unknown words");
  prometheus::Family<prometheus::Counter>& sentry_hangs =
      Counters("lagwatch_sentry_hangs_total", "Hangs in Sentry's envelopes, by what they were recognized by");
  prometheus::Counter& refused_connections =
      Counters("lagwatch_connections_refused_total", "Connections closed because there were too many")
          .Add({});
  prometheus::Gauge& connections = Gauges("lagwatch_connections", "Connections that are open").Add({});
  prometheus::Gauge& bytes_in_flight =
      Gauges("lagwatch_bytes_in_flight", "Bytes of bodies that are being read or stored").Add({});
  prometheus::Gauge& keyless_bytes_in_flight =
      Gauges("lagwatch_keyless_bytes_in_flight", "The same of bodies whose key is not in the head").Add({});
  prometheus::Gauge& disk_free_bytes =
      Gauges("lagwatch_disk_free_bytes", "Free bytes of the data directory's file system").Add({});
  prometheus::Counter& refused_batches =
      Counters("lagwatch_refused_batches_total", "Batches of which ClickHouse refused rows permanently")
          .Add({});
  prometheus::Counter& dropped_batches = Counters("lagwatch_refused_batches_dropped_total",
                                                  "Refused batches removed because there were too many")
                                             .Add({});
  prometheus::Gauge& kept_batches =
      Gauges("lagwatch_refused_batches", "Refused batches that wait for an operator").Add({});
  prometheus::Gauge& kept_bytes =
      Gauges("lagwatch_refused_batches_bytes", "Size of the refused batches that wait for an operator")
          .Add({});
  prometheus::Family<prometheus::Gauge>& app_quotas =
      Gauges("lagwatch_app_quota_reports",
             "Reports of programs with a quota: the quota, and those stored and refused today");
  prometheus::Family<prometheus::Gauge>& sharing = Gauges(
      "lagwatch_senders_sharing",
      "Users and networks of today (UTC) that share a part of the hang time that counts, being too many");
  prometheus::Family<prometheus::Gauge>& store_bytes =
      Gauges("lagwatch_store_bytes",
             "Size of the database in SQLite: records, free pages, log, and its limit, 0: none");
  prometheus::Family<prometheus::Counter>& store_removed =
      Counters("lagwatch_store_quota_removed_total",
               "Days, and reports of these, that were removed because the store was too large");
  prometheus::Family<prometheus::Gauge>& build_info =
      Gauges("lagwatch_build_info", "1, of the program's version");
  prometheus::Family<prometheus::Histogram>& commit_times =
      prometheus::BuildHistogram()
          .Name("lagwatch_commit_seconds")
          .Help("Time of a group's transaction (write), and until the disk has it (sync)")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& steps =
      Counters("lagwatch_job_steps_total", "Steps of background jobs by result");
  prometheus::Family<prometheus::Counter>& step_times =
      Counters("lagwatch_job_seconds_total", "Time that background jobs took");
  prometheus::Gauge& queued_records =
      Gauges("lagwatch_queue_records", "Records that wait for a transaction").Add({});
  prometheus::Family<prometheus::Gauge>& damaged =
      Gauges("lagwatch_store_damaged",
             "Damaged databases: the one in use (present), and those set aside for repair (aside)");
  prometheus::Family<prometheus::Counter>& hangs =
      Counters("lagwatch_hangs_total", "Hangs that were received since the start");
  prometheus::Family<prometheus::Counter>& hung_s =
      Counters("lagwatch_hung_seconds_total", "Length of these hangs");
  prometheus::Family<prometheus::Gauge>& hang_users =
      Gauges("lagwatch_hang_users", "Users that had a hang today (UTC), since the start");
  prometheus::Family<prometheus::Counter>& watched_s =
      Counters("lagwatch_watched_seconds_total",
               "Watched time of loops that was received since the start; a sampled "
               "user's stands for others, too");
  prometheus::Family<prometheus::Gauge>& key_quotas =
      Gauges("lagwatch_key_quota", "Quotas of keys that were used: the limits, and what is left of them");
  prometheus::Counter& cpu_s =
      Counters("process_cpu_seconds_total", "Processor time of the process, in seconds").Add({});
  prometheus::Gauge& start_s =
      Gauges("process_start_time_seconds", "Start of the process, in seconds since 1970").Add({});
  prometheus::Gauge& resident_bytes =
      Gauges("process_resident_memory_bytes", "Resident memory of the process").Add({});
  prometheus::Gauge& virtual_bytes =
      Gauges("process_virtual_memory_bytes", "Virtual memory of the process").Add({});
  prometheus::Gauge& open_fds = Gauges("process_open_fds", "Open file descriptors of the process").Add({});
  prometheus::Gauge& most_fds = Gauges("process_max_fds", "Limit of open file descriptors").Add({});
  std::mutex set_mutex;  // of what raises a counter to a value

 private:
  prometheus::Family<prometheus::Counter>& Counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  prometheus::Family<prometheus::Gauge>& Gauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::CountAnswer(std::string_view path, int status, std::chrono::nanoseconds taken) {
  const std::string name(path);
  impl_->answers.Add({{"path", name}, {"code", std::to_string(status)}}).Increment();
  impl_->times.Add({{"path", name}}, kSeconds).Observe(std::chrono::duration<double>(taken).count());
}

void Metrics::CountRecords(const IngestResult& result) {
  const auto count = [&](const char* what, int64_t records) {
    impl_->records.Add({{"result", what}}).Increment(static_cast<double>(records));
  };
  count("accepted", result.accepted);
  count("duplicate", result.duplicates);
  count("rejected", result.rejected - result.refused - result.over_quota);
  count("refused", result.refused);
  count("over_quota", result.over_quota);
  count("bounded", result.bounded);
  count("folded", result.folded);
}

void Metrics::CountSentryItems(const SentryIntake& intake) {
  for (const auto& [rule, events] : intake.hangs)
    impl_->sentry_hangs.Add({{"recognized_by", rule}}).Increment(static_cast<double>(events));
  for (const auto& [type, items] : intake.dropped)
    impl_->sentry_drops.Add({{"type", type}}).Increment(static_cast<double>(items));
  for (const auto& [kind, events] : intake.dropped_events)
    impl_->sentry_events.Add({{"kind", kind}}).Increment(static_cast<double>(events));
}

void Metrics::CountRefusedConnection() { impl_->refused_connections.Increment(); }
void Metrics::SetConnections(uint64_t count) { impl_->connections.Set(static_cast<double>(count)); }
void Metrics::SetBytesInFlight(uint64_t bytes) { impl_->bytes_in_flight.Set(static_cast<double>(bytes)); }

void Metrics::SetKeylessBytesInFlight(uint64_t bytes) {
  impl_->keyless_bytes_in_flight.Set(static_cast<double>(bytes));
}
void Metrics::SetDiskFreeBytes(uint64_t bytes) { impl_->disk_free_bytes.Set(static_cast<double>(bytes)); }

void Metrics::SetRefusedBatches(const RefusedBatches& batches) {
  std::lock_guard lock(impl_->set_mutex);
  Raise(&impl_->refused_batches, static_cast<double>(batches.refused));
  Raise(&impl_->dropped_batches, static_cast<double>(batches.dropped));
  impl_->kept_batches.Set(static_cast<double>(batches.kept));
  impl_->kept_bytes.Set(static_cast<double>(batches.kept_bytes));
}

void Metrics::SetAppQuotas(const std::map<std::string, AppQuota::Use, std::less<>>& uses) {
  for (const auto& [app, use] : uses) {
    const auto set = [&](const char* what, int64_t reports) {
      impl_->app_quotas.Add({{"app", app}, {"what", what}}).Set(static_cast<double>(reports));
    };
    set("limit", use.reports_a_day);
    set("today", use.today);
    set("refused_today", use.refused_today);
    set("refused", use.refused);
  }
}

void Metrics::SetSharing(const WeightLimits::Sharing& sharing) {
  impl_->sharing.Add({{"of", "users"}}).Set(static_cast<double>(sharing.users));
  impl_->sharing.Add({{"of", "networks"}}).Set(static_cast<double>(sharing.networks));
}

void Metrics::SetStoreSize(const StoreSize& size, uint64_t most_bytes) {
  const auto set = [&](const char* what, uint64_t bytes) {
    impl_->store_bytes.Add({{"what", what}}).Set(static_cast<double>(bytes));
  };
  set("used", size.used_bytes);
  set("free", size.free_bytes);
  set("log", size.log_bytes);
  set("limit", most_bytes);
}

void Metrics::CountQuotaRemoval(int64_t reports) {
  impl_->store_removed.Add({{"what", "days"}}).Increment();
  impl_->store_removed.Add({{"what", "reports"}}).Increment(static_cast<double>(reports));
}

void Metrics::SetBuild(const std::string& version) { impl_->build_info.Add({{"version", version}}).Set(1); }

void Metrics::CountCommit(std::string_view part, std::chrono::nanoseconds taken) {
  impl_->commit_times.Add({{"part", std::string(part)}}, kSeconds)
      .Observe(std::chrono::duration<double>(taken).count());
}

void Metrics::CountStep(const std::string& job, bool is_ok, std::chrono::nanoseconds taken) {
  impl_->steps.Add({{"job", job}, {"result", is_ok ? "ok" : "failed"}}).Increment();
  impl_->step_times.Add({{"job", job}}).Increment(std::chrono::duration<double>(taken).count());
}

void Metrics::SetQueuedRecords(uint64_t records) { impl_->queued_records.Set(static_cast<double>(records)); }

void Metrics::SetDamaged(bool is_damaged, uint64_t set_aside) {
  impl_->damaged.Add({{"what", "present"}}).Set(is_damaged ? 1 : 0);
  impl_->damaged.Add({{"what", "aside"}}).Set(static_cast<double>(set_aside));
}

void Metrics::SetHangs(HangCounts* counts, int64_t now_wall_ms) {
  std::lock_guard lock(impl_->set_mutex);
  counts->ForEach(now_wall_ms, [&](const HangCounts::Version& of, const std::string& verdict,
                                   const HangCounts::Sums& sums) {
    const prometheus::Labels labels = {{"app", of.app}, {"version", of.version}, {"verdict", verdict}};
    Raise(&impl_->hangs.Add(labels), static_cast<double>(sums.hangs));
    Raise(&impl_->hung_s.Add(labels), sums.hung_s);
    impl_->hang_users.Add(labels).Set(static_cast<double>(sums.users.Count()));
  });
  counts->ForEachWatched([&](const HangCounts::Version& of, double watched_s) {
    Raise(&impl_->watched_s.Add({{"app", of.app}, {"version", of.version}}), watched_s);
  });
}

void Metrics::SetKeyQuotas(const std::vector<KeyUse>& uses) {
  for (const KeyUse& use : uses) {
    const auto set = [&](const char* what, double amount) {
      impl_->key_quotas.Add({{"key", use.name}, {"what", what}}).Set(amount);
    };
    if (use.quota.reports_per_s > 0) {
      set("reports_per_second", use.quota.reports_per_s);
      set("reports_left", use.reports_left);
    }
    if (use.quota.bytes_per_day > 0) {
      set("bytes_per_day", static_cast<double>(use.quota.bytes_per_day));
      set("bytes_left", use.bytes_left);
    }
  }
}

void Metrics::SetProcess(const ProcessUse& use) {
  std::lock_guard lock(impl_->set_mutex);
  Raise(&impl_->cpu_s, use.cpu_s);
  impl_->start_s.Set(use.start_wall_s);
  impl_->resident_bytes.Set(static_cast<double>(use.resident_bytes));
  impl_->virtual_bytes.Set(static_cast<double>(use.virtual_bytes));
  impl_->open_fds.Set(static_cast<double>(use.open_fds));
  impl_->most_fds.Set(static_cast<double>(use.most_fds));
}

std::string Metrics::ToText() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

namespace lagwatch::collector {
namespace {

const prometheus::Histogram::BucketBoundaries kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                          0.25,  0.5,    1,     2.5,  5,     10};

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
  prometheus::Family<prometheus::Gauge>& store_bytes =
      Gauges("lagwatch_store_bytes", "Size of a store with a limit: records, free pages, log and limit");
  prometheus::Family<prometheus::Counter>& store_removed =
      Counters("lagwatch_store_quota_removed_total",
               "Days, and reports of these, that were removed because the store was too large");

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

void Metrics::CountSentryDrops(const std::map<std::string, uint64_t>& dropped) {
  for (const auto& [type, items] : dropped)
    impl_->sentry_drops.Add({{"type", type}}).Increment(static_cast<double>(items));
}

void Metrics::CountRefusedConnection() { impl_->refused_connections.Increment(); }
void Metrics::SetConnections(uint64_t count) { impl_->connections.Set(static_cast<double>(count)); }
void Metrics::SetBytesInFlight(uint64_t bytes) { impl_->bytes_in_flight.Set(static_cast<double>(bytes)); }

void Metrics::SetKeylessBytesInFlight(uint64_t bytes) {
  impl_->keyless_bytes_in_flight.Set(static_cast<double>(bytes));
}
void Metrics::SetDiskFreeBytes(uint64_t bytes) { impl_->disk_free_bytes.Set(static_cast<double>(bytes)); }

void Metrics::SetRefusedBatches(const RefusedBatches& batches) {
  const auto raise = [](prometheus::Counter* counter, uint64_t to) {
    counter->Increment(std::max(static_cast<double>(to) - counter->Value(), 0.0));
  };
  raise(&impl_->refused_batches, batches.refused);
  raise(&impl_->dropped_batches, batches.dropped);
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

std::string Metrics::ToText() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
// The collector's command line. Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "collector/http/proxies/trusted_proxies.h"
#include "collector/http/server/http_limits.h"
#include "collector/http/server/tls.h"
#include "collector/http/upload.h"
#include "collector/ingest/trace_limits.h"
#include "collector/ingest/weight_limits.h"
#include "collector/query/json/source_template.h"
#include "collector/store/retention.h"
#include "policies/cluster/cluster_key.h"

namespace CLI {
class App;
}

namespace lagwatch::collector {

struct Flags {
  std::string listen = "127.0.0.1:8790";
  std::string data = "lagwatch-data";
  std::string store = "sqlite";  // or the URL of a ClickHouse
  std::vector<std::string> keys;
  std::vector<std::string> admin_tokens;
  BodyLimits limits;
  HttpLimits http;
  TlsFiles tls;
  std::vector<std::string> trusted_proxies;  // addresses and networks
  bool has_proxy_header = false;
  int threads = 1;
  std::string log_format = "text";
  std::string cluster_rules;
  policies::ClusterBy cluster_by = policies::ClusterBy::kSignificant;
  std::vector<std::string> symbol_directories;
  std::vector<std::string> debuginfod_urls;
  std::vector<std::string> sources;       // "APP=URL"
  std::vector<std::string> source_roots;  // "APP=DIRECTORY"
  uint64_t symbols_gib = 20;
  uint64_t debuginfod_gib = 10;
  int64_t retention_days = 90;
  std::vector<std::string> app_retention_days;  // "APP=DAYS"
  std::vector<std::string> app_quotas;          // "APP=REPORTS"
  uint64_t min_free_mib = 512;
  WeightBounds weights;
  std::optional<double> store_gib;
  TraceLimits traces;
  int64_t trace_retention_days = 30;
  std::string config;
  bool prints_public_key = false;
  bool prints_seal_key = false;

  bool HasClickHouse() const { return store != "sqlite"; }
  // Of flags that Check() found good.
  Retention ToRetention() const;
  std::map<std::string, int64_t, std::less<>> ToAppQuotas() const;
  SourceTemplates ToSources() const;
  uint64_t MostStoreBytes() const;  // 0: no limit
  TrustedProxies ToTrustedProxies() const;
  std::string ConfigPath() const { return config.empty() ? data + "/config.json" : config; }
  std::string AuditPath() const { return data + "/audit.jsonl"; }
  std::string KeyFilePath() const { return data + "/keys.json"; }
  std::string ConfirmedClockPath() const { return data + "/confirmed-clock"; }
  std::string SigningKeyPath() const { return data + "/signing-key"; }
  std::string SealKeyPath() const { return data + "/seal-key"; }
};

// Errors: kInvalid for flags that cannot hold together.
base::Status Check(const Flags& flags);

// `flags` must outlive `app`.
void Declare(Flags* flags, CLI::App* app);

}  // namespace lagwatch::collector

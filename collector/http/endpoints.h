// SPDX-License-Identifier: Apache-2.0
// The table of the collector's endpoints (collector/API.md). Context: background.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "collector/admin/audit_log.h"
#include "collector/admin/config_admin.h"
#include "collector/admin/deletions.h"
#include "collector/config/config_service.h"
#include "collector/files/disk_space.h"
#include "collector/http/server/endpoint.h"
#include "collector/http/upload.h"
#include "collector/ingest/app_quota.h"
#include "collector/ingest/ingest.h"
#include "collector/keys/key_file.h"
#include "collector/keys/key_ring.h"
#include "collector/maintenance/recluster_job.h"
#include "collector/maintenance/retention_job.h"
#include "collector/maintenance/store_quota.h"
#include "collector/query/json/annotated_causes.h"
#include "collector/query/json/json_text.h"
#include "collector/query/query_api.h"
#include "collector/query/report_feed.h"
#include "collector/query/symbols_api.h"
#include "collector/web/page_files.h"

namespace lagwatch::collector {

// The parts that the endpoints use; all borrowed, and must outlive them.
struct Services {
  const Ingest* ingest = nullptr;
  GroupCommit* commits = nullptr;  // null: each upload commits by itself
  const QueryApi* query_api = nullptr;
  KeyRing* keys = nullptr;
  ConfigService* config = nullptr;                 // null: there is no config for clients
  const KeyFile* key_file = nullptr;               // null: keys cannot be changed
  const ReportFeed* feed = nullptr;                // null: no events
  const AnnotatedCauses* causes = nullptr;         // null: nothing can be said of clusters
  ConfigAdmin* config_admin = nullptr;             // null: the config cannot be changed
  AuditLog* audit = nullptr;                       // null: nothing at all can be changed
  const ReclusterJob* recluster = nullptr;         // null: it has no progress
  Store* store = nullptr;                          // for deletions, and of refused batches
  Deletions* deletions = nullptr;                  // null: nothing can be deleted
  std::function<void()> wake_maintenance = {};     // there is something for it to do
  std::function<RetentionState()> retention = {};  // none: it has no state
  SymbolsApi* symbols = nullptr;                   // null: no symbol files are taken
  Metrics* metrics = nullptr;                      // null: nothing is counted
  const DiskSpace* disk = nullptr;                 // null: it is never full
  const StoreQuota* store_quota = nullptr;         // null: the store may be as large as it likes
  const AppQuota* app_quota = nullptr;             // null: no program has one
  WeightLimits* weights = nullptr;                 // null: records count as they say
  std::function<base::Status()> check_store = {};  // whether it answers
  HangCounts* hang_counts = nullptr;               // null: hangs are not counted
  std::function<void(Metrics*)> measure = {};      // sets further metrics before they are read
  std::function<std::string()> warning = {};       // for operators, in words; empty: none
  std::function<Json()> set_aside = {};            // damaged databases that wait for repair, an array
  std::span<const PageFile> page = {};             // none: there is no page
};

std::vector<Endpoint> CollectorEndpoints(const Services& services, const BodyLimits& limits);

// Parts of that table.

// Sets the parameters and fields of endpoints from openapi.json, which is the one list of them.
void DeclareNames(std::vector<Endpoint>* endpoints);

// The endpoints of administrators (collector/API.md, "Administration"); none without an audit log. A change
// is not made if its entry in the audit log could not be written.
void AddAdministration(const Services& services, std::vector<Endpoint>* endpoints);

// Serves the page's files, which are borrowed, without a key; the page requests its data with the reader's
// key. At each address that the page has for the reader it is the same page; without files these say so.
void AddPage(std::span<const PageFile> files, std::vector<Endpoint>* endpoints);

}  // namespace lagwatch::collector

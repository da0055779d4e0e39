// SPDX-License-Identifier: Apache-2.0
// /v1/admin/config and what else changes the operator's config over HTTP: the file that may as well be edited
// by hand. Each version is kept, so that it can be gone back to. Context: background. Thread-safe.
#pragma once

#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "collector/admin/audit_log.h"
#include "collector/config/config_service.h"
#include "collector/query/json/json_text.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

struct VersionedConfig {
  uint64_t version = 0;
  std::string content = {};

  bool operator==(const VersionedConfig&) const = default;
};

// The version is the entity tag; `if_match` of all changes is the If-Match header: 412 when another has
// changed the config since.
class ConfigAdmin {
 public:
  // `history_directory` need not be there yet. Borrows the rest.
  ConfigAdmin(std::string config_path, std::string history_directory, ConfigService* service,
              AuditLog* audit);

  // {"version", "config", "history": [{"version", "wall_ms"}], the newest first, "settings": [{"name",
  // "least", "most"}], its numbers}; "config" is null without one.
  base::Result<Response> Get() const;
  // {"version", "config"} of one of the history.
  base::Result<Response> GetVersion(std::string_view version) const;
  // `body` becomes the config when it is a good one. `query` may have "if_version": the version that the
  // caller knows; 409 when it is another by now.
  base::Result<Response> Put(std::string_view body, std::string_view query, std::string_view by,
                             std::string_view if_match = {});
  // `body` is {"version"}: that one's content becomes the config, as a new version.
  base::Result<Response> Rollback(std::string_view body, std::string_view by, std::string_view if_match = {});

  // `body` is {"user", "is_forced"}.
  base::Result<Response> PutAllowlist(std::string_view body, std::string_view by,
                                      std::string_view if_match = {});
  // Has `change` look at the config, which is nothing without one, and replaces it by what is returned, or
  // removes it. One that is taken has its version, or a higher one if the present version is not lower. An
  // invalid config is not shown. Errors: those of `change`, kInvalid for a bad config, kIo.
  using Exchanged = std::optional<VersionedConfig>;
  base::Status Exchange(const std::function<base::Result<Exchanged>(const Exchanged& here)>& change);

  // Removes `user` from the allowlist of the config and of all its earlier versions. Errors: kIo.
  base::Status EraseUser(const std::string& user, std::string_view by);
  // `body` is {"cluster", "app_version", "interval_us"}, of which only the first must be there. Replaces an
  // earlier request for the same cluster and version.
  base::Result<Response> AddCaptureRequest(std::string_view body, std::string_view by,
                                           std::string_view if_match = {});
  base::Result<Response> RemoveCaptureRequest(std::string_view cluster, std::string_view by,
                                              std::string_view if_match = {});
  // `body` is {"script", "app", "app_version", "user_share_ppm", "duration_s"}, of which only the first must
  // be there. Replaces an earlier request for the same script, program and version.
  base::Result<Response> AddProbeRequest(std::string_view body, std::string_view by,
                                         std::string_view if_match = {});
  base::Result<Response> RemoveProbeRequest(std::string_view script, std::string_view by,
                                            std::string_view if_match = {});

 private:
  using Edit = std::function<base::Status(Json* config)>;

  // Of one of the config's lists: the member `key` of each item, which names the subject.
  struct RequestList {
    const char* name;
    const char* key;
    const char* action;
    std::initializer_list<const char*> same;  // members by which two items are requests for the same
  };
  static const RequestList kCaptures;
  static const RequestList kProbes;
  base::Result<Response> AddRequest(const RequestList& list, std::string_view body, std::string_view by,
                                    std::string_view if_match);
  base::Result<Response> RemoveRequest(const RequestList& list, std::string_view subject, std::string_view by,
                                       std::string_view if_match);
  base::Result<Response> Change(const Edit& edit, std::string_view action, std::string_view subject,
                                std::string_view by, std::string_view if_match);
  base::Status Replace(const std::string& content);
  base::Status KeepVersion();
  base::Result<Json> Read() const;
  std::string HistoryPath(uint64_t version) const;

  const std::string config_path_;
  const std::string history_directory_;
  ConfigService* const service_;
  AuditLog* const audit_;
  mutable std::mutex mutex_;  // one change at a time
};

}  // namespace lagwatch::collector

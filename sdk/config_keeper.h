// SPDX-License-Identifier: Apache-2.0
// The remote config while the program runs: fetched when it is time, stored, and given to the sender. The
// watchdog's part of it is read at the next start (ApplyStoredConfig); a ban on writing takes effect at
// once. Context: background.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "report/config/config_fetcher.h"
#include "report/config/config_store.h"
#include "sdk/monitor.h"

namespace lagwatch::sdk {

// Thread safety: one thread at a time, the uploader's, except for Abort().
class ConfigKeeper {
 public:
  // `source` may be null: then the config of an earlier run stays in force. `clock` is borrowed.
  ConfigKeeper(std::unique_ptr<report::ConfigSource> source, report::ConfigStore store,
               const base::Clock* clock);

  ConfigKeeper(const ConfigKeeper&) = delete;
  ConfigKeeper& operator=(const ConfigKeeper&) = delete;

  // To be called once a round: fetches if it may and it is time to, which takes as long as the network does.
  void Poll(bool may_fetch);
  // The config in force; none: the program's own options are used.
  std::optional<report::RemoteConfig> config() { return store_.Current(clock_->WallMs()); }
  // Nothing may be sent.
  bool is_killed();
  // Takes the collector's version from an upload's answer; 0: it has none.
  void NoteVersion(uint64_t version) { fetcher_.NoteVersion(version, clock_->WallMs()); }
  void FetchSoon() { fetcher_.FetchSoon(); }
  // Makes a fetch under way, and all later ones, fail soon. From any thread.
  void Abort() {
    if (source_ != nullptr) source_->Abort();
  }

 private:
  std::unique_ptr<report::ConfigSource> source_;  // may be null
  report::ConfigStore store_;
  report::ConfigFetcher fetcher_;
  const base::Clock* clock_;
};

// The stored config that is in force for a monitor with these options; none: the options hold.
std::optional<report::RemoteConfig> StoredConfigFor(const MonitorOptions& options,
                                                    const report::PublicKey& key);
// Takes over its thresholds, times and requests for traces into the options of a monitor that
// is about to start. Returns false if the collector turns watching off.
bool ApplyStoredConfig(const report::PublicKey& key, MonitorOptions* options);

}  // namespace lagwatch::sdk

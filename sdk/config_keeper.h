// SPDX-License-Identifier: Apache-2.0
// The remote config while the program runs: fetched when it is time, kept, and given to whoever sends. What
// the watchdog takes of it is read at the next start (ApplyStoredConfig); that nothing may be written any
// more holds at once. Context: background.
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

// Thread safety: one thread at a time, the uploader's, but for Abort().
class ConfigKeeper {
 public:
  // `source` may be null: then what an earlier run was told holds. `clock` is borrowed.
  ConfigKeeper(std::unique_ptr<report::ConfigSource> source, report::ConfigStore store,
               const base::Clock* clock);

  ConfigKeeper(const ConfigKeeper&) = delete;
  ConfigKeeper& operator=(const ConfigKeeper&) = delete;

  // To be called once a round: fetches if it may and it is time to, which takes as long as the network does.
  void Poll(bool may_fetch);
  // What is in force now; none: the program's own options hold.
  std::optional<report::RemoteConfig> config() { return store_.Current(clock_->WallMs()); }
  // Nothing may be sent.
  bool is_killed();
  // What an upload's answer says of the collector's version; 0: it has none.
  void NoteVersion(uint64_t version) { fetcher_.NoteVersion(version, clock_->WallMs()); }
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

// Takes the stored config's thresholds, times and wishes for traces over into the options of a monitor that
// is about to start. False when the collector wants nothing watched.
bool ApplyStoredConfig(const report::PublicKey& key, MonitorOptions* options);

}  // namespace lagwatch::sdk

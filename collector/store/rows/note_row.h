// SPDX-License-Identifier: Apache-2.0
// An annotation of a cluster, and the table of its columns in both stores. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "collector/store/rows/column.h"

namespace lagwatch::collector {

// The annotation of a cluster. `key` is as it was computed.
struct ClusterNote {
  std::string key;
  std::string title = {};        // shown instead of its frames; empty: none
  std::string link = {};         // to a tracker
  std::string state = {};        // "new", "known", "fixed", "ignored"; empty: new
  std::string fixed_in = {};     // the version that has no such reports any more
  std::string merged_into = {};  // the key of the cluster that its reports are shown in; empty: its own
  bool is_split = false;         // of level 1: its reports are shown in its level-2 clusters
  int64_t changed_wall_ms = 0;
  std::string changed_by = {};

  bool operator==(const ClusterNote&) const = default;
};

inline constexpr auto kNoteColumns = std::tuple(
    Column("key", &ClusterNote::key, NoSource()), Column("title", &ClusterNote::title, NoSource()),
    Column("link", &ClusterNote::link, NoSource()), Column("state", &ClusterNote::state, NoSource()),
    Column("fixed_in", &ClusterNote::fixed_in, NoSource()),
    Column("merged_into", &ClusterNote::merged_into, NoSource()),
    Column("is_split", &ClusterNote::is_split, NoSource()),
    Column("changed_wall_ms", &ClusterNote::changed_wall_ms, NoSource()),
    Column("changed_by", &ClusterNote::changed_by, NoSource()));

}  // namespace lagwatch::collector

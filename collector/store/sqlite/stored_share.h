// SPDX-License-Identifier: Apache-2.0
// A report of a hang, as the database has it. Context: background.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "collector/cluster/cause_sums.h"
#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/sqlite/sums_writer.h"
#include "policies/hang_account.h"

namespace lagwatch::collector {

// Selects what StoredShare::Read() reads.
#define LAGWATCH_KNOWN                                                                                  \
  "SELECT row, reports.id, level1, level2, segment, cause, start_wall_ms, kind, user, sample_rate_ppm," \
  " elapsed_ns, ordinal, end_ns, duration_ns, hang_ns, is_lead, is_blamed, session_id,"                 \
  " coalesce(own1, level1), coalesce(own2, level2), capped_ns"                                          \
  " FROM reports JOIN segments ON segments.id = segment"

struct StoredShare {
  int64_t row = 0;
  base::Uuid id;
  ReportPlace place;
  std::array<int64_t, 2> own_clusters{};  // by its own stack
  int64_t start_wall_ms = 0;
  std::string kind;
  std::string user;
  int64_t sample_rate_ppm = 0;
  int64_t elapsed_ns = 0;
  int64_t ordinal = 0;
  std::optional<int64_t> end_ns;
  std::optional<int64_t> duration_ns;
  bool is_blamed = false;  // by its end
  double capped_ns = 0;    // as in ReportRow
  policies::HangShare share;

  // A row of LAGWATCH_KNOWN.
  static StoredShare Read(const Statement& row) {
    StoredShare known;
    known.row = row.Int(0);
    known.id = row.Id(1);
    known.place = {.clusters = {row.Int(2), row.Int(3)},
                   .segment = row.Int(4),
                   .day = DayOf(known.id),
                   .cause = row.Int(5)};
    known.start_wall_ms = row.Int(6);
    known.kind = row.Text(7);
    known.user = CountedUser(row.Text(8), row.Id(17));
    known.sample_rate_ppm = row.Int(9);
    known.elapsed_ns = row.Int(10);
    known.ordinal = row.Int(11);
    known.end_ns = row.OptionalInt(12);
    known.duration_ns = row.OptionalInt(13);
    known.share = {row.Int(14), row.Int(15) != 0};
    known.is_blamed = row.Int(16) != 0;
    known.own_clusters = {row.Int(18), row.Int(19)};
    known.capped_ns = row.Real(20);
    return known;
  }

  Contribution ToContribution() const {
    return {.hangs = share.is_lead ? 1 : 0,
            .hang_ns = share.hang_ns,
            .duration_ns = duration_ns.value_or(elapsed_ns),
            .weight = WeightOf(sample_rate_ppm),
            .seen_ms = start_wall_ms,
            .capped_ns = capped_ns,
            .user = user};
  }
};

}  // namespace lagwatch::collector

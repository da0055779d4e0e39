// SPDX-License-Identifier: Apache-2.0
// Reports as the JSON that people's programs read: part of the API, so keys keep their meaning.
// Context: background; pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "collector/cluster/named_stacks.h"
#include "collector/query/json/json_text.h"
#include "collector/store/store.h"
#include "collector/symbols/names/symbol_namer.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// Errors: kInternal when it is damaged.
base::Result<report::Report> DecodeStored(const StoredReport& stored);

// The end of a run.
Json ExitJson(const RunEndRow& end);
// Without stacks; `cause` are the frames of its level-1 cluster.
Json ReportHeaderJson(const ReportRow& row, const std::vector<std::string>& cause);
// The text of `rest`, which is an object, with the samples and threads added. These may have 135,000 frames:
// each is written as text at once, because a tree of all of them takes hundreds of MiB. With `has_table`,
// their stacks are numbers in an array `frames`, which has each frame once.
std::string ReportText(const Json& rest, const report::Report& report, const SymbolNamer& namer,
                       const NamedStacks& names, bool has_table);
// Adds the expensive stack and the threads' common facts.
void AddStacks(const report::Report& report, const SymbolNamer& namer, const NamedStacks& names, Json* json);
// Adds the wait chain; `names` select the function that each thread is shown at.
void AddWaits(const report::Report& report, const SymbolNamer& namer, const NamedStacks& names, Json* json);
// Adds the report's other fields, those of field_tables.h, and its facts. Members that are there already
// stay.
void AddCircumstances(const report::Report& report, Json* json);
// Adds, to a report of average CPU use, the tree of where the CPU time went, innermost functions first.
void AddCostTree(const report::Report& report, Json* json);
// A loop's frames in a scene.
Json FramesJson(const FrameSummary& summary);
Json LossJson(const LossRow& loss);
// The expensive stack alone.
Json ExpensiveStackJson(const report::Report& report, const SymbolNamer& namer, const NamedStacks& names);

}  // namespace lagwatch::collector

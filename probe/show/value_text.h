// SPDX-License-Identifier: Apache-2.0
// Single values as text. Context: background.
#pragma once

#include <string>
#include <string_view>

#include "probe/program.h"
#include "probe/show/formats.h"
#include "probe/show/results.h"

namespace lagwatch::probe {

// "1.25ms", "812ns".
std::string DurationText(int64_t ns);
// For people: durations with their unit, addresses by name, stacks on lines of their own.
std::string ValueText(Shown shown, const ResultValue& value, const AddressNamer& namer);
// As a value of JSON.
std::string ValueJson(Shown shown, const ResultValue& value, const AddressNamer& namer);
std::string QuotedJson(std::string_view text);
// The number of a row: the sum, the average …; not of histograms.
double RowNumber(const Aggregate& aggregate, const ResultRow& row);
std::string RowText(const Aggregate& aggregate, const ResultRow& row);
// "12", "0.5": the shortest form that is the same number.
std::string NumberText(double number);

}  // namespace lagwatch::probe

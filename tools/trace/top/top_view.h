// SPDX-License-Identifier: Apache-2.0
// The text that `lagwatch trace top` shows. Context: background; pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/trace/top/live_times.h"

namespace lagwatch::tools {

// The view's settings.
struct TopView {
  bool is_by_total = false;
  bool has_waits = false;
  bool is_since_begin = false;
  bool is_paused = false;
  bool has_help = false;
  size_t first_row = 0;
};

// So many functions, in lines no longer than `columns` (0: any).
struct PageSize {
  size_t rows;
  size_t columns;
};

// The process, the view's settings, the functions; ends with a newline. Without colours it holds
// no escape sequences.
std::string TopPage(const LiveTimes::Moment& moment, const std::vector<LiveTimes::FunctionTimes>& functions,
                    const TopView& view, const PageSize& size, bool has_colours);

// The lines of a page besides its rows.
size_t TopHeadLines(const LiveTimes::Moment& moment);
// Returns the number of functions that a page of any length would show.
size_t TopRowCount(const LiveTimes::Moment& moment, const TopView& view);

// The keys, in one line, and at length.
std::string TopKeys(bool has_colours);
std::string TopHelp();

}  // namespace lagwatch::tools

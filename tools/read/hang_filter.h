// SPDX-License-Identifier: Apache-2.0
// The filter of lists of hangs on the command line. Context: background.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collector/query/query_string.h"

namespace CLI {
class App;
}

namespace lagwatch::tools {

struct HangFilter {
  std::map<std::string, std::string> texts;  // by the API's name; empty: any
  int days = 0;                              // the last ones (UTC), today among them; 0: all

  void AddTo(collector::QueryString* query) const;
};

// "no version '2.4'; did you mean '2.4.0'?" if `text` is none of those that reports have; else empty.
std::string HintAt(const std::string& name, const std::string& text, const std::vector<std::string>& known);

// Declares --verdict, --days and the others that hold for any version and all users. `filter` must outlive
// the parsing. A word that is no verdict or kind is refused with the one that was probably meant.
void AddCommonFilterFlags(CLI::App* command, HangFilter* filter);
// Declares these, and --version, --user and the others.
void AddFilterFlags(CLI::App* command, HangFilter* filter);

}  // namespace lagwatch::tools

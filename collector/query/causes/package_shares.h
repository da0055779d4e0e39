// SPDX-License-Identifier: Apache-2.0
// Divides a hang's time by the code that spent it: plug-ins and other libraries, programs, packages of
// scripts. Context: background. Not thread-safe.
#pragma once

#include <map>
#include <string>

#include "collector/cluster/named_stacks.h"
#include "collector/query/json/json_text.h"
#include "collector/store/rows/report_row.h"
#include "report/format/report.h"

namespace lagwatch::collector {

class PackageShares {
 public:
  static constexpr size_t kMostListed = 10;

  // A stack's time belongs to the package of its innermost function of the program's own; without one, to
  // that of its innermost function.
  void Add(const report::Stack& stack, const NamedStacks& names, double ns);

  // [{"package", "ms", "share"}], the most time first.
  Json ToJson() const;

 private:
  std::map<std::string, double> ns_;
  double all_ns_ = 0;
};

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
// Finds clusters that have a text in their names, whatever the case of its ASCII letters.
// Context: background; pure.
#pragma once

#include <string>
#include <string_view>

#include "collector/cluster/clusterer.h"

namespace lagwatch::collector {

class ClusterSearch {
 public:
  explicit ClusterSearch(std::string_view text);

  bool IsIn(std::string_view text) const;
  // In one of its frames, of its holder's, or in `via`.
  bool IsIn(const Cluster& cluster) const;

  // The same of a database's row, where names are as NamesToJson writes them.
  bool IsIn(const std::string& frames_json, std::string_view via, const std::string& held_by_json) const;

  // In lower case, as it stands in a name within a text of NamesToJson. Where that has it, IsIn is to be
  // asked; where it has not, the text is in none of the names.
  const std::string& in_json() const { return in_json_; }
  const std::string& text() const { return text_; }  // in lower case

 private:
  bool IsInNames(const std::string& json) const;

  std::string text_;
  std::string in_json_;
};

}  // namespace lagwatch::collector

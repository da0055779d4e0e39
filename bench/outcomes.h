// SPDX-License-Identifier: Apache-2.0
// Rows of reports compared with the truth, as bench/harness/outcomes.py has them.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace lagwatch::bench {

struct OutcomeRow {
  std::string suite;
  std::string recipe;
  int load = 1;
  std::string expected;  // word; empty if none is meant
  std::string word;      // of the report; empty without one
  std::string right;     // members of a JSON object
};

// Does nothing without a path.
inline void AppendRow(const std::string& path, const OutcomeRow& row) {
  std::FILE* file = path.empty() ? nullptr : std::fopen(path.c_str(), "a");
  if (file == nullptr) return;
  auto text = [](const std::string& value) { return value.empty() ? "null" : "\"" + value + "\""; };
  double machine = 0;
  getloadavg(&machine, 1);
  std::fprintf(file, "{\"suite\": %s, \"case\": %s, \"load\": %d, \"machine\": %.1f, ",
               text(row.suite).c_str(), text(row.recipe).c_str(), row.load, machine);
  std::fprintf(file, "\"expected\": %s, \"word\": %s, \"right\": {%s}}\n", text(row.expected).c_str(),
               text(row.word).c_str(), row.right.c_str());
  std::fclose(file);
}

inline std::string JsonMember(const char* name, bool value) {
  return "\"" + std::string(name) + "\": " + (value ? "true" : "false");
}

}  // namespace lagwatch::bench

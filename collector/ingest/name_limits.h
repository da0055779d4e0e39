// SPDX-License-Identifier: Apache-2.0
// Limits the names of programs, versions, loops and systems per project key: each is a row of sums in each of
// its causes. Names beyond the limit count under one name. Counted in memory, as quotas are: a restart resets
// it. Context: background. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace lagwatch::collector {

// Stands for all names beyond the bounds.
inline constexpr char kOtherNames[] = "(others)";

struct NameBounds {
  size_t apps = 100;
  size_t versions = 1000;  // of all programs together
  size_t places = 4000;    // loops and systems, of all versions together
  int64_t days = 7;        // after so many without a record, a name does not count any more
};

class NameLimits {
 public:
  explicit NameLimits(const NameBounds& bounds = {}) : bounds_(bounds) {}

  // Replaces names that are one too many. Returns whether it did.
  bool Bound(std::string_view project, int64_t now_wall_ms, std::string* app, std::string* version);
  // The same of a report, whose loop and system are bounded too.
  bool Bound(std::string_view project, int64_t now_wall_ms, std::string* app, std::string* version,
             std::string* loop, std::string* os);

 private:
  // By name, the last day that had it.
  using Names = std::map<std::string, int64_t>;
  struct KnownNames {
    Names apps, versions, places;
  };

  bool BoundProgram(KnownNames* known, int64_t day, std::string* app, std::string* version) const;
  bool TryTake(Names* names, const std::string& name, size_t limit, int64_t day) const;

  const NameBounds bounds_;
  std::mutex mutex_;
  std::map<std::string, KnownNames, std::less<>> projects_;  // guarded by mutex_
};

}  // namespace lagwatch::collector

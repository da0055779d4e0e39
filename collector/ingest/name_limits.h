// SPDX-License-Identifier: Apache-2.0
// Limits the names of programs, versions, loops and systems per project key: each is a row of sums in each of
// its causes. Names beyond the limit count under one name. Counted in memory, as quotas are: a restart resets
// it. Context: background. Thread-safe.
//
// A project key is public, so that a stranger may invent names. Half of the room is taken by whatever comes
// first; of the other half a network has a sixteenth of the whole. A name that three networks have brought
// takes the place of one that a single network has brought. Pinned names always have room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "collector/ingest/sender.h"

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
  // Whether an administrator has named the version of the program.
  using IsPinned = std::function<bool(const std::string& app, const std::string& version)>;

  explicit NameLimits(const NameBounds& bounds = {}) : bounds_(bounds) {}

  // To be called before Bound().
  void PinBy(IsPinned is_pinned) { is_pinned_ = std::move(is_pinned); }

  // Replaces names that are one too many. Returns whether it did.
  bool Bound(const Sender& sender, int64_t now_wall_ms, std::string* app, std::string* version);
  // The same of a report, whose loop and system are bounded too.
  bool Bound(const Sender& sender, int64_t now_wall_ms, std::string* app, std::string* version,
             std::string* loop, std::string* os);

 private:
  struct Name {
    int64_t day = 0;                         // the last one that had it
    std::vector<std::string> networks = {};  // that brought it, kSharedBy at most
    std::string charged = {};                // the network whose part it is of; empty: of none
  };
  struct Names {
    std::map<std::string, Name> known = {};
    std::map<std::string, Name> waiting = {};  // those beyond the limit, kMostWaiting at most
    std::map<std::string, size_t> parts = {};  // names of the second half, by network
    int64_t day = 0;                           // of the following one
    size_t displaced = 0;
  };
  struct KnownNames {
    Names apps, versions, places;
  };

  bool BoundProgram(const Sender& sender, KnownNames* known, int64_t day, std::string* app,
                    std::string* version) const;
  bool TryTake(Names* names, const std::string& name, size_t limit, int64_t day,
               const std::string& network) const;
  void Forget(Names* names, int64_t before_day) const;
  // Whether many networks have brought it; then a name that one has brought has lost its place.
  static bool TryDisplace(Names* names, const std::string& name, size_t limit, int64_t day,
                          const std::string& network);

  const NameBounds bounds_;
  IsPinned is_pinned_ = {};
  std::mutex mutex_;
  std::map<std::string, KnownNames, std::less<>> projects_;  // guarded by mutex_
};

}  // namespace lagwatch::collector

// SPDX-License-Identifier: Apache-2.0
// Units of systemd as their files say: the unit's own file and its drop-ins, found and merged by the rules of
// systemd.unit(5). Context: background.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::tools {

// The place of a manager's units.
struct UnitScope {
  std::filesystem::path root = "/";  // of another system's files
  bool is_user = false;              // the manager of this user, instead of the system's

  // The folder in which administrators keep their units and drop-ins, with `root`.
  std::filesystem::path OwnFolder() const;
  // All folders with units, the first one in force, with `root`.
  std::vector<std::filesystem::path> Folders() const;
};

// One line "key=value" of a unit.
struct UnitLine {
  std::string section;  // without brackets
  std::string key;
  std::string value;  // may be empty, which resets a list; continued lines are one
};

std::vector<UnitLine> ParseUnitLines(std::string_view text);

struct UnitFiles {
  std::string name;                             // with ".service"; the name that an alias stands for
  std::filesystem::path file;                   // the unit's own
  std::vector<std::filesystem::path> drop_ins;  // in the order in which they are read
  std::vector<UnitLine> lines;                  // of all files

  // The values of a list such as Service/ExecStart: those after the last reset.
  std::vector<std::string> Values(std::string_view section, std::string_view key) const;
  // The value of a single setting; empty without one.
  std::string Value(std::string_view section, std::string_view key) const;
  // Of a boolean; false also without one.
  bool IsOn(std::string_view section, std::string_view key) const;
};

// The service `name`, with or without ".service". Errors: kNotFound; kInvalid if it is masked or is a unit of
// another kind; kIo.
base::Result<UnitFiles> FindService(const UnitScope& scope, std::string name);

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
// The drop-in by which systemd runs a service under `lagwatch run`. Context: background; pure.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tools/service/unit_files.h"

namespace lagwatch::tools {

// Behind nearly all names, so that a drop-in of an administrator's that sets ExecStart= is kept, and run
// under lagwatch.
inline constexpr char kDropInName[] = "zz-lagwatch.conf";

struct DropInChoice {
  std::string lagwatch;                  // the program, by its absolute path
  std::vector<std::string> run_options;  // of `lagwatch run`
  bool is_user = false;                  // a unit of a user's manager
};

struct DropIn {
  std::filesystem::path file;
  std::string text;
  std::string spool;  // the directory of the reports, for people
};

// The name of the file for a service, in its scope.
std::filesystem::path DropInFile(const UnitScope& scope, const UnitFiles& unit);

// The program of a service's ExecStart= line; empty if it is known only when the service starts.
std::string ProgramOf(std::string_view exec_line);

// The drop-in for `unit`. Errors: kInvalid, saying why the service cannot be run under lagwatch and what to
// do instead.
base::Result<DropIn> MakeDropIn(const UnitScope& scope, const UnitFiles& unit, const DropInChoice& choice);

// Whether `text` is of MakeDropIn().
bool IsOwnDropIn(std::string_view text);

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lagwatch::sdk {

// Where reports wait when nobody says otherwise: $XDG_STATE_HOME or ~/.local/state, then lagwatch/spool; in
// the system's temporary directory, by user id, for a process without a home. Context: background.
std::string DefaultSpoolDirectory();

// The user's home by $HOME; empty when there is none. Context: background.
std::string HomeDirectory();

// The file name of the running program. Context: background.
std::string ProgramName();

}  // namespace lagwatch::sdk

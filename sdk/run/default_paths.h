// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lagwatch::sdk {

// The default spool directory: lagwatch/spool in $XDG_STATE_HOME or ~/.local/state. For a process without a
// home, lagwatch-UID directly in /tmp, where only its owner can replace it. Context: background.
std::string DefaultSpoolDirectory();

// The user's home by $HOME; empty when there is none. Context: background.
std::string HomeDirectory();

// The file name of the running program. Context: background.
std::string ProgramName();

}  // namespace lagwatch::sdk

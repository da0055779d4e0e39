// SPDX-License-Identifier: Apache-2.0
// The spool directory of another user's process that `lagwatch attach` watches. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// Whether the process runs as another user than this command, so that it can write to no spool of this one's.
bool IsOtherUsers(pid_t pid);

// A directory that the process can write to, by the path that it sees, created for its user where that is
// needed: a service's user has no home that exists, and may create none where services keep their files. It
// is `wanted`; or, if that is empty, the user's own default, or else one of /var/lib/lagwatch, the machine's
// temporary files and memory. Errors: kInvalid, saying why not and what to do.
base::Result<std::string> PrepareSpoolFor(pid_t pid, const std::string& wanted);

}  // namespace lagwatch::tools

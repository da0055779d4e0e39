// SPDX-License-Identifier: Apache-2.0
// The functions by which a process starts another program, put in front of the C library's own, so that
// programs are followed as exec_environment.h decides.
#pragma once

namespace lagwatch::sdk {

// Looks up the C library's functions: in a child of vfork() or fork() it would be too late, because the
// loader's lock may be held there. Context: background, in the library's constructor.
void FindExecFunctions();

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
// Calls that a program may also make by syscall(2): its hook forwards them to the hooks of the functions.
#pragma once

#include <csignal>

namespace lagwatch::sdk {

// Makes the system call SYS_execve, or SYS_execveat, as the hook of execve(), or execveat(), does
// (exec_hooks.cc). Context: any, a vfork() child included.
int ExecBySyscall(long number, long a, long b, long c, long d, long e);

// sigaltstack(2) as the program is to see it (signal_stack.cc). Context: signal.
int SetSignalStack(const stack_t* stack, stack_t* previous);

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
// Decides which programs are followed when a watched process calls exec or spawns a child, and makes the
// environment by which the next program loads this library. Design: docs/design/exec.md.
//
// Context: any, unless it says otherwise: a vfork() child included, which shares its parent's memory. Nothing
// here allocates, takes a lock or writes to shared memory except single flags.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::sdk {

// Prepares the next program's environment. `library` is this library's path. Context: background, in
// the library's constructor.
void SetUpFollowing(const PreloadConfig& config, const std::string& library);

// This process is watched from now on, also where it goes on after fork().
void NoteProcessWatched();
// It runs a loop, having returned to a wait: its children are no longer followed unless all are.
void NoteLoopRuns();
// Whether this process or the one that it was forked from runs a loop.
bool RunsLoop();

// No program is followed any more: the process is about to confine itself (seccomp), and reading files
// may end it.
void StopFollowing();
// The process was not confined after all.
void ResumeFollowing();

// Whether the caller is the process that loaded the library, or a child of fork() that watches a loop.
bool IsFollowedProcess();
// Whether a program was started in this process's place or as its child, and is followed.
bool HasHandedOn();

// A program about to be started.
struct ExecTarget {
  int directory_fd;  // AT_FDCWD, or as of execveat(2)
  const char* path;
  bool is_searched;  // in PATH, and a file that is no program is run by the shell, as by execvp(3)
  bool is_child;     // of the caller, as by posix_spawn(3)
};

// The sizes of an environment to be made; without pointers, the program is not followed and the caller's
// environment must be passed on untouched.
struct EnvironmentPlan {
  size_t pointer_count = 0;
  size_t text_bytes = 0;  // 0: no text of its own is needed

  bool is_followed() const { return pointer_count != 0; }
};
// Keeps the stack that a plan asks for below this.
inline constexpr size_t kMaxEnvironmentBytes = 64 << 10;

// `environment` is the one that the caller wants to give; may be null. Changes errno.
EnvironmentPlan PlanEnvironment(const ExecTarget& target, char* const* environment);
// Fills arrays of the planned sizes with `environment` and the library's variables.
void FillEnvironment(const EnvironmentPlan& plan, char* const* environment, char** pointers, char* text);

// Whether an environment, and of each variable the part that names are compared with, can be read. For exec
// the kernel returns EFAULT for what is not there: it is to find out, not we. Changes errno. Context: any,
// signal.
bool IsReadableArray(char* const* environment);

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
// Loads an agent into a JVM that runs, by the protocol that the JVM has for it: a file asks for a socket, and
// a line on the socket for the agent. Source: src/hotspot/os/linux/attachListener_linux.cpp. Context:
// background.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// Whether the process has loaded a JVM. False also if this user cannot know.
bool IsJvm(pid_t pid);
// Whether the process has loaded lagwatch's agent. False also if this user cannot know.
bool HasAgent(pid_t pid);

// Ok if the agent is installed, and this user may load it into the JVM, which sees its file. Errors:
// kNotFound, kInvalid, saying what works instead.
base::Status CheckCanAttachJvm(pid_t pid);

// Loads `library` with `options` into the JVM, and waits up to 10 s for each of its two answers. The agent is
// given the option `answer`, a file in which it writes why it failed. The JVM's user must be this one, or
// this one be root. Nothing is sent to a JVM that would take the signal for something else. Errors: kInvalid
// if the JVM cannot be attached to, kUnavailable if it does not answer or the agent failed, kIo.
base::Status LoadIntoJvm(pid_t pid, const std::filesystem::path& library, const std::string& options);

}  // namespace lagwatch::tools

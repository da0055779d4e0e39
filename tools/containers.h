// SPDX-License-Identifier: Apache-2.0
// The processes of a container: those of its pid namespace, and those that see its files. Context:
// background. Linux.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/owned_fd.h"
#include "base/status.h"

namespace lagwatch::tools {

class Container {
 public:
  // By its id (or the first 12 digits of it) or its name, as docker(1) and podman(1) say, or as they,
  // systemd-machined and LXC have it in control groups, or by its host name. Errors: kNotFound, with what was
  // tried.
  static base::Result<Container> Find(const std::string& name);

  bool Holds(pid_t pid) const;
  // Whether it holds no process any more. Then it never will, and its namespace may end.
  bool TakeEnd();
  // The first one that was started in it.
  pid_t first_process() const { return first_process_; }

 private:
  pid_t first_process_ = 0;
  std::string processes_;  // the namespace, as /proc/PID/ns/pid names it
  std::string files_;      // likewise, of mounts
  // The namespace that it is known by: its name is given to others once it has ended. Null: it has ended.
  std::shared_ptr<const base::OwnedFd> kept_;
};

// Whether both processes' path leads to the same file.
bool SeesSameFile(pid_t pid, const std::string& path);

// The path by which this process finds what process `pid` finds at `path`.
std::string PathSeenFromHere(pid_t pid, const std::string& path);

}  // namespace lagwatch::tools

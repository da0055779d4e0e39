// SPDX-License-Identifier: Apache-2.0
// The recorded process: a program started for it, or a running process. Context: background.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "tools/trace/data/recording.h"

namespace lagwatch::tools {

class Subject {
 public:
  // Starts the program of `options`, which is recorded from its first moment. `in_child` is called in it
  // before it is the program. Errors: kNotFound when there is no such program; kInvalid, kIo.
  static base::Result<std::unique_ptr<Subject>> Start(const RecordOptions& options,
                                                      const Recording& recording,
                                                      const std::function<void()>& in_child = {});
  // Has the process of `options` recorded from now on. Errors: kInvalid when it is not there or another
  // user's; those of AttachRecorder.
  static base::Result<std::unique_ptr<Subject>> Attach(const RecordOptions& options,
                                                       const Recording& recording);

  pid_t pid() const { return pid_; }
  // The program's, when it was started or attached to.
  const std::string& name() const { return name_; }
  bool is_ours() const { return is_ours_; }
  // Does not wait. True also for a process that has ended but was not reaped yet.
  bool HasEnded();
  void Signal(int signal_number);
  // Of a program that we started, as a shell says it; waits for its end. Of others 0, at once.
  int ExitCode();

 private:
  Subject(pid_t pid, std::string name, bool is_ours) : pid_(pid), name_(std::move(name)), is_ours_(is_ours) {}

  pid_t pid_;
  std::string name_;
  bool is_ours_;
  bool has_ended_ = false;
  int status_ = 0;
};

// The exit code that a shell returns when a program could not be started, or 2.
int ExitCodeOfRefusal(const base::Status& status);

}  // namespace lagwatch::tools

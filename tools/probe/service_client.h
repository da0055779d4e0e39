// SPDX-License-Identifier: Apache-2.0
// The console's side of the connection to a probed process. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "sdk/probe/probe_messages.h"

namespace lagwatch::tools {

// Not thread-safe.
class ServiceClient {
 public:
  // Connects to the socket of a process that serves consoles already. Errors: kNotFound if it does not.
  static base::Result<ServiceClient> Connect(pid_t pid);
  // The same, and has a process that does not serve consoles yet load the library for it. Errors: those of
  // CheckCanAttach(); kUnavailable, with the process's reason.
  static base::Result<ServiceClient> Open(pid_t pid);
  // As Open(), for methods of Java: has the JVM's agent serve consoles, which is loaded if it is not there.
  // Errors: kInvalid if the process is no JVM, else those of CheckCanAttachJvm() and LoadIntoJvm().
  static base::Result<ServiceClient> OpenJvm(pid_t pid);

  // To a service of this process, about process `pid`.
  static ServiceClient Over(base::OwnedFd fd, pid_t pid) { return {std::move(fd), pid}; }

  // The answer to a question. Errors: kInvalid with the process's reason; kUnavailable if it has ended.
  template <typename Answer, typename Question>
  base::Result<Answer> Ask(sdk::ProbeMessageKind kind, Question question, sdk::ProbeMessageKind expected) {
    const auto body = LAGWATCH_TRY(Exchange(sdk::EncodeProbeMessage(kind, std::move(question)), expected));
    auto answer = sdk::DecodeProbeBody<Answer>(body);
    if (!answer) return base::Status(base::StatusCode::kInternal, "the process's answer is damaged");
    return *std::move(answer);
  }
  // Waits up to `timeout_ms` for the connection's end, or for data that the process sends because it ends.
  void WaitForEnd(int timeout_ms);
  // The data that the process has sent because it ends.
  std::vector<sdk::ReadAnswer> TakeLast() { return std::exchange(last_, {}); }
  pid_t pid() const { return pid_; }
  // Whether the process answers no more.
  bool is_over() const { return is_over_; }
  // Whether it has ended; waits for a moment for that. False if it has become another program, or has closed
  // the connection of a console that was stopped for too long.
  bool HasProcessEnded() const;
  // Connects once more to the process if it lives and serves consoles.
  bool Reconnect();

 private:
  ServiceClient(base::OwnedFd fd, pid_t pid);

  base::Result<std::string> Exchange(const std::string& message, sdk::ProbeMessageKind expected);
  base::Status SendAll(const std::string& bytes);
  // A whole message, if one has come; waits for one for `timeout_ms`.
  std::optional<std::pair<sdk::ProbeMessageKind, std::string>> Receive(int timeout_ms);

  base::OwnedFd fd_;
  pid_t pid_;
  base::OwnedFd process_;  // a pidfd
  std::string received_;
  std::vector<sdk::ReadAnswer> last_;
  bool is_over_ = false;
};

}  // namespace lagwatch::tools

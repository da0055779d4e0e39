// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "tools/containers.h"
#include "tools/probe/service_client.h"
#include "tools/process_files.h"
#include "tools/run/java.h"
#include "tools/run/jvm_attach.h"
#include "tools/run/preload_attach.h"

namespace lagwatch::tools {
namespace {

uid_t UserOf(pid_t pid) {
  struct stat status {};
  return stat(ProcessFolder(pid).c_str(), &status) == 0 ? status.st_uid : 0;
}

// The folder that the process is asked to use.
std::string DirectoryOf(pid_t pid) {
  return sdk::ProbeDirectory(VariableOf(pid, "XDG_RUNTIME_DIR"), UserOf(pid));
}

// The paths of sockets that have a place for consoles of this process: it may have another user, root
// directory or environment by now than it had when it made its own.
std::vector<std::string> SocketsNamedAfter(pid_t pid) {
  const std::string end = sdk::ProbeSocketPath("", OwnPidOf(pid));
  std::vector<std::string> paths;
  std::ifstream sockets(ProcessFolder(pid) / "net" / "unix");
  for (std::string line; std::getline(sockets, line);) {
    const size_t begin = line.find(" /");
    if (begin != std::string::npos && line.ends_with(end)) paths.push_back(line.substr(begin + 1));
  }
  return paths;
}

base::OwnedFd ConnectTo(pid_t pid, const std::string& path) {
  base::OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (!fd || path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  // Another process may have the place.
  ucred credentials{};
  socklen_t size = sizeof credentials;
  const bool is_it =
      getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 && credentials.pid == pid;
  return is_it ? std::move(fd) : base::OwnedFd();
}

}  // namespace

base::Result<ServiceClient> ServiceClient::Connect(pid_t pid) {
  const std::string number = std::to_string(pid);
  if (base::Status status = CheckMayLookInto(pid); !status.ok()) return status;
  if (StatusField(pid, "State").starts_with("T"))
    return base::Status(base::StatusCode::kInvalid, "process " + number + " (" + CommandOf(pid) +
                                                        ") is stopped: continue it first (kill -CONT " +
                                                        number + ")");
  for (const std::string& path : SocketsNamedAfter(pid)) {
    // Of the root directory that it has, and of the one that it perhaps had (chroot).
    for (const std::string& seen : {PathSeenFromHere(pid, path), path})
      if (base::OwnedFd fd = ConnectTo(pid, seen)) return ServiceClient(std::move(fd), pid);
  }
  return base::Status(base::StatusCode::kNotFound,
                      "process " + number + " (" + CommandOf(pid) + ") has no probes: no script is armed");
}

base::Result<ServiceClient> ServiceClient::Open(pid_t pid) {
  if (auto connected = Connect(pid); connected.ok()) return connected;
  if (base::Status status = CheckCanAttach(pid); !status.ok()) return status;
  sdk::PreloadConfig config;
  config.probe_directory = DirectoryOf(pid);
  const auto path = LAGWATCH_TRY(OpenProbes(pid, config));
  base::OwnedFd fd = ConnectTo(pid, PathSeenFromHere(pid, path));
  if (!fd)
    return base::Status(base::StatusCode::kUnavailable,
                        "process " + std::to_string(pid) + " does not answer at its socket " + path);
  return ServiceClient(std::move(fd), pid);
}

ServiceClient::ServiceClient(base::OwnedFd fd, pid_t pid)
    : fd_(std::move(fd)), pid_(pid), process_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

bool ServiceClient::HasProcessEnded() const {
  // Its descriptors are closed before it has ended.
  constexpr int kPatienceMs = 500;
  pollfd polled{process_.get(), POLLIN, 0};
  return !process_ || poll(&polled, 1, kPatienceMs) > 0;
}

bool ServiceClient::Reconnect() {
  if (HasProcessEnded()) return false;
  auto again = Connect(pid_);
  if (again.ok()) *this = std::move(again).value();
  return again.ok();
}

base::Result<ServiceClient> ServiceClient::OpenJvm(pid_t pid) {
  if (auto connected = Connect(pid); connected.ok()) return connected;
  if (!IsJvm(pid))
    return base::Status(base::StatusCode::kInvalid,
                        "process " + std::to_string(pid) + " (" + CommandOf(pid) + ") is no JVM");
  if (base::Status status = CheckCanAttachJvm(pid); !status.ok()) return status;
  if (base::Status status = LoadIntoJvm(pid, FindAgent(), "probes=" + DirectoryOf(pid)); !status.ok())
    return status;
  return Connect(pid);
}

base::Status ServiceClient::SendAll(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t done = send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      is_over_ = true;
      return {base::StatusCode::kUnavailable, "the process has ended"};
    }
    sent += static_cast<size_t>(done);
  }
  return {};
}

std::optional<std::pair<sdk::ProbeMessageKind, std::string>> ServiceClient::Receive(int timeout_ms) {
  char piece[64 * 1024];
  const int64_t end_ns = base::SystemClock().MonoNs() + timeout_ms * base::kNsPerMs;
  while (true) {
    sdk::ProbeMessageHeader header;
    if (received_.size() >= sizeof header) {
      std::memcpy(&header, received_.data(), sizeof header);
      if (header.magic != sdk::kProbeMagic || header.body_bytes > sdk::kMaxProbeAnswerBytes) is_over_ = true;
      const size_t whole = sizeof header + header.body_bytes;
      if (!is_over_ && received_.size() >= whole) {
        std::string body = received_.substr(sizeof header, header.body_bytes);
        received_.erase(0, whole);
        return std::pair(static_cast<sdk::ProbeMessageKind>(header.kind), std::move(body));
      }
    }
    const int64_t left_ns = end_ns - base::SystemClock().MonoNs();
    if (is_over_ || left_ns < 0) return std::nullopt;
    pollfd polled{fd_.get(), POLLIN, 0};
    const int ready = poll(&polled, 1, static_cast<int>(left_ns / base::kNsPerMs));
    if (ready <= 0) {
      if (ready < 0 && errno == EINTR && timeout_ms == 0) return std::nullopt;
      if (ready == 0) return std::nullopt;
      continue;
    }
    const ssize_t got = recv(fd_.get(), piece, sizeof piece, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      is_over_ = true;
    else
      received_.append(piece, static_cast<size_t>(got));
  }
}

base::Result<std::string> ServiceClient::Exchange(const std::string& message,
                                                  sdk::ProbeMessageKind expected) {
  constexpr int kPatienceMs = 30'000;
  if (base::Status status = SendAll(message); !status.ok() && received_.empty()) return status;
  while (auto answer = Receive(kPatienceMs)) {
    if (answer->first == sdk::ProbeMessageKind::kRefused) {
      const auto reason = sdk::DecodeProbeBody<sdk::TextAnswer>(answer->second);
      return base::Status(base::StatusCode::kInvalid, reason ? reason->text : "refused");
    }
    if (answer->first == sdk::ProbeMessageKind::kData) {
      auto data = sdk::DecodeProbeBody<sdk::ReadAnswer>(answer->second);
      if (data && data->is_last) {
        last_.push_back(*std::move(data));
        continue;
      }
    }
    if (answer->first == expected) return std::move(answer->second);
    return base::Status(base::StatusCode::kInternal, "the process gave another answer");
  }
  return base::Status(base::StatusCode::kUnavailable,
                      is_over_ ? "the process has ended" : "the process gives no answer");
}

void ServiceClient::WaitForEnd(int timeout_ms) {
  while (!is_over_) {
    auto message = Receive(timeout_ms);
    if (!message) return;
    auto data = sdk::DecodeProbeBody<sdk::ReadAnswer>(message->second);
    if (data && data->is_last) last_.push_back(*std::move(data));
    timeout_ms = 0;
  }
}

}  // namespace lagwatch::tools

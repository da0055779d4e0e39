// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>

#include "base/owned_fd.h"
#include "tools/containers.h"
#include "tools/inject/loaded_libraries.h"
#include "tools/process_files.h"
#include "tools/run/java.h"
#include "tools/run/jvm_attach.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(10);
constexpr char kNoAnswer[] = " does not answer: no reply within 10 s";

base::Status CannotAttach(std::string message) { return {base::StatusCode::kInvalid, std::move(message)}; }
base::Status NoReply(std::string message) { return {base::StatusCode::kUnavailable, std::move(message)}; }

std::string BytesOf(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The content of a user's file; empty if it is another's, or anything but a file: all users write to /tmp.
std::string BytesOfOwn(const fs::path& file, uid_t owner) {
  constexpr size_t kMostBytes = 1 << 20;
  const base::OwnedFd fd(open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != owner) return {};
  std::string bytes(kMostBytes, '\0');
  const ssize_t size = read(fd.get(), bytes.data(), bytes.size());
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return bytes;
}

// The path that the process has for a file of its /tmp.
std::string SeenThere(const fs::path& file) { return "/tmp/" + file.filename().string(); }

// A process as the kernel describes it.
struct JvmProcess {
  pid_t pid = 0;
  base::OwnedFd process;      // no other one that gets its id
  base::OwnedFd temp_folder;  // its /tmp, by its own links
  uid_t uid = 0;
  std::string name;       // "process 123"
  std::string innermost;  // its id in its own pid namespace
  fs::path temp;          // temp_folder's
  std::string status;     // /proc/PID/status

  std::string Field(std::string_view field) const {
    const size_t at = status.find("\n" + std::string(field) + ":\t");
    if (at == std::string::npos) return "";
    const size_t begin = at + field.size() + 3;
    return status.substr(begin, status.find('\n', begin) - begin);
  }
};

base::Result<JvmProcess> FindJvmProcess(pid_t pid) {
  const fs::path process = "/proc/" + std::to_string(pid);
  struct stat owner {};
  JvmProcess target;
  target.pid = pid;
  target.process = base::OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  target.name = "process " + std::to_string(pid);
  if (stat(process.c_str(), &owner) != 0) return CannotAttach("no such process: " + std::to_string(pid));
  target.uid = owner.st_uid;
  target.status = BytesOf(process / "status");
  target.innermost = std::to_string(OwnPidOf(pid));
  target.temp_folder = OpenInRootOf(pid, "tmp", O_RDONLY | O_DIRECTORY);
  target.temp = "/proc/self/fd/" + std::to_string(target.temp_folder.get());
  if (geteuid() != 0 && geteuid() != target.uid)
    return CannotAttach(target.name + " belongs to another user: run lagwatch as that user or as root");
  if (!target.process || !target.temp_folder) return CannotAttach(target.name + " or its /tmp is not there");
  return target;
}

// The character that HotSpot's performance data have for "an agent can be loaded"; '\0' without such data.
char AttachCapability(const JvmProcess& target) {
  constexpr std::string_view kName = "sun.rt.jvmCapabilities";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(target.temp, error)) {
    if (!entry.path().filename().string().starts_with("hsperfdata_")) continue;
    struct stat folder {};
    if (lstat(entry.path().c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode) || folder.st_uid != target.uid)
      continue;
    const std::string data = BytesOfOwn(entry.path() / target.innermost, target.uid);
    const size_t at = data.find(std::string(kName) + '\0');
    if (at == std::string::npos) continue;
    const size_t value = data.find_first_not_of('\0', at + kName.size());
    if (value != std::string::npos) return data[value];
  }
  return '\0';
}

// Whether the option is in the command line or in a variable that the JVM takes options from.
bool IsAttachDisabled(const JvmProcess& target) {
  if (const char capability = AttachCapability(target); capability != '\0') return capability == '0';
  const fs::path process = "/proc/" + std::to_string(target.pid);
  const std::string texts = BytesOf(process / "cmdline") + BytesOf(process / "environ");
  return texts.find("-XX:+DisableAttachMechanism") != std::string::npos;
}

// A JVM that does not expect the signal would end, or print its threads.
base::Status CheckTakesRequest(const JvmProcess& target, const fs::path& socket) {
  if (IsAttachDisabled(target))
    return CannotAttach(target.name +
                        " has the option -XX:+DisableAttachMechanism: start it with `lagwatch run`");
  const uint64_t caught = std::strtoull(target.Field("SigCgt").c_str(), nullptr, 16);
  if ((caught & (uint64_t{1} << (SIGQUIT - 1))) == 0) {
    return CannotAttach(target.name +
                        " takes no requests: its JVM is still starting, or has the option -Xrs and lost "
                        "its socket " +
                        SeenThere(socket));
  }
  const std::string state = target.Field("State");
  if (state.starts_with("T") || state.starts_with("t"))
    return CannotAttach(target.name + " is stopped: continue it first");
  return {};
}

// Creates an empty file that the JVM's user owns.
base::Status CreateFile(const fs::path& file, uid_t owner) {
  const base::OwnedFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd.get() < 0 && errno != EEXIST) return base::IoError("cannot create " + SeenThere(file), errno);
  if (fd.get() >= 0 && owner != geteuid() && fchown(fd.get(), owner, static_cast<gid_t>(-1)) != 0)
    return base::IoError("cannot give " + SeenThere(file) + " to the JVM's user", errno);
  return {};
}

bool IsSocketOf(const fs::path& file, uid_t owner) {
  struct stat status {};
  return lstat(file.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) && status.st_uid == owner;
}

// Waits for the JVM's socket, which it makes when it is asked for the first time.
base::Result<fs::path> RequestSocket(const JvmProcess& target) {
  const fs::path socket = target.temp / (".java_pid" + target.innermost);
  if (IsSocketOf(socket, target.uid)) return socket;
  if (base::Status status = CheckTakesRequest(target, socket); !status.ok()) return status;
  const fs::path request = target.temp / (".attach_pid" + target.innermost);
  if (base::Status status = CreateFile(request, target.uid); !status.ok()) return status;
  if (syscall(SYS_pidfd_send_signal, target.process.get(), SIGQUIT, nullptr, 0) != 0)
    return base::IoError("cannot signal " + target.name, errno);
  const auto end = steady_clock::now() + kPatience;
  while (!IsSocketOf(socket, target.uid)) {
    // The request stays: a JVM that comes to the signal later would print its threads without it.
    if (steady_clock::now() > end) return NoReply(target.name + kNoAnswer);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::error_code error;
  fs::remove(request, error);
  return socket;
}

base::Result<std::string> Ask(const JvmProcess& target, const fs::path& socket_file,
                              std::string_view question) {
  const base::OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = socket_file.string();
  if (fd.get() < 0 || path.size() >= sizeof address.sun_path) return NoReply("cannot open a socket");
  std::ranges::copy(path, address.sun_path);
  const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return base::IoError("cannot connect to " + SeenThere(socket_file), errno);
  if (send(fd.get(), question.data(), question.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(question.size()))
    return base::IoError("cannot write to " + SeenThere(socket_file), errno);
  std::string answer;
  constexpr size_t kMostBytes = 64 << 10;
  const auto end = steady_clock::now() + kPatience;
  while (answer.size() < kMostBytes) {
    const auto left_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()).count();
    pollfd readable{.fd = fd.get(), .events = POLLIN, .revents = 0};
    if (left_ms <= 0 || poll(&readable, 1, static_cast<int>(left_ms)) == 0)
      return NoReply(target.name + kNoAnswer + "; it may still load the agent");
    char buffer[4096];
    const ssize_t count = read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::IoError("cannot read from " + SeenThere(socket_file), errno);
    if (count == 0) break;
    answer.append(buffer, static_cast<size_t>(count));
  }
  return answer;
}

// The JVM's words on one line.
std::string OneLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// "0\nreturn code: 0\n" is a success; the second line is the agent's own.
base::Status StatusOf(const JvmProcess& target, const std::string& answer, const std::string& why_not) {
  const size_t line_end = answer.find('\n');
  const std::string code = answer.substr(0, line_end);
  const std::string message = line_end == std::string::npos ? "" : OneLine(answer.substr(line_end + 1));
  if (code == "0" && (message == "return code: 0" || message == "0")) return {};
  if (!why_not.empty()) return NoReply(target.name + ": " + OneLine(why_not));
  return NoReply(target.name + ": the JVM does not load the agent: " +
                 (message.empty() ? "error " + OneLine(code) : message));
}

}  // namespace

bool IsJvm(pid_t pid) { return HasLoaded(pid, "libjvm.so"); }

bool HasAgent(pid_t pid) { return HasLoaded(pid, "liblagwatch_jvm.so"); }

base::Status CheckCanAttachJvm(pid_t pid) {
  if (base::Status status = CheckMayLookInto(pid); !status.ok()) return status;
  if (FindAgent().empty()) {
    return {base::StatusCode::kNotFound,
            "liblagwatch_jvm.so is not beside this program: install lagwatch with a JDK"};
  }
  if (const std::string agent = FindAgent(); !SeesSameFile(pid, agent)) {
    const std::string number = std::to_string(pid);
    return {base::StatusCode::kInvalid, "process " + number + " does not see " + agent +
                                            ": make that folder a part of its container; `lagwatch watch " +
                                            number + "` watches it from outside"};
  }
  return {};
}

base::Status LoadIntoJvm(pid_t pid, const fs::path& library, const std::string& options) {
  const JvmProcess target = LAGWATCH_TRY(FindJvmProcess(pid));
  if (!SeesSameFile(pid, library)) {
    return CannotAttach(target.name + " sees another file system, without " + library.string() +
                        ": run lagwatch in the same container");
  }
  constexpr size_t kMostOptionBytes = 900;  // the JVM takes 1024, with the answer's file
  if (options.size() > kMostOptionBytes || library.string().size() > kMostOptionBytes)
    return CannotAttach("the options are longer than a JVM takes");
  const fs::path socket = LAGWATCH_TRY(RequestSocket(target));
  const std::string answer_name = ".lagwatch_attach_" + target.innermost + "_" + std::to_string(getpid());
  const fs::path answer_file = target.temp / answer_name;
  if (base::Status status = CreateFile(answer_file, target.uid); !status.ok()) return status;
  const std::string arguments = options + ",answer=/tmp/" + answer_name;
  std::string question = "1";
  for (const std::string& part : {std::string("load"), library.string(), std::string("true"), arguments})
    question.append(1, '\0').append(part);
  const auto answer = Ask(target, socket, question + '\0');
  const std::string why_not = BytesOfOwn(answer_file, target.uid);
  std::error_code error;
  fs::remove(answer_file, error);
  return answer.ok() ? StatusOf(target, *answer, why_not) : answer.status();
}

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "base/process/own_command.h"
#include "base/system/random.h"
#include "base/text.h"
#include "report/format/report.h"
#include "tools/open/own_collector.h"
#include "tools/run/checks.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kProgramName[] = "lagwatch-collector";

std::string RandomText() {
  std::array<unsigned char, 16> bytes;
  base::FillRandom(bytes.data(), bytes.size());
  return base::ToHex(bytes);
}

// Becomes the collector, with its output to `output`. Its secrets are in its environment, which other users
// cannot read.
[[noreturn]] void Become(const std::string& program, std::vector<std::string> arguments, int output,
                         const std::string& log) {
  base::OwnCommand own = base::CommandOf(program, kProgramName);
  std::vector<char*> words;
  for (std::string& argument : own.arguments) words.push_back(argument.data());
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execv(own.file.c_str(), words.data());
  _exit(127);
}

// The file's last line.
std::string LastLineOf(const std::string& file) {
  std::ifstream stream(file);
  std::string last;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace

std::string FindCollectorProgram() {
  constexpr int kMostLevels = 4;  // LIBDIR/lagwatch to BINDIR
  fs::path folder = fs::path(base::OwnProgram()).parent_path();
  std::error_code error;
  for (int i = 0; i < kMostLevels; ++i, folder = folder.parent_path()) {
    for (const fs::path& place : {folder, folder / "bin"})
      if (fs::exists(place / kProgramName, error)) return place / kProgramName;
  }
  const auto found = FindProgram(kProgramName);
  return found.ok() ? *found : "";
}

base::Result<std::unique_ptr<OwnCollector>> OwnCollector::Start(const std::string& program,
                                                                const std::string& directory) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::IoError("cannot create a pipe", errno);
  const base::OwnedFd output(ends[0]);
  base::OwnedFd input(ends[1]);
  std::unique_ptr<OwnCollector> collector(new OwnCollector);
  collector->key_ = RandomText();
  collector->token_ = RandomText();
  // All that is in the spool is shown, however old or large.
  std::vector<std::string> arguments = {"--listen",
                                        "127.0.0.1:0",
                                        "--data",
                                        directory + "/data",
                                        "--symbols-dir",
                                        directory + "/symbols",
                                        "--retention-days",
                                        "0",
                                        "--trace-retention-days",
                                        "0",
                                        "--min-free-mib",
                                        "0",
                                        "--max-traces-a-day",
                                        "1000000000",
                                        "--max-trace-bytes-a-day",
                                        "1000000000000"};
  const std::string log = directory + "/log";
  const pid_t parent = getpid();
  collector->pid_ = fork();
  if (collector->pid_ < 0) return base::IoError("cannot start a process", errno);
  if (collector->pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    setenv("LAGWATCH_KEY", collector->key_.c_str(), 1);
    setenv("LAGWATCH_ADMIN_TOKEN", collector->token_.c_str(), 1);
    unsetenv("LAGWATCH_STORE");
    Become(program, std::move(arguments), input.get(), log);
  }
  input.Close();
  if (base::Status status = collector->AwaitUrl(output.get(), log); !status.ok()) return status;
  return collector;
}

base::Status OwnCollector::AwaitUrl(int output, const std::string& log) {
  constexpr std::string_view kAnnouncement = "listening on ";
  constexpr int64_t kPatienceNs = 60 * base::kNsPerSecond;
  const int64_t end_ns = base::SystemClock().MonoNs() + kPatienceNs;
  std::string line;
  while (!line.ends_with('\n')) {
    const int64_t left_ns = end_ns - base::SystemClock().MonoNs();
    pollfd readable{.fd = output, .events = POLLIN, .revents = 0};
    char bytes[256];
    const bool is_late = left_ns <= 0 || poll(&readable, 1, static_cast<int>(left_ns / base::kNsPerMs)) == 0;
    const ssize_t count = is_late ? 0 : read(output, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return {base::StatusCode::kUnavailable,
              std::string(kProgramName) + " did not start: " + LastLineOf(log)};
    line.append(bytes, static_cast<size_t>(count));
  }
  const size_t at = line.find(kAnnouncement);
  if (at == std::string::npos)
    return {base::StatusCode::kUnavailable, std::string(kProgramName) + " is of another version: " + line};
  url_ = base::Trimmed(std::string_view(line).substr(at + kAnnouncement.size()));
  return {};
}

OwnCollector::~OwnCollector() {
  if (pid_ == 0) return;
  // Its data is thrown away: nothing has to be brought to an end.
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool OwnCollector::HasEnded() {
  if (pid_ != 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
  return pid_ == 0;
}

base::Status OwnCollector::Store(const std::string& batch) {
  constexpr size_t kMostBytes = 1 << 20;  // of a request; a single record may have more
  constexpr size_t kMostRecords = 500;
  const auto records = LAGWATCH_TRY(report::SplitBatch(batch));
  std::string part;
  size_t count = 0;
  for (const report::Record& record : records) {
    if (count == kMostRecords || (count != 0 && part.size() + record.payload.size() > kMostBytes)) {
      if (base::Status status = Post(part); !status.ok()) return status;
      part.clear();
      count = 0;
    }
    report::AppendToBatch(record, &part);
    ++count;
  }
  return count == 0 ? base::Status() : Post(part);
}

base::Status OwnCollector::Post(const std::string& batch) {
  const EndpointReply reply = LAGWATCH_TRY(EndpointClient({.url = url_, .token = key_, .ca_file = {}})
                                               .Ask({.method = "POST",
                                                     .target = "/v1/reports",
                                                     .headers = {"Content-Type: application/x-protobuf"},
                                                     .body = &batch}));
  const auto answer = ReadAnswer(reply.http_status, reply.body);
  return answer.ok() ? base::Status() : answer.status();
}

base::Result<EndpointReply> OwnCollector::Get(const std::string& target) {
  return EndpointClient({.url = url_, .token = token_, .ca_file = {}}).Ask({.target = target});
}

}  // namespace lagwatch::tools

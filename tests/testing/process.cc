// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace lagwatch::testing {
namespace {

std::string ReadFromStart(int fd) {
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = pread(fd, piece, sizeof piece, static_cast<off_t>(text.size()))) > 0;) {
    text.append(piece, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

Process::Process(std::vector<std::string> arguments, std::vector<std::string> environment) {
  int input[2];
  if (pipe2(input, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  // Files in memory rather than pipes: nothing blocks, nothing is lost.
  output_fd_ = memfd_create("output", MFD_CLOEXEC);
  errors_fd_ = memfd_create("errors", MFD_CLOEXEC);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output_fd_, STDOUT_FILENO);
    dup2(errors_fd_, STDERR_FILENO);
    for (std::string& setting : environment) putenv(setting.data());
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(input[0]);
  input_fd_ = input[1];
}

Process::~Process() {
  if (!is_over_) {
    Signal(SIGKILL);
    static_cast<void>(Wait());
  }
  CloseInput();
  close(output_fd_);
  close(errors_fd_);
}

void Process::WriteInput(const std::string& text) {
  if (write(input_fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("the program does not read its input");
  }
}

void Process::CloseInput() {
  if (input_fd_ >= 0) close(input_fd_);
  input_fd_ = -1;
}

void Process::Signal(int signal_number) { kill(pid_, signal_number); }

int Process::Wait() {
  if (!is_over_) waitpid(pid_, &status_, 0);
  is_over_ = true;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
}

std::string Process::Output() const { return ReadFromStart(output_fd_); }
std::string Process::Errors() const { return ReadFromStart(errors_fd_); }

bool WaitUntil(const std::function<bool()>& condition, double timeout_s) {
  // By naps, not by the clock: a virtual machine that was paused has not waited.
  constexpr double kNapsPerSecond = 100;
  for (int naps_left = static_cast<int>(timeout_s * kNapsPerSecond); naps_left > 0; --naps_left) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

}  // namespace lagwatch::testing

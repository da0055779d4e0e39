// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/trace/terminal_process.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <regex>
#include <stdexcept>

namespace lagwatch::testing {

TerminalProcess::TerminalProcess(std::vector<std::string> arguments, std::vector<std::string> environment) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
  if (pid_ < 0) throw std::runtime_error("no terminal");
  if (pid_ == 0) {
    unsetenv("NO_COLOR");
    for (std::string& setting : environment) putenv(setting.data());
    execvp(argv[0], argv.data());
    _exit(127);
  }
  fcntl(terminal_, F_SETFL, O_NONBLOCK);
  fcntl(terminal_, F_SETFD, FD_CLOEXEC);
}

TerminalProcess::~TerminalProcess() {
  if (!is_over_) {
    Signal(SIGKILL);
    Wait();
  }
  HangUp();
}

void TerminalProcess::Press(const std::string& keys) {
  if (write(terminal_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size()))
    throw std::runtime_error("the terminal takes no keys");
}

void TerminalProcess::Resize(uint16_t lines, uint16_t columns) {
  const winsize size{.ws_row = lines, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(terminal_, TIOCSWINSZ, &size);
}

void TerminalProcess::Signal(int signal_number) { kill(pid_, signal_number); }

void TerminalProcess::HangUp() {
  if (terminal_ >= 0) close(terminal_);
  terminal_ = -1;
}

int TerminalProcess::Wait() {
  while (!is_over_) {
    is_over_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    if (terminal_ >= 0) Written();  // a full terminal would make it wait
    usleep(10'000);
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
}

const std::string& TerminalProcess::Written() {
  char piece[4096];
  for (ssize_t got; terminal_ >= 0 && (got = read(terminal_, piece, sizeof piece)) > 0;)
    written_.append(piece, static_cast<size_t>(got));
  return written_;
}

std::string TerminalProcess::Screen() {
  const std::string& written = Written();
  // All of it is drawn at once: the last one may not have come as a whole.
  const size_t end = written.rfind("\x1b[J");
  const size_t begin = end == std::string::npos ? end : written.rfind("\x1b[H", end);
  if (begin == std::string::npos) return {};
  static const std::regex kSequence("\x1b\\[[0-9;?]*[A-Za-z]|\r");
  return std::regex_replace(written.substr(begin, end - begin), kSequence, "");
}

bool TerminalProcess::IsUsual() const {
  termios now{};
  return tcgetattr(terminal_, &now) == 0 && (now.c_lflag & ICANON) != 0 && (now.c_lflag & ECHO) != 0 &&
         (now.c_iflag & ICRNL) != 0;
}

}  // namespace lagwatch::testing

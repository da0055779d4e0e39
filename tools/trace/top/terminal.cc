// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/top/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace lagwatch::tools {
namespace {

constexpr std::array kEndSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

volatile sig_atomic_t g_is_ended = 0;
volatile sig_atomic_t g_is_resized = 0;
std::array<struct sigaction, kEndSignals.size() + 1> g_before;

void Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
}

constexpr std::string_view kEnter =
    "\x1b[?1049h\x1b[?25l\x1b[?7l";  // alternate screen, no cursor, no wrapping
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

struct Sequence {
  std::string_view bytes;
  Key key;
};
constexpr Sequence kSequences[] = {
    {"\x1b[A", Key::kUp},      {"\x1bOA", Key::kUp},        {"\x1b[B", Key::kDown}, {"\x1bOB", Key::kDown},
    {"\x1b[5~", Key::kPageUp}, {"\x1b[6~", Key::kPageDown}, {"\x1b[H", Key::kHome}, {"\x1bOH", Key::kHome},
    {"\x1b[1~", Key::kHome},   {"\x1b[F", Key::kEnd},       {"\x1bOF", Key::kEnd},  {"\x1b[4~", Key::kEnd},
};

// Returns the length of the sequence that `bytes` begin with; 0 if its end has not arrived yet.
size_t SequenceLength(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  if (bytes[1] == 'O') return bytes.size() < 3 ? 0 : 3;
  if (bytes[1] != '[') return 1;  // the Escape key, then others
  for (size_t i = 2; i < bytes.size(); ++i)
    if (bytes[i] >= 0x40 && bytes[i] <= 0x7e) return i + 1;
  return 0;
}

}  // namespace

KeyPress TakeKey(std::string* bytes) {
  if (bytes->empty()) return {};
  if (bytes->front() != '\x1b') {
    const char character = bytes->front();
    bytes->erase(0, 1);
    return {Key::kCharacter, character};
  }
  const size_t length = SequenceLength(*bytes);
  const std::string sequence = bytes->substr(0, length);
  bytes->erase(0, length);
  for (const Sequence& known : kSequences)
    if (known.bytes == sequence) return {known.key, 0};
  return {};
}

SignalWatch::SignalWatch() {
  g_is_ended = 0;
  g_is_resized = 0;
  sigset_t noted;
  sigemptyset(&noted);
  struct sigaction note {};
  note.sa_handler = [](int) { g_is_ended = 1; };
  for (size_t i = 0; i < kEndSignals.size(); ++i) {
    sigaddset(&noted, kEndSignals[i]);
    sigaction(kEndSignals[i], &note, &g_before[i]);
  }
  note.sa_handler = [](int) { g_is_resized = 1; };
  sigaddset(&noted, SIGWINCH);
  sigaction(SIGWINCH, &note, &g_before.back());
  sigprocmask(SIG_BLOCK, &noted, &mask_before_);
}

SignalWatch::~SignalWatch() {
  RestoreMask();  // first, so that signals still under way are noted, too
  for (size_t i = 0; i < kEndSignals.size(); ++i) sigaction(kEndSignals[i], &g_before[i], nullptr);
  sigaction(SIGWINCH, &g_before.back(), nullptr);
}

void SignalWatch::RestoreMask() const { sigprocmask(SIG_SETMASK, &mask_before_, nullptr); }

void SignalWatch::Poll(int input_fd, int64_t timeout_ns) const {
  pollfd input{.fd = input_fd, .events = POLLIN, .revents = 0};
  const timespec timeout{.tv_sec = timeout_ns / base::kNsPerSecond,
                         .tv_nsec = timeout_ns % base::kNsPerSecond};
  ppoll(&input, 1, &timeout, &mask_before_);
}

bool SignalWatch::TakeEnd() { return std::exchange(g_is_ended, 0) != 0; }

bool SignalWatch::TakeResize() { return std::exchange(g_is_resized, 0) != 0; }

base::Result<std::unique_ptr<Terminal>> Terminal::Open() {
  const int key_fd = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  termios before{};
  if (key_fd < 0 || tcgetattr(key_fd, &before) != 0) {
    const int error = errno;
    if (key_fd >= 0) close(key_fd);
    return base::IoError("cannot read keys from the terminal", error);
  }
  return std::unique_ptr<Terminal>(new Terminal(key_fd, before));
}

void Terminal::Enter() {
  termios raw = before_;
  raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN);  // Ctrl-C stays a signal
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  tcsetattr(key_fd_, TCSANOW, &raw);
  Write(kEnter);
  has_entered_ = true;
}

Terminal::~Terminal() {
  if (has_entered_) {
    Write(kLeave);
    tcsetattr(key_fd_, TCSAFLUSH, &before_);
  }
  close(key_fd_);
}

Terminal::Size Terminal::SizeNow() {
  constexpr Size kUsual{24, 80};
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return kUsual;
  return {size.ws_row, size.ws_col};
}

bool Terminal::ReadKey(KeyPress* key) {
  char bytes[64];
  const ssize_t count = read(key_fd_, bytes, sizeof bytes);
  if (count > 0) unread_.append(bytes, static_cast<size_t>(count));
  *key = TakeKey(&unread_);
  return count > 0 || key->key != Key::kNone || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void Terminal::Draw(const std::string& text) const {
  // Overwrites the screen line by line: nothing flickers.
  std::string drawn = "\x1b[H";
  for (const char each : text) drawn += each == '\n' ? std::string("\x1b[K\r\n") : std::string(1, each);
  Write(drawn + "\x1b[J");
}

}  // namespace lagwatch::tools

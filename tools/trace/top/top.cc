// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/top/top.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "base/clock.h"
#include "tools/read/table.h"
#include "tools/trace/data/subject.h"
#include "tools/trace/top/live_times.h"
#include "tools/trace/top/terminal.h"
#include "tools/trace/top/top_view.h"

namespace lagwatch::tools {
namespace {

constexpr int kCannotShow = 2;
constexpr int64_t kLookEveryNs = 100 * base::kNsPerMs;  // whether the program has ended

int64_t Now() { return base::SystemClock().MonoNs(); }

int RefuseToShow(const base::Status& status, int code = kCannotShow) {
  std::cerr << "lagwatch: trace top: " << Printable(status.message()) << "\n";
  return code;
}

// For what the program prints, so that it does not get between. Errors: kIo.
base::Result<int> OpenOutput(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return base::IoError("cannot open " + path, errno);
  return file;
}

// Context: a child, before exec.
void RedirectStreams(int output, bool is_terminal_ours) {
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (!is_terminal_ours || isatty(STDIN_FILENO) == 0) return;
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
}

bool AreColoursWanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  return no_colour == nullptr || *no_colour == '\0';
}

// Exactly so many, the last of them empty where there are not as many.
std::string FirstLines(const std::string& text, size_t count) {
  size_t end = 0;
  for (; count > 0 && end < text.size(); --count) end = text.find('\n', end) + 1;
  return text.substr(0, end) + std::string(count, '\n');
}

class Top {
 public:
  // All is borrowed; without a terminal it prints plain text.
  Top(const TopOptions& options, const Recording& recording, const SignalWatch& signals, Terminal* terminal)
      : options_(options),
        signals_(signals),
        terminal_(terminal),
        is_on_terminal_(terminal != nullptr),
        has_colours_(is_on_terminal_ && AreColoursWanted()),
        live_(recording.arena(), FrameNamer::Create().value()) {
    view_.is_by_total = options.sort == "total";
    view_.has_waits = options.has_waits;
    view_.is_since_begin = options.is_since_begin;
  }

  // Runs until the program ends (returns true) or the user quits.
  bool Show(Subject* subject) {
    const int64_t period_ns = std::llround(options_.refresh_s * base::kNsPerSecond);
    int64_t due_ns = Now() + period_ns;
    if (terminal_ != nullptr) terminal_->Enter();
    if (terminal_ != nullptr) Draw();
    for (uint64_t shown = 0; options_.count == 0 || shown < options_.count;) {
      signals_.Poll(terminal_ == nullptr ? -1 : terminal_->key_fd(), std::min(due_ns - Now(), kLookEveryNs));
      if (SignalWatch::TakeEnd() || !TakeKeys()) return false;
      if (SignalWatch::TakeResize()) Draw();
      const bool has_ended = subject->HasEnded();
      live_.HasBegun();
      if (has_ended || Now() >= due_ns) {
        due_ns = std::max(due_ns + period_ns, Now());
        if (live_.Refresh(has_ended)) {
          ++shown;
          if (!view_.is_paused) TakeNewest();
          Draw();
        }
        if (!std::cout) return false;
      }
      if (has_ended) return true;
    }
    return false;
  }

  // The process's present name, which exec() changes.
  const std::string& ProcessName() const { return live_.now().figures.process_name; }

  // Prints all functions, after the terminal was given back.
  void ShowAll() const {
    if (!is_on_terminal_) return;
    TopView view = view_;
    view.is_since_begin = true;
    view.is_paused = false;
    view.first_row = 0;
    const Terminal::Size size = Terminal::SizeNow();
    std::cout << TopPage(live_.now(), live_.functions(), view, {options_.lines, size.columns}, has_colours_)
              << std::flush;
  }

 private:
  void TakeNewest() {
    moment_ = live_.now();
    functions_ = live_.functions();
  }

  // Functions that fit the screen above the keys.
  size_t RowsOnScreen() const {
    const size_t others = TopHeadLines(moment_) + 1;
    const size_t lines = Terminal::SizeNow().lines;
    return lines > others ? lines - others : 0;
  }

  // False to quit.
  bool TakeKeys() {
    if (terminal_ == nullptr) return true;
    KeyPress press;
    bool has_changed = false;
    while (true) {
      if (!terminal_->ReadKey(&press)) return false;
      if (press.key == Key::kNone) break;
      if (press.key == Key::kCharacter && press.character == 'q') return false;
      Obey(press);
      has_changed = true;
    }
    if (has_changed) Draw();
    return true;
  }

  void Obey(const KeyPress& press) {
    if (press.key != Key::kCharacter) return Scroll(press.key);
    switch (press.character) {
      case 's':
      case 't':
        view_.is_by_total = press.character == 't';
        break;
      case 'w':
        view_.has_waits = !view_.has_waits;
        break;
      case 'a':
        view_.is_since_begin = !view_.is_since_begin;
        break;
      case 'p':
        view_.is_paused = !view_.is_paused;
        if (!view_.is_paused) TakeNewest();
        return;
      case '?':
      case 'h':
        view_.has_help = !view_.has_help;
        return;
      default:
        return;
    }
    view_.first_row = 0;
  }

  // The first row of the last page.
  size_t LastFirstRow() const {
    const size_t rows = TopRowCount(moment_, view_);
    return rows - std::min(rows, RowsOnScreen());
  }

  void Scroll(Key key) {
    const size_t page = RowsOnScreen();
    const size_t last = LastFirstRow();
    const size_t at = view_.first_row;
    const size_t wanted = key == Key::kUp         ? at - std::min<size_t>(at, 1)
                          : key == Key::kPageUp   ? at - std::min(at, page)
                          : key == Key::kDown     ? at + 1
                          : key == Key::kPageDown ? at + page
                          : key == Key::kEnd      ? last
                                                  : 0;
    view_.first_row = std::min(wanted, last);
  }

  void Draw() {
    if (terminal_ == nullptr) {
      std::cout << TopPage(moment_, functions_, view_, {options_.lines, 0}, false) << "\n" << std::flush;
      return;
    }
    const Terminal::Size size = Terminal::SizeNow();
    std::string page;
    if (view_.has_help) {
      page = TopHelp();
    } else if (moment_.figures.pid == 0) {
      page = "Recording; waiting for the first figures.\n";
    } else {
      view_.first_row = std::min(view_.first_row, LastFirstRow());
      page = TopPage(moment_, functions_, view_, {RowsOnScreen(), size.columns}, has_colours_);
    }
    terminal_->Draw(FirstLines(page, size.lines - 1) + TopKeys(has_colours_));
  }

  const TopOptions& options_;
  const SignalWatch& signals_;
  Terminal* terminal_;
  bool is_on_terminal_;
  bool has_colours_;
  LiveTimes live_;
  LiveTimes::Moment moment_;                         // that is shown
  std::vector<LiveTimes::FunctionTimes> functions_;  // as they were named then
  TopView view_;
};

// Waits until the program has ended; Ctrl-C kills it.
void EndProgram(Subject* program, const SignalWatch& signals) {
  constexpr int64_t kPatienceNs = base::kNsPerSecond;
  program->Signal(SIGTERM);
  const int64_t begin_ns = Now();
  for (bool has_reported = false; !program->HasEnded();) {
    signals.Poll(-1, kLookEveryNs / 10);
    if (SignalWatch::TakeEnd()) program->Signal(SIGKILL);
    if (has_reported || Now() - begin_ns < kPatienceNs) continue;
    std::cerr << "lagwatch: waiting for " << Printable(program->name()) << " (" << program->pid()
              << ") to end; Ctrl-C kills it\n";
    has_reported = true;
  }
}

// After the program's own end.
int Conclude(const Top& top, const Recording& recording, Subject* subject, const TopOptions& options) {
  if (!recording.has_begun()) {
    return RefuseToShow(
        {base::StatusCode::kUnavailable, "nothing was recorded: " + subject->name() +
                                             " did not load the library, or could not start its threads"});
  }
  top.ShowAll();
  const int code = subject->ExitCode();
  std::cerr << "lagwatch: " << Printable(top.ProcessName()) << " (" << subject->pid() << ") has ended";
  if (code != 0) std::cerr << " with " << code;
  if (code != 0 && options.output.empty()) std::cerr << "; --output FILE keeps its output";
  std::cerr << "\n";
  return code;
}

}  // namespace

int RunTop(const TopOptions& options) {
  auto recording = Recording::Create(options.record);
  if (!recording.ok()) return RefuseToShow(recording.status());
  std::unique_ptr<Terminal> terminal;
  if (!options.is_plain && isatty(STDOUT_FILENO) != 0) {
    auto opened = Terminal::Open();
    if (!opened.ok()) return RefuseToShow(opened.status());
    terminal = std::move(opened).value();
  }
  const std::string output = options.output.empty() ? "/dev/null" : options.output;
  const auto output_fd = OpenOutput(output);
  if (!output_fd.ok()) return RefuseToShow(output_fd.status());
  const SignalWatch signals;
  const auto in_child = [&] {
    signals.RestoreMask();
    RedirectStreams(*output_fd, terminal != nullptr);
  };
  const bool is_attached = options.record.pid != 0;
  auto subject = is_attached ? Subject::Attach(options.record, **recording)
                             : Subject::Start(options.record, **recording, in_child);
  close(*output_fd);
  if (!subject.ok())
    return RefuseToShow(subject.status(), is_attached ? kCannotShow : ExitCodeOfRefusal(subject.status()));

  Top top(options, **recording, signals, terminal.get());
  const bool has_ended = top.Show(subject->get());
  terminal.reset();
  if (has_ended) return Conclude(top, **recording, subject->get(), options);
  (*recording)->Stop();
  if (!is_attached) EndProgram(subject->get(), signals);
  return 0;
}

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
// The terminal as a full screen that takes single keys. Context: background.
#pragma once

#include <termios.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace lagwatch::tools {

enum class Key { kNone, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kCharacter };

struct KeyPress {
  Key key = Key::kNone;
  char character = 0;  // of kCharacter
};

// The next key in `bytes`, which are removed; kNone for none, and for those that have no name here. A
// sequence that has not come as a whole stays.
KeyPress TakeKey(std::string* bytes);

// Catches signals that ask this program to end or report a new size of the terminal, and lets them through
// only while Poll() waits. At most one object at a time.
class SignalWatch {
 public:
  SignalWatch();
  // As before.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Restores the signal mask that a program started now should have. Context: a child, before exec.
  void RestoreMask() const;
  // Waits until there are bytes to read (-1: of nothing), a signal or the time is over.
  void Poll(int input_fd, int64_t timeout_ns) const;
  // Returns whether the end was requested since the last call, by a signal or because the reader of our
  // output has ended.
  static bool TakeEnd();
  // Whether the size has changed since it was asked last.
  static bool TakeResize();

 private:
  sigset_t mask_before_{};
};

// Standard output is the terminal; keys come from the process's, whatever standard input is. The destructor
// leaves it as it was.
class Terminal {
 public:
  // Errors: kIo.
  static base::Result<std::unique_ptr<Terminal>> Open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Takes the alternate screen, and keys as they are pressed.
  void Enter();

  struct Size {
    size_t lines;
    size_t columns;
  };
  static Size SizeNow();

  int key_fd() const { return key_fd_; }
  // A key that was pressed; kNone when there is none now. False when the terminal is gone.
  bool ReadKey(KeyPress* key);
  // Replaces the screen by `text`, whose lines are no longer than the screen is wide.
  void Draw(const std::string& text) const;

 private:
  Terminal(int key_fd, const termios& before) : key_fd_(key_fd), before_(before) {}

  int key_fd_;
  termios before_;
  bool has_entered_ = false;
  std::string unread_;
};

}  // namespace lagwatch::tools

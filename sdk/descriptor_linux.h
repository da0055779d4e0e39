// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed at its owner's end. Context: as its owner's.
#pragma once

#include <unistd.h>

namespace lagwatch::sdk {

class Descriptor {
 public:
  // Takes it; below 0 is none.
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

}  // namespace lagwatch::sdk

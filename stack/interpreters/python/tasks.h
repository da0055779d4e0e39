// SPDX-License-Identifier: Apache-2.0
// Tasks of asyncio. Source: CPython, Modules/_asynciomodule.c. Tasks of its implementation in Python, which
// is used without that module, are not found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/interpreters/python/layout.h"
#include "stack/interpreters/python/objects.h"

namespace lagwatch::stack::python {

struct Task {
  uint64_t address;
  uint64_t coroutine;  // the one that the task was made of
  uint64_t frame;      // of that coroutine; 0: it has ended
};

// Context: watchdog; not thread-safe.
class Tasks {
 public:
  // Both are borrowed.
  void Attach(Objects* objects, const PythonLayout* layout) {
    objects_ = objects;
    layout_ = layout;
  }

  // The tasks that the loops of `interpreter` run at the moment, one of each loop. Returns their number.
  size_t FindCurrent(uint64_t interpreter, std::span<Task> tasks);
  // The task that waits for `task` itself. False if there is none, or if it waits for something of which
  // `task` is a part, such as gather().
  bool FindAwaiter(const Task& task, Task* awaiter);
  // Returns the size of the task's name; 0 if it cannot be read.
  size_t ReadName(const Task& task, char* text, size_t size_bytes);

 private:
  // The dict of the loops' current tasks; 0 if there is none.
  uint64_t FindDict(uint64_t interpreter);
  bool ReadTask(uint64_t address, Task* task);

  Objects* objects_ = nullptr;
  const PythonLayout* layout_ = nullptr;
  // The dict is kept, or the number of modules in which it was not found.
  uint64_t interpreter_ = 0;
  uint64_t dict_ = 0;
  int64_t module_count_ = 0;
};

}  // namespace lagwatch::stack::python

// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/python/python.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/system/thread.h"

namespace lagwatch::stack::python {
namespace {

// The N of "python3.N" in a file's name; 0 if it has none.
int MinorVersionOf(std::string_view path) {
  constexpr std::string_view kName = "python3.";
  const size_t at = path.rfind(kName);
  if (at == path.npos) return 0;
  int minor = 0;
  for (char digit : path.substr(at + kName.size(), 2)) {
    if (digit < '0' || digit > '9') break;
    minor = 10 * minor + (digit - '0');
  }
  return minor;
}

}  // namespace

void Python::LookAt(const LoadedModule& loaded, CodeMap* code) {
  if (found_ != nullptr) return;
  const uint64_t evaluation = loaded.exports.Find("_PyEval_EvalFrameDefault");
  if (evaluation == 0) return;
  auto found = base::MapBlock<Found>(1);
  if (found == nullptr) return;
  const int minor = MinorVersionOf(loaded.module.path_view());
  const Symbols symbols = Symbols::Of(loaded.exports);
  if (!found[0].reader.Attach(memory_, symbols, minor)) {
    Note(found[0].reader.version(), minor, IsFreeThreaded(memory_, symbols.runtime));
    return;
  }
  found[0].place = {loaded.index, evaluation - loaded.module.load_bias, code->AddLanguage("[python]")};
  if (found[0].place.language == kNoModule) return;
  found_ = std::move(found);
  copied_.store(&found_[0], std::memory_order_release);  // pairs with CopyPieces()
}

void Python::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (found_ == nullptr) return;
  Found& found = found_[0];
  const auto is_in_python = [&](const Frame& frame) { return frame.module == found.place.module; };
  if (std::ranges::none_of(stack->view(), is_in_python)) return;
  if (!found.reader.Read(thread.tid, &code->script_functions(), &found.frames)) return;
  Splice(found.place, found.frames, stack);
  AddTask(code, stack);
}

void Python::CopyPieces(const Registers&, MemoryPieces* pieces) const {
  const Found* found = copied_.load(std::memory_order_acquire);  // pairs with LookAt()
  if (found != nullptr) found->reader.CopyPieces(static_cast<int>(base::CurrentThreadId()), pieces);
}

void Python::AddTask(CodeMap* code, Stack* stack) {
  Found& found = found_[0];
  TaskText& next = found.tasks[(found.last_task + 1) % kMostTasks];
  if (!found.reader.ReadTask(&code->script_functions(), &next)) return;
  // The samples of one hang are often of one task.
  if (found.last_task == 0 || !(next == found.tasks[found.last_task % kMostTasks])) ++found.last_task;
  stack->task = found.last_task;
}

ScriptTask Python::FindTask(uint64_t number) {
  if (found_ == nullptr) return {};
  const Found& found = found_[0];
  // The place that follows the last one is overwritten by each stack.
  const bool is_kept = number != 0 && number <= found.last_task && found.last_task - number < kMostTasks - 1;
  if (!is_kept) return {};
  const TaskText& task = found.tasks[number % kMostTasks];
  return {.name = task.name, .awaiters = task.awaiters};
}

void Python::Note(uint32_t version, int minor_hint, bool is_free_threaded) {
  const uint32_t minor = version != 0 ? version >> 16 & 0xff : static_cast<uint32_t>(minor_hint);
  std::snprintf(unreadable_, sizeof unreadable_, minor == 0 ? "python" : "python 3.%u%s", minor,
                is_free_threaded ? "t" : "");
}

}  // namespace lagwatch::stack::python

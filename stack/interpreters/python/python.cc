// SPDX-License-Identifier: Apache-2.0
// CPython in a process: the first of its modules that defines the evaluation function.
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

#include "base/system/thread.h"
#include "stack/interpreters/found_interpreter.h"
#include "stack/interpreters/python/reader.h"

namespace lagwatch::stack {
namespace python {
namespace {

constexpr uint64_t kMostTasks = 256;

struct FoundPython {
  PythonReader reader;
  InterpreterPlace place;
  ScriptFrames frames;
  // The tasks of the last stacks, by number.
  uint64_t last_task;
  std::array<TaskText, kMostTasks> tasks;
};

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

class Python final : public FoundInterpreter<FoundPython> {
 public:
  using FoundInterpreter::FoundInterpreter;

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    if (found() != nullptr) return;
    const uint64_t evaluation = loaded.exports.Find("_PyEval_EvalFrameDefault");
    if (evaluation == 0) return;
    const int minor = MinorVersionOf(loaded.module.path_view());
    const Symbols symbols = Symbols::Of(loaded.exports);
    Find([&](FoundPython* found) {
      if (!found->reader.Attach(memory(), symbols, minor)) {
        Note(found->reader.version(), minor, IsFreeThreaded(memory(), symbols.runtime));
        return false;
      }
      found->place = PlaceOf(loaded, evaluation, code->AddLanguage("[python]"));
      return found->place.language != kNoModule;
    });
  }

  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override {
    FoundPython* python = found();
    if (python == nullptr || !Runs(*stack, python->place.module)) return;
    if (!python->reader.Read(thread.tid, &code->script_functions(), &python->frames)) return;
    Splice(python->place, python->frames, stack);
    AddTask(code, stack);
  }

  void CopyPieces(const Registers&, MemoryPieces* pieces) const override {
    const FoundPython* python = for_copies();
    if (python != nullptr) python->reader.CopyPieces(static_cast<int>(base::CurrentThreadId()), pieces);
  }

  std::optional<ScriptLock> FindLock(int, const FutexWait& futex) override {
    if (found() == nullptr) return std::nullopt;
    const auto interpreters = found()->reader.FindLock(futex.address);
    return interpreters ? interpreters : found()->reader.FindReentrantLock(futex);
  }

  ScriptTask FindTask(uint64_t number) override {
    if (found() == nullptr) return {};
    const FoundPython& python = *found();
    // The place that follows the last one is overwritten by each stack.
    const bool is_kept =
        number != 0 && number <= python.last_task && python.last_task - number < kMostTasks - 1;
    if (!is_kept) return {};
    const TaskText& task = python.tasks[number % kMostTasks];
    return {.name = task.name, .awaiters = task.awaiters};
  }

 private:
  // Puts the number of the task that the thread runs into `stack`. To be called after its frames were read.
  void AddTask(CodeMap* code, Stack* stack) {
    FoundPython& python = *found();
    TaskText& next = python.tasks[(python.last_task + 1) % kMostTasks];
    if (!python.reader.ReadTask(&code->script_functions(), &next)) return;
    // The samples of one hang are often of one task.
    if (python.last_task == 0 || !(next == python.tasks[python.last_task % kMostTasks])) ++python.last_task;
    stack->task = python.last_task;
  }
  // Notes an interpreter whose layout is not known. `version` as Py_Version has it, 0 where it is missing.
  void Note(uint32_t version, int minor_hint, bool is_free_threaded) {
    const uint32_t minor = version != 0 ? version >> 16 & 0xff : static_cast<uint32_t>(minor_hint);
    std::snprintf(unreadable_, sizeof unreadable_, minor == 0 ? "python" : "python 3.%u%s", minor,
                  is_free_threaded ? "t" : "");
  }
};

}  // namespace
}  // namespace python

std::unique_ptr<Interpreter> CreatePython(Memory* memory) { return std::make_unique<python::Python>(memory); }

}  // namespace lagwatch::stack

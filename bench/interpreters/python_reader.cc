// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "bench/interpreters/readers.h"
#include "stack/interpreters/python/reader.h"

namespace lagwatch::interpreters_bench {
namespace {

class PythonReader final : public StackReader {
 public:
  explicit PythonReader(pid_t pid) : pid_(pid), memory_(pid) {}

  bool Attach() {
    return FindModule(pid_, &memory_, [&](const std::string& path, const stack::ExportedSymbols& exports) {
      const size_t at = path.rfind("python3.");
      const int minor = at == path.npos ? 0 : std::atoi(path.c_str() + at + 8);
      return exports.Find("_PyEval_EvalFrameDefault") != 0 &&
             reader_.Attach(&memory_, stack::python::Symbols::Of(exports), minor);
    });
  }
  bool Read() override {
    if (!reader_.Read(pid_, &functions_, &frames_)) return false;
    stack::python::TaskText task;
    reader_.ReadTask(&functions_, &task);
    return true;
  }
  std::string Text() const override { return TextOf(frames_, functions_); }

 private:
  pid_t pid_;
  OtherMemory memory_;
  stack::python::PythonReader reader_;
  stack::ScriptFunctions functions_;
  stack::ScriptFrames frames_;
};

}  // namespace

std::unique_ptr<StackReader> AttachToPython(pid_t pid) {
  auto reader = std::make_unique<PythonReader>(pid);
  return reader->Attach() ? std::move(reader) : nullptr;
}

}  // namespace lagwatch::interpreters_bench

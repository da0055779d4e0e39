// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/interpreters/readers.h"
#include "stack/interpreters/jvm/reader.h"

namespace lagwatch::interpreters_bench {
namespace {

// The thread that runs the shapes; the process itself if it has not begun.
pid_t FindShapes(pid_t pid) {
  std::error_code error;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    if (std::getline(file, name) && name == "shapes") return std::stoi(task.path().filename());
  }
  return pid;
}

class JavaReader final : public StackReader {
 public:
  explicit JavaReader(pid_t pid) : tid_(FindShapes(pid)), capture_(pid, tid_) {}

  bool Attach() {
    return FindModule(capture_.pid(), capture_.memory(),
                      [&](const std::string&, const stack::ExportedSymbols& exports) {
                        bool is_hotspot = false;
                        return exports.Find("gHotSpotVMStructs") != 0 &&
                               reader_.Attach(capture_.memory(), exports, &is_hotspot);
                      });
  }
  void Capture() override { capture_.Take(); }
  bool Read() override {
    return capture_.is_taken() && reader_.Read(tid_, &capture_.raw(), &functions_, &frames_);
  }
  std::string Text() const override { return TextOf(frames_, functions_); }

 private:
  pid_t tid_;
  ThreadCapture capture_;
  stack::jvm::JvmReader reader_;
  stack::ScriptFunctions functions_;
  stack::ScriptFrames frames_;
};

}  // namespace

std::unique_ptr<StackReader> AttachToJava(pid_t pid) {
  auto reader = std::make_unique<JavaReader>(pid);
  return reader->Attach() ? std::move(reader) : nullptr;
}

}  // namespace lagwatch::interpreters_bench

// SPDX-License-Identifier: Apache-2.0
// Reads the stacks of a JVM in another process.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/jvm/reader.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::testing {

class OtherMemory final : public stack::Memory {
 public:
  explicit OtherMemory(pid_t pid) : pid_(pid) {}

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    iovec local{destination, size_bytes};
    iovec remote{reinterpret_cast<void*>(address), size_bytes};
    return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size_bytes);
  }

 private:
  pid_t pid_;
};

// A thread that is stopped for a moment.
class ScopedStop {
 public:
  explicit ScopedStop(pid_t tid) : tid_(tid) {
    int status = 0;
    is_stopped_ = ptrace(PTRACE_SEIZE, tid_, nullptr, nullptr) == 0 &&
                  ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) == 0 &&
                  waitpid(tid_, &status, __WALL) == tid_;
  }
  ~ScopedStop() {
    if (is_stopped_) ptrace(PTRACE_DETACH, tid_, nullptr, nullptr);
  }
  ScopedStop(const ScopedStop&) = delete;
  ScopedStop& operator=(const ScopedStop&) = delete;

  // Copies what a capture does: registers, and up to 256 KiB of the stack.
  bool Copy(pid_t pid, stack::RawStack* raw) const {
    user_regs_struct registers{};
    if (!is_stopped_ || ptrace(PTRACE_GETREGS, tid_, nullptr, &registers) != 0) return false;
    auto& values = raw->registers.value;
    values[stack::Registers::kBasePointer] = registers.rbx;
    values[stack::Registers::kFramePointer] = registers.rbp;
    values[stack::Registers::kStackPointer] = registers.rsp;
    values[stack::Registers::kProgramCounter] = registers.rip;
    values[13] = registers.r13;
    raw->registers.known_mask = stack::Registers::kAllKnown;
    raw->address = registers.rsp - stack::kRedZoneBytes;
    raw->size_bytes = 0;
    OtherMemory memory(pid);
    for (constexpr uint64_t kPage = 4096; raw->size_bytes + kPage <= stack::kUsualRawStackBytes;
         raw->size_bytes += kPage) {
      if (!memory.Read(raw->address + raw->size_bytes, raw->bytes + raw->size_bytes, kPage)) break;
    }
    raw->end = raw->address + raw->size_bytes;
    return raw->size_bytes != 0;
  }

 private:
  pid_t tid_;
  bool is_stopped_ = false;
};

// The thread of that name; 0 without one.
inline pid_t FindThread(pid_t pid, const std::string& name) {
  std::error_code error;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    std::ifstream file(task.path() / "comm");
    std::string comm;
    if (std::getline(file, comm) && comm == name) return std::stoi(task.path().filename());
  }
  return 0;
}

// The futex that the thread sleeps in.
inline stack::FutexWait ReadFutex(pid_t pid, pid_t tid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/syscall");
  std::string number;
  std::array<uint64_t, 7> words{};
  file >> number >> std::hex;
  for (uint64_t& word : words) {
    std::string text;
    file >> text;
    word = std::strtoull(text.c_str(), nullptr, 16);
  }
  if (number != "202") return {};
  return {words[0], words[1], words[2], words[3], words[6]};
}

// The reader of a process's JVM; null until it is loaded.
inline std::unique_ptr<stack::jvm::JvmReader> AttachTo(pid_t pid, stack::Memory* memory) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with("/libjvm.so")) continue;
    const uint64_t base = std::stoull(line, nullptr, 16);
    const stack::ExportedSymbols exports(memory, base, base);
    auto reader = std::make_unique<stack::jvm::JvmReader>();
    bool is_hotspot = false;
    return reader->Attach(memory, exports, &is_hotspot) ? std::move(reader) : nullptr;
  }
  return nullptr;
}

// "CLASS.METHOD:LINE", innermost first.
inline std::vector<std::string> TextsOf(const stack::ScriptFrames& frames,
                                        const stack::ScriptFunctions& functions) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < frames.count; ++i) {
    const stack::ScriptFunction function = functions.Find(frames.frames[i].function);
    texts.push_back(std::string(function.name) + ":" + std::to_string(frames.frames[i].line));
  }
  return texts;
}

}  // namespace lagwatch::testing

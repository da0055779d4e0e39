// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/interpreters/other_process.h"
#include "bench/interpreters/readers.h"
#include "stack/interpreters/v8/layout.h"
#include "stack/interpreters/v8/reader.h"
#include "stack/interpreters/v8/stack_words.h"

namespace lagwatch::interpreters_bench {
namespace {

class V8Reader final : public StackReader, private stack::v8::CodeKinds {
 public:
  explicit V8Reader(pid_t pid) : capture_(pid) {}
  // False until V8 is loaded.
  bool Attach() {
    return FindModule(capture_.pid(), capture_.memory(),
                      [&](const std::string& path, const stack::ExportedSymbols& exports) {
                        module_ = path;
                        return stack::v8::IsV8(exports) && reader_.Attach(capture_.memory(), exports);
                      });
  }
  void Capture() override {
    capture_.Take();
    ReadMap();
  }
  bool Read() override;
  std::string Text() const override { return TextOf(frames_, functions_); }

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    bool is_executable;
    bool is_v8;
    bool is_file;
  };
  CodeKind KindOf(uint64_t program_counter) override;
  void ReadMap();
  const Range* Find(uint64_t address) const;

  ThreadCapture capture_;
  std::string module_;
  std::vector<Range> ranges_;
  stack::v8::V8Reader reader_;
  stack::ScriptFunctions functions_;
  stack::ScriptFrames frames_;
};

void V8Reader::ReadMap() {
  std::ifstream maps("/proc/" + std::to_string(capture_.pid()) + "/maps");
  ranges_.clear();
  for (std::string line; std::getline(maps, line);) {
    char* rest = nullptr;
    Range range{};
    range.begin = std::strtoull(line.c_str(), &rest, 16);
    range.end = std::strtoull(rest + 1, &rest, 16);
    range.is_executable = std::string_view(rest).substr(0, 5).find('x') != std::string_view::npos;
    const size_t slash = line.find('/');
    range.is_file = slash != line.npos || line.find('[') != line.npos;
    range.is_v8 = slash != line.npos && line.substr(slash) == module_;
    ranges_.push_back(range);
  }
}

const V8Reader::Range* V8Reader::Find(uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *std::prev(after);
  return address < range.end ? &range : nullptr;
}

stack::v8::CodeKinds::CodeKind V8Reader::KindOf(uint64_t program_counter) {
  const Range* range = Find(program_counter);
  if (range == nullptr || !range->is_executable) return CodeKind::kOther;
  if (range->is_v8) return CodeKind::kBuiltIn;
  return range->is_file ? CodeKind::kOther : CodeKind::kGenerated;
}

bool V8Reader::Read() {
  if (!capture_.is_taken()) return false;
  const stack::RawStack& raw = capture_.raw();
  const stack::v8::V8Layout& layout = reader_.layout();
  const stack::v8::StackWords words(raw, capture_.memory());
  frames_.count = 0;
  frames_.is_cut = false;
  reader_.BeginStack();
  uint64_t at = raw.address;
  uint64_t last_end = 0;  // of the run that was read last
  const uint64_t program_counter = raw.registers.program_counter();
  if (KindOf(program_counter) != CodeKind::kOther) {
    const stack::v8::RunStart start{.end_of_call = program_counter + 1,
                                    .frame_pointer = raw.registers.value[stack::Registers::kFramePointer],
                                    .bytecode_array = raw.registers.value[layout.bytecode_array_register],
                                    .bytecode_offset = raw.registers.value[layout.bytecode_offset_register]};
    if (reader_.ReadRun(start, words, this, &functions_, &frames_, &last_end)) at = last_end;
  }
  // Elsewhere, V8's frames begin where it called C++.
  for (; at + 16 < raw.address + raw.size_bytes; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, raw.bytes + (at - raw.address), sizeof word);
    if (word % 2 != 0 || word > 128 || !stack::v8::IsExitFrame(layout, static_cast<int32_t>(word / 2)))
      continue;
    const uint64_t frame = at + 8;
    // A run's end keeps the next one's begin: stacks have runs that are over, too.
    std::array<uint64_t, 16> saved{};
    if (last_end != 0 &&
        (!words.Read(last_end - sizeof saved, saved) || std::ranges::find(saved, frame) == saved.end()))
      continue;
    if (reader_.ReadRun({.frame_pointer = frame}, words, this, &functions_, &frames_, &last_end))
      at = last_end;
  }
  return frames_.count != 0;
}

}  // namespace

std::unique_ptr<StackReader> AttachToV8(pid_t pid) {
  auto reader = std::make_unique<V8Reader>(pid);
  return reader->Attach() ? std::move(reader) : nullptr;
}

}  // namespace lagwatch::interpreters_bench

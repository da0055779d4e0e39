// SPDX-License-Identifier: Apache-2.0
// Goroutines of a stripped program, read from outside.
#include "stack/interpreters/go/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/testing/process.h"

namespace lagwatch::stack::go {
namespace {

using lagwatch::testing::Process;
using lagwatch::testing::WaitUntil;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// "(goroutines.go:41)": of the first line with `text` that follows the one with `function`.
std::string LineOf(const std::string& function, const std::string& text) {
  std::ifstream source(LAGWATCH_GO_SOURCE);
  bool is_in_function = false;
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    is_in_function = is_in_function || line.find("func " + function + "(") != std::string::npos;
    if (is_in_function && line.find(text) != std::string::npos)
      return "(goroutines.go:" + std::to_string(number) + ")";
  }
  return "none";
}

// A program in a scene, and a reader of it.
class GoReaderTest : public ::testing::Test {
 protected:
  void Begin(const char* scene) {
    program_ = std::make_unique<Process>(std::vector<std::string>{LAGWATCH_GO_PROGRAM, scene, "20000"});
    ASSERT_TRUE(WaitUntil([&] { return program_->Output().starts_with("begun"); })) << program_->Errors();
    std::ifstream maps("/proc/" + std::to_string(program_->pid()) + "/maps");
    std::string line;
    std::getline(maps, line);
    memory_ = std::make_unique<PresentMemory>(base::Process::Other(program_->pid()));
    ASSERT_TRUE(reader_->Attach(memory_.get(), std::strtoull(line.c_str(), nullptr, 16)));
    ASSERT_TRUE(reader_->goroutines().is_attached()) << reader_->functions().version();
  }
  // Waits for the goroutine that waits in `function`, and returns it.
  Goroutine Find(std::string_view function, WaitKind kind, size_t number = 0) {
    Goroutine found;
    EXPECT_TRUE(WaitUntil([&] {
      size_t count = 0;
      reader_->goroutines().ForEach([&](const Goroutine& one) {
        Wait wait;
        if (one.status == Status::kWaiting) reader_->ReadWait(one, &wait);
        if (wait.kind != kind || wait.place.name_view() != function || count++ != number) return true;
        found = one;
        return false;
      });
      return found.id != 0;
    })) << function;
    return found;
  }
  std::vector<std::string> FramesOf(const Goroutine& goroutine) {
    ScriptFrames frames;
    std::vector<std::string> texts;
    if (!reader_->ReadFrames(goroutine, &functions_, &frames)) return texts;
    for (size_t i = 0; i < frames.count; ++i) {
      const ScriptFunction function = functions_.Find(frames.frames[i].function);
      texts.push_back(std::string(function.name) + " (" + std::string(function.file) + ":" +
                      std::to_string(frames.frames[i].line) + ")");
    }
    return texts;
  }
  Holders HoldersFor(const Goroutine& goroutine) {
    Wait wait;
    reader_->ReadWait(goroutine, &wait);
    return reader_->FindHolders(goroutine, wait);
  }

  std::unique_ptr<Process> program_;
  std::unique_ptr<PresentMemory> memory_;
  std::unique_ptr<GoReader> reader_ = std::make_unique<GoReader>();
  ScriptFunctions functions_;
};

TEST_F(GoReaderTest, ReadsFunctionsFilesAndLinesOfAStrippedProgram) {
  Begin("mutex");
  const std::vector<std::string> frames = FramesOf(Find("main.waitForMutex", WaitKind::kMutex));
  EXPECT_THAT(frames, Contains("main.waitForMutex " + LineOf("waitForMutex", "global.Lock()")));
  EXPECT_THAT(frames, Contains(HasSubstr("sync.(*Mutex).Lock (mutex.go:"))) << "was inlined";
  EXPECT_THAT(frames, Not(Contains(HasSubstr("/goroutines.go")))) << "has no directories";
}

TEST_F(GoReaderTest, FindsTheHolderOfALockThatIsAVariable) {
  Begin("mutex");
  const Holders holders = HoldersFor(Find("main.waitForMutex", WaitKind::kMutex));
  EXPECT_EQ(holders.id, Find("main.holdMutex", WaitKind::kChannelReceive).id);
  EXPECT_EQ(holders.count, 1u);
  EXPECT_TRUE(holders.is_sure);
}

TEST_F(GoReaderTest, FindsHoldersThatWaitForEachOther) {
  Begin("deadlock");
  const Goroutine one = Find("main.takeBoth", WaitKind::kMutex, 0);
  const Goroutine other = Find("main.takeBoth", WaitKind::kMutex, 1);
  EXPECT_EQ(HoldersFor(one).id, other.id);
  EXPECT_EQ(HoldersFor(other).id, one.id);
}

TEST_F(GoReaderTest, KnowsARequestAndWhatItWaitsFor) {
  Begin("request");
  Wait wait;
  reader_->ReadWait(Find("main.answerLate", WaitKind::kChannelReceive), &wait);
  EXPECT_TRUE(wait.is_request);
  EXPECT_FALSE(wait.is_own);
  EXPECT_NE(wait.address, 0u);
}

TEST_F(GoReaderTest, SeesThatAGoroutineHasRun) {
  Begin("idle");
  Goroutine first;
  ASSERT_TRUE(WaitUntil([&] {
    bool has_run = false;
    reader_->goroutines().ForEach([&](const Goroutine& one) {
      Wait wait;
      if (one.status != Status::kWaiting) return true;
      reader_->ReadWait(one, &wait);
      if (wait.place.name_view() != "main.contend") return true;
      if (first.id == 0) first = one;
      has_run = has_run || (one.id == first.id && one.turns != first.turns);
      return true;
    });
    return has_run;
  }));
}

// The head of a program of Go, and beyond it words that its data might have, in no order.
class Noise final : public Memory {
 public:
  static constexpr uint64_t kBase = 0x400000;
  static constexpr uint64_t kTable = kBase + 0x1000;
  static constexpr uint64_t kData = kBase + 0x100000;
  static constexpr uint64_t kModule = kData + 0x100;
  static constexpr uint64_t kCode = kBase + 0x10000;

  explicit Noise(uint32_t seed) : random_(seed) {
    Put(kBase,
        "\x7f"
        "ELF\x02");
    Set(kBase + 32, uint64_t{64});            // the place of the list of segments
    Set(kBase + 54, uint32_t{56 | 3 << 16});  // their size and number
    AddSegment(0, 4, 0x200, 0x20, 4);         // notes
    AddSegment(1, 1, 0, 0x100000, 5);
    AddSegment(2, 1, 0x100000, 0x1000, 6);
    Put(kBase + 0x200, std::string_view("\4\0\0\0\4\0\0\0\4\0\0\0Go\0\0abcd", 20));
    Put(kData, "\xff Go buildinf:\x08\x02");
    Put(kData + 32, "\x08go1.19.8");
    Set(kTable, uint64_t{0x08010000fffffff0});
    Set(kTable + 8, uint64_t{100});
    for (uint64_t word = 0; word < 43; ++word) Set(kModule + word * 8, kTable + 0x60 + word * 0x400);
    Set(kModule, kTable);
    Set(kModule + 8, kTable + 0x60);
    Set(kModule + 17 * 8, uint64_t{101});
    for (uint64_t word : {20, 22}) Set(kModule + word * 8, kCode);
    for (uint64_t word : {21, 23}) Set(kModule + word * 8, kCode + 0x1000);
    for (uint64_t word : {24, 28}) Set(kModule + word * 8, kData);
    for (uint64_t word : {29, 31}) Set(kModule + word * 8, kData + 0x1000);
  }

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    auto* bytes = static_cast<char*>(destination);
    for (size_t i = 0; i < size_bytes; i += 8) {
      const uint64_t words[] = {
          kCode + random_() % 512 * 8, random_() % 64, random_(), 0, 4, 0x101010101010101};
      const uint64_t word = words[random_() % std::size(words)];
      std::memcpy(bytes + i, &word, std::min<size_t>(8, size_bytes - i));
    }
    for (const auto& [at, text] : known_) {
      for (size_t i = 0; i < text.size(); ++i)
        if (address <= at + i && at + i < address + size_bytes) bytes[at + i - address] = text[i];
    }
    return address != 0 && (address < kCode || address >= kData || random_() % 64 != 0);
  }

 private:
  void Put(uint64_t address, std::string_view text) { known_.emplace_back(address, text); }
  template <typename T>
  void Set(uint64_t address, T value) {
    Put(address, {reinterpret_cast<const char*>(&value), sizeof value});
  }
  void AddSegment(uint64_t index, uint32_t type, uint64_t offset, uint64_t size, uint32_t flags) {
    const uint64_t at = kBase + 64 + index * 56;
    Set(at, type);
    Set(at + 4, flags);
    Set(at + 8, offset);
    Set(at + 16, kBase + offset);
    Set(at + 32, size);
    Set(at + 40, size);
  }

  std::mt19937_64 random_;
  std::vector<std::pair<uint64_t, std::string>> known_;
};

TEST(GoReader, EndsWhateverItReads) {
  auto reader = std::make_unique<GoReader>();
  auto functions = std::make_unique<ScriptFunctions>();
  size_t attached = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Noise memory(seed);
    std::memset(static_cast<void*>(reader.get()), 0, sizeof *reader);
    attached += reader->Attach(&memory, Noise::kBase);
    EXPECT_EQ(reader->functions().version(), "go1.19.8");
    reader->goroutines();
    for (uint64_t pc = Noise::kCode; pc < Noise::kCode + 0x1000; pc += 0x111) {
      ScriptFrames frames;
      frames.count = 0;
      frames.is_cut = false;
      reader->AddFrames(pc, functions.get(), &frames);
      EXPECT_LE(frames.count, ScriptFrames::kMost);
    }
  }
  EXPECT_EQ(attached, 100u);
}

}  // namespace
}  // namespace lagwatch::stack::go

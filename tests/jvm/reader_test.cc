// SPDX-License-Identifier: Apache-2.0
// Java frames read from outside of a JVM, against those that the JVM itself sees at the same place.
#include "stack/interpreters/jvm/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/jvm/javas.h"
#include "tests/jvm/other_jvm.h"
#include "tests/testing/process.h"

namespace lagwatch::stack::jvm {
namespace {

using lagwatch::testing::Javas;
using lagwatch::testing::Process;
using lagwatch::testing::WaitUntil;

// The stops that the program has printed so far: their frames.
std::vector<std::vector<std::string>> StopsIn(const std::string& output) {
  std::vector<std::vector<std::string>> stops;
  std::istringstream text(output);
  std::vector<std::string> frames;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) {
      frames.push_back(line);
    } else if (!frames.empty()) {
      stops.push_back(frames);
      frames.clear();
    }
  }
  return stops;
}

// Reflection's own frames have no lines of their own that count, and generated classes no constant names.
bool IsReflection(const std::string& frame) { return frame.find("reflect.") != std::string::npos; }

struct Outcome {
  size_t frames = 0;
  size_t right = 0;
};

Outcome CompareStops(const std::string& java, const std::vector<std::string>& options, size_t stops,
                     const std::string& warm_ups) {
  std::vector<std::string> command = {java};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"-cp", LAGWATCH_JVM_CLASSES, "Stops", std::to_string(stops), warm_ups});
  Process program(command);
  Outcome outcome;
  std::unique_ptr<JvmReader> reader;
  lagwatch::testing::OtherMemory memory(program.pid());
  ScriptFunctions functions;
  ScriptFrames frames;
  for (size_t i = 0; i < stops; ++i) {
    if (!WaitUntil([&] { return StopsIn(program.Output()).size() > i; })) {
      ADD_FAILURE() << "no stop " << i << ": " << program.Errors();
      return outcome;
    }
    std::vector<std::string> wanted = StopsIn(program.Output())[i];
    if (reader == nullptr) reader = lagwatch::testing::AttachTo(program.pid(), &memory);
    if (reader == nullptr) {
      ADD_FAILURE() << "no reader";
      return outcome;
    }
    const pid_t tid = lagwatch::testing::FindThread(program.pid(), "stopper");
    std::vector<std::string> found;
    // It may be on its way from its last words to its read.
    WaitUntil(
        [&] {
          reader->Read(tid, nullptr, &functions, &frames);
          found = lagwatch::testing::TextsOf(frames, functions);
          const auto at = std::ranges::find_if(
              found, [](const std::string& frame) { return frame.starts_with("Stops.stop:"); });
          const bool is_there = at != found.end() && at != found.begin() &&
                                found.front().find("readBytes") != std::string::npos;
          if (is_there) found.erase(found.begin(), at + 1);
          return is_there;
        },
        2);
    std::erase_if(wanted, IsReflection);
    std::erase_if(found, IsReflection);
    outcome.frames += wanted.size();
    for (size_t at = 0; at < wanted.size(); ++at) {
      const bool is_right = at < found.size() && wanted[at] == found[at];
      outcome.right += is_right;
      if (!is_right)
        std::printf("stop %zu frame %zu: %s, not %s\n", i, at, wanted[at].c_str(),
                    at < found.size() ? found[at].c_str() : "nothing");
    }
    program.WriteInput("\n");
  }
  return outcome;
}

TEST(JvmReader, ReadsInterpretedFrames) {
  for (const std::string& java : Javas(LAGWATCH_JAVA)) {
    const Outcome outcome = CompareStops(java, {"-Xint"}, 40, "10");
    EXPECT_GT(outcome.frames, 200u) << java;
    EXPECT_EQ(outcome.right, outcome.frames) << java;
  }
}

TEST(JvmReader, ReadsCompiledAndInlinedFrames) {
  for (const std::string& java : Javas(LAGWATCH_JAVA)) {
    const Outcome outcome = CompareStops(java, {}, 60, "200000");
    EXPECT_GT(outcome.frames, 300u) << java;
    EXPECT_EQ(outcome.right, outcome.frames) << java;
  }
}

// Stopped anywhere: in a prologue, in a stub, in the JVM's own code, in the system's clock.
TEST(JvmReader, ReadsThreadsThatRun) {
  for (const std::string& java : Javas(LAGWATCH_JAVA)) {
    Process program({java, "-Xmx64m", "-cp", LAGWATCH_JVM_CLASSES, "Churn"});
    pid_t tid = 0;
    ASSERT_TRUE(
        WaitUntil([&] { return (tid = lagwatch::testing::FindThread(program.pid(), "spinner")) != 0; }));
    lagwatch::testing::OtherMemory memory(program.pid());
    const auto reader = lagwatch::testing::AttachTo(program.pid(), &memory);
    ASSERT_NE(reader, nullptr) << java;
    const auto raw = std::make_unique<RawStack>();
    ScriptFunctions functions;
    ScriptFrames frames;
    constexpr int kStops = 300;
    int whole = 0;
    for (int i = 0; i < kStops; ++i) {
      std::vector<std::string> found;
      {
        const lagwatch::testing::ScopedStop stop(tid);
        ASSERT_TRUE(stop.Copy(program.pid(), raw.get()));
        reader->Read(tid, raw.get(), &functions, &frames);
      }
      found = lagwatch::testing::TextsOf(frames, functions);
      const bool is_whole =
          !frames.is_cut && !found.empty() && found.back().starts_with("java.lang.Thread.run:") &&
          std::ranges::any_of(found,
                              [](const std::string& frame) { return frame.starts_with("Churn.spin:"); });
      whole += is_whole ? 1 : 0;
      usleep(1000);
    }
    EXPECT_GE(whole, kStops * 95 / 100) << java;
  }
}

// ":LINE" of the first line of Waiting.java that holds `text`.
std::string LineOf(const std::string& text) {
  std::ifstream file(LAGWATCH_JVM_SOURCES "/Waiting.java");
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find(text) != line.npos) return ":" + std::to_string(number);
  }
  return ":none";
}

// The compiled code has records neither in the one's loop nor at the call of the clock.
TEST(JvmReader, NamesTheLinesOfLoopsWithoutRecords) {
  for (const std::string& java : Javas(LAGWATCH_JAVA)) {
    struct Wanted {
      const char* scene;
      const char* thread;
      std::string place;
    };
    const std::vector<Wanted> wanted = {{"loops", "counter", "Waiting.count" + LineOf("// counts")},
                                        {"clock", "reader", "Waiting.wait" + LineOf("// reads the clock")}};
    const auto raw = std::make_unique<RawStack>();
    ScriptFunctions functions;
    ScriptFrames frames;
    for (const auto& [scene, name, place] : wanted) {
      Process program({java, "-Xmx64m", "-XX:+UseSerialGC", "-cp", LAGWATCH_JVM_CLASSES, "Waiting", scene});
      lagwatch::testing::OtherMemory memory(program.pid());
      pid_t tid = 0;
      ASSERT_TRUE(WaitUntil([&] { return (tid = lagwatch::testing::FindThread(program.pid(), name)) != 0; }));
      const auto reader = lagwatch::testing::AttachTo(program.pid(), &memory);
      ASSERT_NE(reader, nullptr);
      usleep(500'000);  // compiled by then
      int right = 0;
      std::string last;
      for (int i = 0; i < 50; ++i) {
        usleep(1000);
        const lagwatch::testing::ScopedStop stop(tid);
        ASSERT_TRUE(stop.Copy(program.pid(), raw.get()));
        reader->Read(tid, raw.get(), &functions, &frames);
        const auto found = lagwatch::testing::TextsOf(frames, functions);
        right += std::ranges::find(found, place) != found.end() ? 1 : 0;
        if (!found.empty()) last = found.front();
      }
      EXPECT_GE(right, 45) << java << " " << place << ", not " << last;
    }
  }
}

// The frames of a virtual thread, and those of the thread that runs it.
TEST(JvmReader, ReadsVirtualThreads) {
  int tried = 0;
  for (const std::string& java : Javas(LAGWATCH_JAVA)) {
    Process program({java, "-Xmx64m", "-cp", LAGWATCH_JVM_CLASSES, "Waiting", "virtual"});
    pid_t tid = 0;
    WaitUntil([&] {
      tid = lagwatch::testing::FindThread(program.pid(), "ForkJoinPool-1-");
      return tid != 0 || program.Errors().find("NoSuchMethod") != std::string::npos;
    });
    if (tid == 0) continue;  // before JDK 21
    ++tried;
    usleep(200'000);
    lagwatch::testing::OtherMemory memory(program.pid());
    const auto reader = lagwatch::testing::AttachTo(program.pid(), &memory);
    ASSERT_NE(reader, nullptr);
    const auto raw = std::make_unique<RawStack>();
    ScriptFunctions functions;
    ScriptFrames frames;
    {
      const lagwatch::testing::ScopedStop stop(tid);
      ASSERT_TRUE(stop.Copy(program.pid(), raw.get()));
      reader->Read(tid, raw.get(), &functions, &frames);
    }
    std::string text;
    for (const std::string& frame : lagwatch::testing::TextsOf(frames, functions)) text += frame + "\n";
    EXPECT_THAT(text,
                ::testing::ContainsRegex("Waiting.spinVirtually:[0-9]+\n(.*\n)*java.lang.VirtualThread.run:"
                                         "(.*\n)*java.util.concurrent.ForkJoinWorkerThread.run:"));
    EXPECT_FALSE(frames.is_cut) << text;
  }
  if (tried == 0) GTEST_SKIP() << "no JDK has virtual threads";
}

// The owner of a wait of that kind by the thread "waiter"; empty if there is none.
std::string OwnerOf(const std::string& java, std::vector<std::string> options, const std::string& mode,
                    policies::LockKind kind) {
  options.insert(options.begin(), {java, "-Xmx64m", "-XX:+UseSerialGC"});
  options.insert(options.end(), {"-cp", LAGWATCH_JVM_CLASSES, "Waiting", mode});
  Process program(options);
  pid_t tid = 0;
  WaitUntil([&] { return (tid = lagwatch::testing::FindThread(program.pid(), "waiter")) != 0; });
  lagwatch::testing::OtherMemory memory(program.pid());
  const auto reader = lagwatch::testing::AttachTo(program.pid(), &memory);
  if (reader == nullptr) return "no reader";
  Waits::Wait wait;
  const auto is_found = [&] {
    wait = reader->waits().Find(tid, lagwatch::testing::ReadFutex(program.pid(), tid));
    return wait.kind == kind && wait.owner_tid != 0;
  };
  for (int i = 0; i < 50'000 && !is_found(); ++i) usleep(100);  // a compilation is over soon
  std::ifstream file("/proc/" + std::to_string(program.pid()) + "/task/" + std::to_string(wait.owner_tid) +
                     "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

TEST(JvmWaits, NameTheThreadThatHoldsASafepointUp) {
  for (const std::string& java : Javas(LAGWATCH_JAVA))
    EXPECT_EQ(OwnerOf(java, {}, "safepoint", policies::LockKind::kSafepoint), "counter") << java;
}

TEST(JvmWaits, NameTheThreadThatInitializesAClass) {
  for (const std::string& java : Javas(LAGWATCH_JAVA))
    EXPECT_EQ(OwnerOf(java, {}, "class", policies::LockKind::kClass), "initializer") << java;
}

TEST(JvmWaits, NameTheThreadThatRunsAVirtualOwner) {
  int tried = 0;
  for (const std::string& java : Javas(LAGWATCH_JAVA)) {
    Process version({java, "-cp", LAGWATCH_JVM_CLASSES, "Waiting", "has-virtual"});
    if (version.Wait() != 0) continue;
    ++tried;
    EXPECT_EQ(OwnerOf(java, {}, "virtual-lock", policies::LockKind::kMutex), "ForkJoinPool-1-") << java;
    EXPECT_EQ(OwnerOf(java, {}, "virtual-monitor", policies::LockKind::kMutex), "ForkJoinPool-1-") << java;
  }
  if (tried == 0) GTEST_SKIP() << "no JDK has virtual threads";
}

TEST(JvmWaits, NameTheCompiler) {
  for (const std::string& java : Javas(LAGWATCH_JAVA))
    EXPECT_THAT(
        OwnerOf(java, {"-Xbatch", "-XX:-TieredCompilation"}, "compile", policies::LockKind::kCompilation),
        ::testing::HasSubstr("CompilerThre"))
        << java;
}

// Memory of words that a JVM might have, in no order.
class Noise final : public Memory {
 public:
  explicit Noise(Memory* real, uint32_t seed) : real_(real), random_(seed) {}

 protected:
  // Returns the JVM's own memory, except at one read in sixteen.
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    if (!real_->Read(address, destination, size_bytes)) return false;
    if (random_() % 16 != 0) return true;
    auto* bytes = static_cast<unsigned char*>(destination);
    for (size_t i = 0; i < size_bytes; ++i) {
      if (random_() % 3 == 0) bytes[i] = static_cast<unsigned char>(random_());
    }
    return random_() % 8 != 0;
  }

 private:
  Memory* real_;
  std::mt19937 random_;
};

TEST(JvmReader, EndsWhateverItReads) {
  Process program({LAGWATCH_JAVA, "-Xmx64m", "-cp", LAGWATCH_JVM_CLASSES, "Churn"});
  pid_t tid = 0;
  ASSERT_TRUE(
      WaitUntil([&] { return (tid = lagwatch::testing::FindThread(program.pid(), "spinner")) != 0; }));
  lagwatch::testing::OtherMemory real(program.pid());
  const auto raw = std::make_unique<RawStack>();
  ScriptFunctions functions;
  ScriptFrames frames;
  uint64_t with_frames = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Noise noise(&real, seed);
    // Attached where all is as it is; what is read from then on is not.
    const auto reader = lagwatch::testing::AttachTo(program.pid(), &real);
    ASSERT_NE(reader, nullptr);
    reader->UseMemoryForTest(&noise);
    {
      const lagwatch::testing::ScopedStop stop(tid);
      ASSERT_TRUE(stop.Copy(program.pid(), raw.get()));
    }
    for (int i = 0; i < 100; ++i) {
      const uint64_t before = noise.read_count();
      with_frames += reader->Read(tid, raw.get(), &functions, &frames) ? 1 : 0;
      ASSERT_LE(frames.count, ScriptFrames::kMost);
      ASSERT_LT(noise.read_count() - before, 20'000u);
      reader->waits().Find(tid, {.address = raw->address, .stack_pointer = raw->address});
      reader->waits().IsCollecting();
      reader->InnermostFunction(tid, &functions, &frames);
      char cause[64];
      reader->waits().ReadGcCause(cause, sizeof cause);
    }
  }
  EXPECT_GT(with_frames, 0u);
}

}  // namespace
}  // namespace lagwatch::stack::jvm

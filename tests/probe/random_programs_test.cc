// SPDX-License-Identifier: Apache-2.0
// Programs that the verifier accepts keep its promises, whatever they are.
#include "tests/probe/random_programs.h"

#include <gtest/gtest.h>

#include <array>
#include <cctype>

#include "probe/run/loop.h"
#include "tests/probe/armed_script.h"

namespace lagwatch::probe {
namespace {

constexpr int kCosts[] = {
#define OPERATION(name, to, a, b, number, cost) cost,
#include "probe/operations.def"
};

// Answers any address, now with all, now with less than was asked for.
size_t ReadAnything(const Hit&, uint64_t address, void* to, size_t size) {
  const size_t given = address % 5 == 0 ? address % (size + 1) : size;
  for (size_t i = 0; i < given; ++i)
    static_cast<char*>(to)[i] = static_cast<char>(address * 31 + i * 7 + (address >> i % 8));
  return given;
}
size_t ReadNothing(const Hit&, uint64_t, void*, size_t) { return 0; }

// A block of memory with guards around it, in which alone a program may write.
class GuardedRun {
 public:
  explicit GuardedRun(const VerifiedProgram& program) : program_(program), size_(ProbeState::Bytes(program)) {
    memory_ = ZeroedMemory(size_ + 2 * kGuard);
    std::memset(memory_.get(), 0xA5, kGuard);
    std::memset(End(), 0xA5, kGuard);
    state_ = std::make_unique<ProbeState>(program, Begin(), ProbeClock{}, 0);
  }

  // The operations and the cost of one hit, by the loop that hits run.
  void Hit(uint64_t seed, size_t probe_index) {
    const VerifiedProbe& probe = program_.probes()[probe_index];
    uint64_t ints[12];
    double floats[8];
    for (size_t i = 0; i < 12; ++i) ints[i] = Mixed(seed + i) >> (seed % 64);
    for (size_t i = 0; i < 8; ++i) floats[i] = std::bit_cast<double>(Mixed(seed * 3 + i));
    const HitDetails details{.thrown_type = "abc", .bytes = seed, .operation = nullptr, .loop = "main"};
    const HitServices services{.read = seed % 3 == 0 ? ReadNothing : ReadAnything,
                               .capture_stack = CaptureFixedStack,
                               .cpu_time_ns = FixedCpuTime};
    probe::Hit hit{.services = &services,
                   .int_arguments = ints,
                   .float_arguments = floats,
                   .details = &details,
                   .tid = static_cast<uint32_t>(seed % 70)};
    hit.stack_arguments = seed % 2 == 0 ? 0x1000 : 0;
    hit.now_ticks = 1 + seed * 1'000'003;
    hit.duration_ticks = seed;
    Frame frame(probe, hit, state_->block(), seed, 1);
    uint32_t operations = 0;
    uint32_t cost_ns = 0;
    RunOperations(frame, [&](const Operation& operation) {
      ++operations;
      cost_ns += static_cast<uint32_t>(kCosts[static_cast<size_t>(operation.code)]);
    });
    ASSERT_LE(operations, probe.most_operations());
    ASSERT_LE(cost_ns, probe.cost_ns());
    operations_ += operations;
  }

  void ExpectGuardsWhole() const {
    for (size_t i = 0; i < kGuard; ++i) {
      ASSERT_EQ(static_cast<unsigned char*>(memory_.get())[i], 0xA5);
      ASSERT_EQ(static_cast<unsigned char*>(End())[i], 0xA5);
    }
  }
  uint64_t operations() const { return operations_; }
  ProbeState& state() { return *state_; }

 private:
  static constexpr size_t kGuard = 4096;
  char* Begin() const { return static_cast<char*>(memory_.get()) + kGuard; }
  void* End() const { return Begin() + size_; }

  const VerifiedProgram& program_;
  size_t size_;
  Memory memory_;
  std::unique_ptr<ProbeState> state_;
  uint64_t operations_ = 0;
};

void RunSomeHits(const VerifiedProgram& program, Random* random) {
  GuardedRun run(program);
  for (int i = 0; i < 4; ++i) run.Hit((*random)() >> (i * 16), 0);
  run.ExpectGuardsWhole();
  std::string records;
  run.state().TakeRecords(100, &records);
  EXPECT_FALSE(run.state().Snapshot().empty());
  EXPECT_GT(run.operations(), 3u);
}

bool BeginsWithPosition(const std::string& message) {
  size_t at = 0;
  for (const char end : {':', ':'}) {
    const size_t begin = at;
    while (at < message.size() && std::isdigit(static_cast<unsigned char>(message[at]))) ++at;
    if (at == begin || at == message.size() || message[at++] != end) return false;
  }
  return message.size() > at + 2 && message[at] == ' ';
}

// A part of `tests` as a ctest; with LAGWATCH_ALL_PROGRAMS in the environment all of them.
size_t Share(size_t tests) {
  const char* const all = std::getenv("LAGWATCH_ALL_PROGRAMS");
  return all != nullptr ? tests : tests / 32;
}

TEST(RandomPrograms, AcceptedOperationsStayWithinTheirBounds) {
  Random random(1);
  size_t accepted = 0;
  size_t refused = 0;
  const size_t wanted = Share(100'000);
  while (accepted < wanted) {
    Result<VerifiedProgram> verified = Verify(RandomProgram(&random));
    if (!verified.ok()) {
      ++refused;
      ASSERT_TRUE(BeginsWithPosition(verified.status().message())) << verified.status().message();
      ASSERT_LT(refused, 2'000 * wanted);
      continue;
    }
    ++accepted;
    ASSERT_NO_FATAL_FAILURE(RunSomeHits(*verified, &random));
  }
  EXPECT_GT(refused, accepted / 10);
}

TEST(RandomPrograms, AcceptedScriptsStayWithinTheirBounds) {
  Random random(2);
  size_t accepted = 0;
  const size_t tried = Share(100'000);
  for (size_t i = 0; i < tried; ++i) {
    const std::string script = RandomScript(&random);
    Result<Program> program = CompileScript(script, nullptr);
    if (!program.ok()) {
      ASSERT_TRUE(BeginsWithPosition(program.status().message())) << program.status().message() << '\n'
                                                                  << script;
      continue;
    }
    Result<VerifiedProgram> verified = Verify(*program);
    // The compiler makes nothing that the verifier calls wrong; it may be too long or too expensive.
    if (!verified.ok()) {
      const std::string& message = verified.status().message();
      ASSERT_TRUE(message.find("take up to") != std::string::npos ||
                  message.find("bytes; the most") != std::string::npos)
          << message << '\n'
          << script;
      continue;
    }
    ++accepted;
    ASSERT_NO_FATAL_FAILURE(RunSomeHits(*verified, &random)) << script;
  }
  EXPECT_GT(accepted, tried / 2);
}

// One change of an accepted program: it is refused with a position, or it keeps the promises, too.
TEST(RandomPrograms, ChangedProgramsAreRefusedOrHarmless) {
  Random random(3);
  size_t refused = 0;
  const size_t tried = Share(30'000);
  for (size_t i = 0; i < tried;) {
    Result<Program> program = CompileScript(RandomScript(&random), nullptr);
    if (!program.ok()) continue;
    ++i;
    auto& operations = program->probes[0].operations;
    Operation& changed = operations[random() % operations.size()];
    uint8_t bytes[sizeof changed];
    std::memcpy(bytes, &changed, sizeof changed);
    bytes[random() % sizeof bytes] ^= static_cast<uint8_t>(1 << random() % 8);
    std::memcpy(&changed, bytes, sizeof changed);
    Result<VerifiedProgram> verified = Verify(std::move(*program));
    if (verified.ok()) {
      ASSERT_NO_FATAL_FAILURE(RunSomeHits(*verified, &random));
    } else {
      ++refused;
      ASSERT_TRUE(BeginsWithPosition(verified.status().message())) << verified.status().message();
      ASSERT_FALSE(verified.status().message().starts_with("0:0"));
    }
  }
  EXPECT_GT(refused, tried / 4);
}

}  // namespace
}  // namespace lagwatch::probe

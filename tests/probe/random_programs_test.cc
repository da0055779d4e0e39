// SPDX-License-Identifier: Apache-2.0
// Programs that the verifier accepts keep its promises, whatever they are.
#include "tests/probe/random_programs.h"

#include <gtest/gtest.h>

#include <array>
#include <cctype>

#include "tests/probe/armed_script.h"
#include "tests/probe/hostile_hits.h"

namespace lagwatch::probe {
namespace {

void RunSomeHits(const VerifiedProgram& program, Random* random) {
  EXPECT_GT(RunHostileHits(program, (*random)()), 3u);
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

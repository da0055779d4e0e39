// SPDX-License-Identifier: Apache-2.0
// Real workers, and files made to break them.
#include "collector/symbols/worker/worker_pool.h"

#include <dwarf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "collector/symbols/elf/elf_facts.h"
#include "collector/symbols/elf/module_symbols.h"
#include "tests/collector/symbols/subject_files.h"
#include "tests/stack/symbol_oracle.h"

namespace lagwatch::collector {
namespace {

using base::StatusCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  // A file in memory.
  struct Content {
    std::string_view bytes;
  };
  explicit OpenFile(Content content) : fd_(memfd_create("symbols", MFD_CLOEXEC)) {
    EXPECT_EQ(write(fd_, content.bytes.data(), content.bytes.size()),
              static_cast<ssize_t>(content.bytes.size()));
  }
  ~OpenFile() { close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Begins of the subject's functions and places in them.
std::vector<CodePlace> SomePlaces() {
  std::vector<CodePlace> places;
  for (const auto& function : testing::FunctionsByNm("", kProgram)) {
    places.push_back(function.begin);
    places.push_back(function.begin + (function.end - function.begin) / 2);
  }
  return places;
}

WorkerOptions QuickOptions(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  return {.program = LAGWATCH_COLLECTOR_PROGRAM, .workers = 2, .batch_timeout = timeout};
}

class WorkerPoolTest : public ::testing::Test {
 protected:
  base::Result<WorkerAnswer> Symbolize(WorkerPool* pool, const OpenFile& file) {
    const int fd = file.fd();
    return pool->Symbolize("subject", std::span(&fd, 1), false, places_);
  }
  // A whole file is still read as ever.
  void ExpectWell(WorkerPool* pool) {
    OpenFile file(kProgram);
    auto answer = Symbolize(pool, file);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_THAT(answer->frames, SizeIs(places_.size()));
  }

  const std::vector<CodePlace> places_ = SomePlaces();
  WorkerPool pool_{QuickOptions()};
};

// A worker of the collector opens no files; those that a file names are none of its.
TEST_F(WorkerPoolTest, DoesNotOpenTheFilesThatAFileNames) {
#ifdef __clang__
  GTEST_SKIP() << "clang writes inlined calls into the program, too";
#endif
  WorkerPool pool(QuickOptions());
  OpenFile file(LAGWATCH_SYMBOLS_SUBJECT "_split");
  auto answer = Symbolize(&pool, file);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  size_t lines = 0;
  for (const auto& frames : answer->frames) {
    for (const NamedFrame& frame : frames) EXPECT_FALSE(frame.is_inlined);
    lines += !frames.empty() && frames.front().line != 0;
  }
  EXPECT_GT(lines, 10u);
}

TEST_F(WorkerPoolTest, SaysWhatTheReaderSays) {
  OpenFile file(kProgram);
  const int fd = file.fd();
  auto symbols = ModuleSymbols::Open(std::span(&fd, 1), -1);
  for (int i = 0; i < 2; ++i) {
    auto answer = Symbolize(&pool_, file);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    ASSERT_THAT(answer->frames, SizeIs(places_.size()));
    for (size_t place = 0; place < places_.size(); ++place) {
      EXPECT_EQ(answer->frames[place], (*symbols)->FramesAt(places_[place].number));
    }
  }
  EXPECT_THAT(pool_.IdlePidsForTest(), SizeIs(1));
}

TEST_F(WorkerPoolTest, TellsWhatAFileIs) {
  OpenFile file(kProgram);
  auto answer = pool_.Inspect(file.fd());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_THAT(answer->build_id, Not(IsEmpty()));
  EXPECT_TRUE(answer->has_symbols);
  OpenFile stripped(LAGWATCH_SYMBOLS_SUBJECT ".stripped");
  EXPECT_FALSE(pool_.Inspect(stripped.fd())->has_symbols);
  OpenFile text(OpenFile::Content{"no ELF file"});
  EXPECT_EQ(pool_.Inspect(text.fd()).status().code(), StatusCode::kInvalid);
}

TEST_F(WorkerPoolTest, GoesOnWithAnotherWhenAWorkerWasKilled) {
  ExpectWell(&pool_);
  const pid_t first = pool_.IdlePidsForTest().at(0);
  kill(first, SIGKILL);
  ExpectWell(&pool_);
  EXPECT_NE(pool_.IdlePidsForTest().at(0), first);
}

TEST_F(WorkerPoolTest, GoesOnWhenAWorkerIsKilledInTheMiddle) {
  ExpectWell(&pool_);
  const pid_t first = pool_.IdlePidsForTest().at(0);
  kill(first, SIGSTOP);
  std::thread killer([first] {
    usleep(50'000);
    kill(first, SIGKILL);
  });
  ExpectWell(&pool_);
  killer.join();
}

TEST_F(WorkerPoolTest, GivesUpAWorkerThatTakesTooLong) {
  WorkerPool pool(QuickOptions(std::chrono::seconds(5)));  // those that run need one on a busy machine
  ExpectWell(&pool);
  kill(pool.IdlePidsForTest().at(0), SIGSTOP);
  OpenFile file(kProgram);
  auto answer = Symbolize(&pool, file);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(answer.status().message(), HasSubstr("too long"));
  ExpectWell(&pool);
}

TEST_F(WorkerPoolTest, SaysThatItCannotStartWorkers) {
  WorkerPool pool({.program = "/nowhere/program"});
  OpenFile file(kProgram);
  EXPECT_EQ(pool.Inspect(file.fd()).status().code(), StatusCode::kUnavailable);
}

TEST_F(WorkerPoolTest, AnswersManyAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([this] { ExpectWell(&pool_); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool_.IdlePidsForTest().size(), 2u);
}

TEST_F(WorkerPoolTest, ItsWorkersAreInASandbox) {
  ExpectWell(&pool_);
  const std::string proc = "/proc/" + std::to_string(pool_.IdlePidsForTest().at(0));
  EXPECT_THAT(ContentOf(proc + "/status"), HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(ContentOf(proc + "/limits"), HasSubstr("Max file size             0 "));
  EXPECT_EQ(ContentOf(proc + "/environ"), "");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_THAT(ContentOf(proc + "/status"), HasSubstr("Seccomp:\t2"));
#endif
}

// Counts the outcomes of damaged files.
struct Damage {
  int answered = 0, refused = 0, crashed = 0, slow = 0;

  void Count(const base::Result<WorkerAnswer>& answer) {
    const std::string& problem = answer.status().message();
    ++(answer.ok()                                     ? answered
       : problem.find("too long") != std::string::npos ? slow
       : problem.find("crash") != std::string::npos    ? crashed
                                                       : refused);
    EXPECT_NE(answer.status().code(), StatusCode::kUnavailable) << problem;
  }
};

std::ostream& operator<<(std::ostream& out, const Damage& damage) {
  return out << damage.answered << " answered, " << damage.refused << " refused, " << damage.crashed
             << " crashed the worker, " << damage.slow << " took too long";
}

TEST_F(WorkerPoolTest, OutlivesCutFiles) {
  const std::string whole = ContentOf(kProgram);
  Damage damage;
  for (size_t part = 0; part < 100; ++part) {
    OpenFile file(OpenFile::Content{std::string_view(whole).substr(0, whole.size() * part / 100)});
    damage.Count(Symbolize(&pool_, file));
  }
  std::cout << "cut files: " << damage << "\n";
  ExpectWell(&pool_);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint32_t kDamagedFiles = 300;  // a worker takes its time then
#else
constexpr uint32_t kDamagedFiles = 2000;
#endif

TEST_F(WorkerPoolTest, OutlivesFlippedBits) {
  const std::string whole = ContentOf(kProgram);
  WorkerPool pool(QuickOptions(std::chrono::seconds(2)));
  Damage damage;
  for (uint32_t seed = 0; seed < kDamagedFiles; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = whole;
    // Few in some, so that most of it makes sense; many in others.
    const size_t flips = size_t{1} << (seed % 12);
    for (size_t i = 0; i < flips; ++i)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << (random() % 8));
    OpenFile file(OpenFile::Content{bytes});
    damage.Count(Symbolize(&pool, file));
  }
  std::cout << "flipped bits: " << damage << "\n";
  ExpectWell(&pool);
}

// The subject with the first DIE that names its sibling naming itself.
std::string WithSiblingLoop() {
  std::string bytes = ContentOf(kProgram);
  OpenFile file(kProgram);
  ElfHandle elf = OpenElf(file.fd());
  DwarfHandle dwarf(dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr));
  Dwarf_CU* unit = nullptr;
  Dwarf_Die unit_die;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &unit_die, nullptr) == 0) {
    if (dwarf_child(&unit_die, &die) != 0) continue;
    do {
      Dwarf_Attribute sibling;
      if (dwarf_attr(&die, DW_AT_sibling, &sibling) == nullptr) continue;
      const size_t place = bytes.find(std::string(reinterpret_cast<const char*>(die.addr), 32));
      const auto own = static_cast<uint32_t>(dwarf_cuoffset(&die));
      std::memcpy(bytes.data() + place + (sibling.valp - static_cast<unsigned char*>(die.addr)), &own,
                  sizeof own);
      return bytes;
    } while (dwarf_siblingof(&die, &die) == 0);
  }
  ADD_FAILURE() << "nothing names its sibling";
  return bytes;
}

TEST_F(WorkerPoolTest, OutlivesALoopOfSiblings) {
#if defined(__clang__)
  GTEST_SKIP() << "clang's debug information names no siblings";
#endif
  WorkerPool pool(QuickOptions(std::chrono::seconds(1)));
  OpenFile file(OpenFile::Content{WithSiblingLoop()});
  Damage damage;
  damage.Count(Symbolize(&pool, file));
  std::cout << "a loop of siblings: " << damage << "\n";
  EXPECT_EQ(damage.crashed + damage.slow, 0);  // libdw notices; if it did not, the time limit would
  ExpectWell(&pool);
}

}  // namespace
}  // namespace lagwatch::collector

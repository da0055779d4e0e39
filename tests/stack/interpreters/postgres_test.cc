// SPDX-License-Identifier: Apache-2.0
// Reading of the locks of PostgreSQL's backends, from structures like the server's.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "stack/interpreters/interpreter.h"

namespace lagwatch::stack {
namespace {

template <size_t kBytes>
struct Bytes {
  alignas(8) std::array<uint8_t, kBytes> bytes{};

  template <typename T>
  void Set(size_t offset, T value) {
    std::memcpy(&bytes[offset], &value, sizeof value);
  }
  uint64_t address(size_t offset = 0) const { return reinterpret_cast<uint64_t>(&bytes[offset]); }
};

// A backend that waits for a lock, which two others have, and its server's memory.
class PostgresTest : public ::testing::Test {
 protected:
  static constexpr int kTid = 100;
  static constexpr int kReader = 200;
  static constexpr int kWriter = 300;
  static constexpr uint32_t kAccessShare = 1;
  static constexpr uint32_t kRowExclusive = 3;
  static constexpr uint32_t kAccessExclusive = 8;

  PostgresTest() {
    SetWait(kTid, kAccessExclusive);
    lock_.Set<uint8_t>(14, 0);  // a table
    lock_.Set<uint8_t>(15, 1);
    const std::array<int, 3> pids = {kTid, kReader, kWriter};
    const std::array<uint32_t, 3> held = {0, 1 << kAccessShare, 1 << kRowExclusive};
    for (size_t i = 0; i < 3; ++i) {
      entries_[i].Set<int32_t>(64, pids[i]);
      holders_[i].Set<uint64_t>(0, lock_.address());
      holders_[i].Set<uint64_t>(8, entries_[i].address());
      holders_[i].Set<uint32_t>(24, held[i]);
      holders_[i].Set<uint64_t>(40, i == 2 ? lock_.address(24) : holders_[i + 1].address(32));
    }
    lock_.Set<uint64_t>(32, holders_[0].address(32));
    functions_.Add("MyProc", reinterpret_cast<uint64_t>(&own_));
    functions_.Add("my_wait_event_info", reinterpret_cast<uint64_t>(&event_address_));
    functions_.Add("ProcSleep", reinterpret_cast<uint64_t>(&event_));
    ExportedSymbols symbols(&memory_, 0, 0);
    symbols.Add(&functions_, UINT64_MAX);
    postgres_->LookAt({.index = 0, .module = module_, .exports = symbols}, nullptr);
  }
  void SetWait(int pid, uint32_t mode) {
    entries_[0].Set<int32_t>(64, pid);
    entries_[0].Set<uint64_t>(112, mode == 0 ? 0 : lock_.address());
    entries_[0].Set<uint32_t>(128, mode);
    lock_.Set<uint32_t>(20, 1u << mode);
  }
  int32_t FindHolder() { return postgres_->FindPeer(kTid, {}).pid; }

  Bytes<40> lock_;
  std::array<Bytes<136>, 3> entries_;
  std::array<Bytes<48>, 3> holders_;
  uint64_t own_ = entries_[0].address();
  uint32_t event_ = 3u << 24;
  uint64_t event_address_ = reinterpret_cast<uint64_t>(&event_);
  Module module_{};
  RegisteredFunctions functions_;
  PresentMemory memory_{base::Process::Own()};
  std::unique_ptr<Interpreter> postgres_ = CreatePostgres(&memory_);
};

TEST_F(PostgresTest, NamesTheBackendThatHasTheLock) {
  EXPECT_EQ(postgres_->FindWait(kTid, {}, nullptr), policies::Doing::kLock);
  EXPECT_EQ(FindHolder(), kReader);
  EXPECT_EQ(postgres_->FindPeer(kTid, {}).kind, policies::LockKind::kRwLock);
}

TEST_F(PostgresTest, NamesNoneWhoseModeIsInNoConflict) {
  constexpr uint32_t kShare = 5;
  SetWait(kTid, kShare);
  EXPECT_EQ(FindHolder(), kWriter);
  SetWait(kTid, kAccessShare);
  EXPECT_EQ(FindHolder(), 0);
}

TEST_F(PostgresTest, NamesNoneWhereTheDataMakeNoSense) {
  SetWait(kTid, 0);
  EXPECT_EQ(FindHolder(), 0);
  SetWait(kTid, kAccessExclusive);
  lock_.Set<uint32_t>(20, 0);  // no mode is waited for
  EXPECT_EQ(FindHolder(), 0);
  SetWait(kTid + 1, kAccessExclusive);  // of another process
  EXPECT_EQ(FindHolder(), 0);
  EXPECT_EQ(postgres_->FindWait(kTid, {}, nullptr), policies::Doing::kUnknown);
  SetWait(kTid, kAccessExclusive);
  holders_[0].Set<uint64_t>(0, 0);  // of another lock
  EXPECT_EQ(FindHolder(), 0);
}

TEST_F(PostgresTest, TakesATimeoutForASleep) {
  event_ = 9u << 24;
  EXPECT_EQ(postgres_->FindWait(kTid, {}, nullptr), policies::Doing::kSleep);
  event_ = 6u << 24;  // its client
  EXPECT_EQ(postgres_->FindWait(kTid, {}, nullptr), policies::Doing::kUnknown);
}

}  // namespace
}  // namespace lagwatch::stack

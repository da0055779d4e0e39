// SPDX-License-Identifier: Apache-2.0
// A spool with reports in it, a clock that a test sets, and a process that is killed where the test wants it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "report/spool/spool_writer.h"
#include "report/upload/spool_sender.h"
#include "tests/report/upload/model_collector.h"

namespace lagwatch::testing {

inline constexpr int64_t kNoonMs = 1'700'049'600'000;  // of a day, in UTC
inline constexpr int64_t kDayMs = 24 * 3600 * int64_t{1'000};

class SetClock final : public base::Clock {
 public:
  int64_t MonoNs() const override { return now_wall_ms * base::kNsPerMs; }
  int64_t BootNs() const override { return MonoNs(); }
  int64_t WallMs() const override { return now_wall_ms; }

  int64_t now_wall_ms = kNoonMs;
};

struct Killed {};

// Counts what a process does to the disk and the network, and ends it before its n-th deed: from then on
// nothing of it happens any more.
class KillSwitch {
 public:
  static constexpr int kNever = -1;
  explicit KillSwitch(int at) : deeds_left_(at) {}
  void Set(int at) { deeds_left_ = at; }
  void Deed() {
    if (deeds_left_ == 0) is_killed_ = true;
    if (is_killed_) throw Killed{};
    --deeds_left_;
    ++deeds;
  }
  bool is_killed() const { return is_killed_; }

  int deeds = 0;

 private:
  int deeds_left_;
  bool is_killed_ = false;
};

class KillEnv final : public base::Env {
 public:
  explicit KillEnv(KillSwitch* kill, base::Env* real = &base::SystemEnv()) : real_(*real), kill_(kill) {}

  int CreateLocked(const char* path, int* fd) override {
    return Do([&] { return real_.CreateLocked(path, fd); });
  }
  // The kill may fall into the middle of it.
  int AppendBoth(int fd, std::string_view head, std::string_view body) override {
    return Do([&] { return real_.AppendBoth(fd, head, body); },
              [&] { real_.AppendBoth(fd, head, body.substr(0, body.size() / 2)); });
  }
  int Truncate(int fd, uint64_t size) override {
    return Do([&] { return real_.Truncate(fd, size); });
  }
  void Close(int fd) override { real_.Close(fd); }
  int Rename(const char* from, const char* to) override {
    return Do([&] { return real_.Rename(from, to); });
  }
  int Remove(const char* path) override {
    return Do([&] { return real_.Remove(path); });
  }
  bool Exists(const char* path) override { return real_.Exists(path); }
  int Look(const char* path, base::FileFacts* facts) override { return real_.Look(path, facts); }
  int Sync(const char* path) override {
    return Do([&] { return real_.Sync(path); });
  }
  int Lock(const char* path, int* fd) override {
    return Do([&] { return real_.Lock(path, fd); });
  }
  void Unlock(int fd) override { real_.Unlock(fd); }
  bool IsLocked(const char* path) override { return real_.IsLocked(path); }
  int CreateDirectories(const std::string& path) override { return real_.CreateDirectories(path); }
  int List(const std::string& path, std::vector<std::string>* names) override {
    const int error = real_.List(path, names);
    if (on_listed) on_listed();
    return error;
  }
  int ReadFile(const std::string& path, std::string* content, base::FileFacts* facts) override {
    return real_.ReadFile(path, content, facts);
  }

  std::function<void()> on_listed;  // what others do before the process looks at what it listed

 private:
  int Do(
      const std::function<int()>& deed, const std::function<void()>& half = [] {}) {
    try {
      kill_->Deed();
    } catch (const Killed&) {
      half();
      throw;
    }
    return deed();
  }

  base::Env& real_;
  KillSwitch* kill_;
};

// Reports on disk, made by a program that has ended.
class ScopedSpool {
 public:
  // One sealed segment.
  void Add(const std::vector<report::OwnedRecord>& records) {
    auto writer = report::SpoolWriter::Create(&base::SystemEnv(), directory_.path(),
                                              base::CreateUuidV7(kNoonMs + segments_++), {});
    for (const report::OwnedRecord& record : records) {
      if (!(*writer)->Append(record.type, record.payload))
        throw std::runtime_error("the spool takes nothing");
    }
  }
  const std::string& path() const { return directory_.path(); }
  std::string operator/(const std::string& name) const { return directory_ / name; }
  std::vector<std::string> Files(const std::string& suffix) const {
    std::vector<std::string> names = directory_.Files();
    std::erase_if(names, [&](const std::string& name) { return !name.ends_with(suffix); });
    return names;
  }

 private:
  ScopedTempDirectory directory_;
  int segments_ = 0;
};

// Ids whose order is that of the calls.
inline base::Uuid NewId(int64_t wall_ms = kNoonMs) { return base::CreateUuidV7(wall_ms); }

inline report::OwnedRecord ReportRecord(const SmallReport& small) {
  return {report::RecordType::kReport, Encode(small)};
}

inline report::OwnedRecord HangEndRecord(const base::Uuid& report_id) {
  return {report::RecordType::kHangEnd, EncodeHangEndOf(report_id)};
}

// A record as a program with a seal key writes it; no key opens this one.
inline report::OwnedRecord SealedRecord(const report::SealedLabel& label,
                                        std::string_view sealed = "what nobody reads") {
  std::vector<char> bytes(1024);
  report::FixedBuffer buffer(bytes.data(), bytes.size());
  const std::string key(32, 'k');
  if (!report::EncodeSealed({.label = label, .ephemeral_key = key, .nonce = "nonce-012345", .sealed = sealed},
                            &buffer))
    throw std::runtime_error("the label does not fit");
  return {report::RecordType::kSealed, std::string(buffer.content())};
}

}  // namespace lagwatch::testing

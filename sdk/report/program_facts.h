// SPDX-License-Identifier: Apache-2.0
// The facts of the program that every report of a run has: those that do not change, and what the program
// says of itself.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "base/process/process.h"
#include "policies/hang_parts.h"
#include "policies/scrubbing.h"
#include "report/format/report_encoder.h"
#include "sdk/run/text_cell.h"

namespace lagwatch::sdk {

// Thread safety: all methods from any thread. Readers do not wait, nor do writers of an existing key.
class ProgramValues {
 public:
  static constexpr size_t kMaxValues = 16;
  static constexpr size_t kMaxKeyBytes = 32;  // without a terminator

  // Copies both; a long value is cut off between two characters. Null or empty: the key is no longer
  // reported, but keeps its place. Returns false, and changes nothing, if the key is null, empty or too long,
  // or if all places have other keys. Context: hot for an existing key, else background.
  bool Set(const char* key, const char* value);

  // Writes the key's value, filled up with zeros; all zeros: it has none. Context: watchdog.
  void Read(std::string_view key, char (&value)[TextCell::kMaxBytes]) const {
    value[0] = '\0';
    const size_t count = count_.load(std::memory_order_acquire);  // pairs with the store of a ready key
    for (size_t i = 0; i < count; ++i)
      if (UpToNul(values_[i].key) == key) values_[i].text.Read(value);
  }

  // For the child of a fork(), by its only thread: another one may have held the lock.
  void ResetLock() { new (&mutex_) std::mutex; }

  // Calls visit(key, value) with texts that are valid during the call. Context: watchdog.
  template <typename Visit>
  void ForEach(Visit visit) const {
    const size_t count = count_.load(std::memory_order_acquire);  // pairs with the store of a ready key
    for (size_t i = 0; i < count; ++i) {
      char text[TextCell::kMaxBytes];
      values_[i].text.Read(text);
      const std::string_view value = UpToNul(text);
      if (!value.empty()) visit(UpToNul(values_[i].key), value);
    }
  }

 private:
  struct Value {
    std::array<char, kMaxKeyBytes> key{};  // as it is once it is counted
    TextCell text;
  };

  template <typename Text>
  static std::string_view UpToNul(const Text& text) {
    const std::string_view all(std::data(text), std::size(text));
    return all.substr(0, all.find('\0'));
  }
  TextCell* Find(std::string_view key);

  std::mutex mutex_;  // while a key is added
  std::atomic<size_t> count_{0};
  std::array<Value, kMaxValues> values_;
};

// The program's own context: its scene, "inbox" or "export", and values under keys of its own. Kept in
// memory; each report has them, and the run's record has the scene.
struct ProgramContext {
  TextCell scene;
  ProgramValues values;
};

// The process's own, which outlives every monitor.
ProgramContext& ProcessContext();

// Of the header those fields are set that are the same in all reports.
struct ProgramFacts : policies::HangHeader<std::string> {
  policies::Scrubber scrubber{};  // scrubs all other texts

  // Fills in these fields; their texts stay with this object.
  void Fill(report::ReportHeader* header) const;
};

// The system by its vendor's name: PRETTY_NAME of os-release(5), or Android's version and the device; empty
// without one. Context: background.
std::string DistributionName();

// The facts that the system knows of the process: os, machine, pid, a new session id. Context: background.
ProgramFacts SystemFacts(const base::Process& process);

// Adds what the program says of itself, its scene and its values, as facts. Context: any.
void AddProgramContext(const ProgramContext& program, const policies::Scrubber& scrubber,
                       report::ReportEncoder* encoder);

}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
// The times of a process's functions while it is recorded: in the last interval, and since the recording
// began. Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/trace/data/name_frames.h"
#include "trace/model/trace.h"
#include "trace/model/weights.h"
#include "trace/record/arena.h"
#include "trace/record/reader/arena_reader.h"

namespace lagwatch::tools {

// Times of functions in some part of the recording.
struct TimeTable {
  struct Times {
    int64_t self_ns = 0;
    int64_t total_ns = 0;
    int64_t waited_ns = 0;  // of total_ns
  };

  int64_t all_ns = 0;              // of all threads together
  std::vector<Times> by_function;  // numbers of LiveTimes::functions(); may be shorter
};

// Of processors alone, and with what threads waited for.
struct TimeTables {
  TimeTable running;
  TimeTable with_waits;
};

class LiveTimes {
 public:
  struct FunctionTimes {
    std::string name;    // with the line that took the most time in the last interval that saw it, if known
    std::string module;  // its file's name; empty where none is known
  };
  // Figures besides functions; of the last interval unless the name says otherwise.
  struct Figures {
    int32_t pid = 0;
    std::string process_name;
    int64_t interval_ns = 0;
    int64_t elapsed_ns = 0;  // since the beginning
    size_t thread_count = 0;
    double samples_per_s = 0;
    double processor_share = 0;       // of one processor, with the recorder's own threads
    std::vector<trace::Loss> losses;  // since the beginning
  };
  // All that is known after a refresh.
  struct Moment {
    Figures figures;
    TimeTables last;  // of the interval
    TimeTables since_begin;
  };

  // `arena` is borrowed.
  LiveTimes(const trace::Arena& arena, std::unique_ptr<FrameNamer> namer)
      : arena_(arena), follower_(arena), namer_(std::move(namer)) {}

  // Whether the recorder has begun. From the first time that it says so the process's use is counted.
  bool HasBegun();
  // Takes over what was recorded since the last call; `is_over`: no more will come. False if nothing is new.
  // Starts again when the process has become another program.
  bool Refresh(bool is_over);

  const Moment& now() const { return now_; }
  // Those that were seen so far; they keep their places.
  const std::vector<FunctionTimes>& functions() const { return functions_; }

 private:
  void BeginAnew();
  TimeTable TableOf(const trace::Trace& trace, const trace::StackWeights& weights);
  uint32_t FunctionOf(const trace::Trace& trace, const trace::NamedFrame& frame);
  void TakeFigures(const trace::Trace& trace, int64_t until_ns, const trace::StackWeights& weights);

  const trace::Arena& arena_;
  trace::ArenaFollower follower_;
  std::unique_ptr<FrameNamer> namer_;
  // By module, start and name.
  std::map<std::tuple<std::string, uint64_t, std::string>, uint32_t> function_numbers_;
  std::vector<FunctionTimes> functions_;
  Moment now_;
  int64_t begin_ns_ = 0;
  int64_t until_ns_ = 0;  // earlier records are in the tables
  uint64_t samples_ = 0;
  int64_t cpu_ns_ = 0;
  int64_t figures_ns_ = 0;  // when these two stood so
};

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
#include "tools/why/thread_groups.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tools/read/report_parts.h"

namespace lagwatch::tools {
namespace {

using sdk::Pastime;

std::vector<std::string> FunctionsOf(const Json& thread) {
  std::vector<std::string> functions;
  for (const Json& frame : thread.at("stack")) functions.push_back(Text(frame, "function"));
  return functions;
}

// "computing", as of several threads.
std::string DoingOf(const sdk::SurveyedThread& thread) {
  const std::string word = policies::VerdictName(thread.verdict.word);
  switch (thread.pastime) {
    case Pastime::kIdle:
      return "waiting for events";
    case Pastime::kParked:
      return thread.verdict.word == policies::VerdictWord::kSleep  ? "sleeping"
             : thread.verdict.word == policies::VerdictWord::kLock ? "waiting for other threads"
                                                                   : "waiting (" + word + ")";
    case Pastime::kBlocked:
      return "held up (" + word + ")";
    case Pastime::kComputing:
      return "computing";
    case Pastime::kBusy:
      return "working, with pauses";
    case Pastime::kStopped:
      return "stopped";
  }
  return "";
}

}  // namespace

std::vector<ThreadGroup> GroupThreads(const sdk::ProcessMoment& moment, const Json& report) {
  std::map<std::pair<std::string, std::vector<std::string>>, ThreadGroup> groups;
  for (const Json& thread : report.at("threads")) {
    const auto tid = thread.at("tid").get<int64_t>();
    if (tid == moment.suspect.tid) continue;
    const auto surveyed = std::ranges::find(moment.threads, tid, &sdk::SurveyedThread::tid);
    const bool is_known = surveyed != moment.threads.end();
    const std::string doing = is_known ? DoingOf(*surveyed) : "waiting";
    ThreadGroup& group = groups[{doing, FunctionsOf(thread)}];
    const bool is_idle =
        !is_known || surveyed->pastime == Pastime::kIdle || surveyed->pastime == Pastime::kParked;
    group.is_idle = is_idle;
    group.doing = doing;
    group.tids.push_back(tid);
    const std::string name = Text(thread, "name");
    if (!name.empty() && std::ranges::find(group.names, name) == group.names.end())
      group.names.push_back(name);
  }
  std::vector<ThreadGroup> sorted;
  for (auto& [key, group] : groups) {
    group.stack = key.second;
    sorted.push_back(std::move(group));
  }
  std::ranges::stable_sort(sorted, {}, [](const ThreadGroup& group) {
    return std::tuple(group.is_idle, -static_cast<int64_t>(group.tids.size()));
  });
  return sorted;
}

}  // namespace lagwatch::tools

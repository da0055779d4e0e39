// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "policies/fact_names.h"
#include "tools/read/report_parts.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

// "thread 72 (indexer)"
std::string ThreadName(const Json& thread) {
  std::string name = Text(thread, "name");
  return "thread " + thread.at("tid").dump() + (name.empty() ? "" : " (" + name + ")");
}

std::string At(const Json& thread) {
  return thread.at("at").is_null() ? "" : " at " + thread.at("at").get<std::string>();
}

// "server (pid 12), thread 13 (main) at Function"
std::string OfProcess(const Json& thread) {
  const Json& process = thread.at("process");
  const std::string name = Text(process, "name");
  return (name.empty() ? "a process" : name) + " (pid " + process.at("pid").dump() + "), " +
         ThreadName(thread) + At(thread);
}

// "; its own reports: 01932d5c-… (2.1 s)", or the id of its run.
std::string OwnReports(const Json& owner) {
  if (!owner.contains("session_id")) return "";
  std::string own;
  for (const Json& report : owner.value("reports", Json::array()))
    own += (own.empty() ? "; its own reports: " : ", ") + Text(report, "id") +
           Format(" (%.1f s)", report.at("duration_ms").get<double>() / 1000);
  return own.empty() ? "; watched itself, as run " + Text(owner, "session_id") : own;
}

std::string StateOf(const Json& owner) {
  if (owner.at("idle").get<bool>()) return ", idle: it did not answer";
  const std::string nice = owner.contains("nice") ? ", nice " + owner.at("nice").dump() : "";
  const std::string state = Text(owner, "state");
  if (state == "T" || state == "t") return ", stopped";
  if (state == "R") return ", running" + nice;
  if (state == "Z") return ", ended, but not yet waited for";
  return (state == "D" ? ", in uninterruptible sleep" : "") + nice;
}

// Returns ", started 2.1 s before the report" of a young process: one that was started for the request is
// late for that.
std::string StartOf(const Json& owner) {
  constexpr double kYoungMs = 60'000;
  const auto age_ms = owner.value("age_ms", 0.0);
  return age_ms == 0 || age_ms > kYoungMs ? "" : ", started " + ShortDuration(age_ms) + " before the report";
}

// Describes what a thread waits for; follows "waits at Function ".
std::string WaitedFor(const Json& wait) {
  std::string kind = Text(wait, "kind");
  std::string lock = (kind == "unknown" ? "futex" : kind) + " " + Text(wait, "lock");
  std::string for_whom = Text(wait, "for");
  const Json& owner = wait.at("owner");
  if (owner.is_object() && owner.contains("process")) {
    const std::string whom = OfProcess(owner) + StateOf(owner) + StartOf(owner) + OwnReports(owner);
    if (kind == "child") return "for the end of " + whom;
    if (kind == "mutex" || kind == "file-lock") return "for " + lock + " held by " + whom;
    return "for an answer (" + lock + ") of " + whom;
  }
  if (for_whom == "owner" && kind == "thread") {
    return "for " + ThreadName(owner) + At(owner) + " to end";
  }
  if (for_whom == "owner" && kind == "once") {
    return "for the initializer (" + lock + ") that is run by " + ThreadName(owner) + At(owner);
  }
  if (for_whom == "owner") return "for " + lock + " held by " + ThreadName(owner) + At(owner);
  if (for_whom == "readers") return "for " + lock + " held by readers";
  if (for_whom == "signal") return "for a signal (" + lock + ")";
  return "for " + lock + "; the thread that could end it is unknown";
}

// The threads that the last wait leads back to: "thread 71 waits for thread 72 waits for thread 71".
std::string CycleOf(const Json& waits) {
  const Json& last_owner = waits.back().at("owner").at("tid");
  std::string cycle;
  for (const Json& wait : waits) {
    if (cycle.empty() && wait.at("tid") != last_owner) continue;
    cycle += "thread " + wait.at("tid").dump() + " waits for ";
  }
  return cycle + "thread " + last_owner.dump();
}

// The threads that could end the wait, which has no owner.
std::string CandidateLines(const Json& facts) {
  std::string lines;
  for (const policies::CandidateFacts& names : policies::kCandidateFacts) {
    if (!facts.contains(names.thread)) continue;
    const std::string count = facts.value(names.count, Json(1)).dump();
    const Json named = facts.value(names.name, Json());  // a core has no names of threads
    const std::string name = named.is_string() ? named.get<std::string>() : "";
    lines += std::string(lines.empty() ? "  probably" : "  or") + " for thread " +
             facts.at(names.thread).dump() + (name.empty() ? "" : " (" + name + ")") +
             (count == "1" ? "" : ", one of " + count) + ": it " + Text(facts, names.reason) + "\n";
  }
  if (facts.contains(policies::kExhaustedPoolFact))
    lines += "  exhausted: all " + facts.at(policies::kExhaustedPoolFact).dump() +
             " threads of a pool wait, for this thread, for each other, or as it does\n";
  return lines;
}

}  // namespace

std::string WaitLines(const Json& report) {
  const Json& waits = report.at("waits");
  const std::string candidates = CandidateLines(report.at("facts"));
  if (waits.empty() && candidates.empty()) return "";
  std::string lines = "\nWait chain\n";
  for (const Json& wait : waits)
    lines += "  " + (wait.contains("process") ? OfProcess(wait) : ThreadName(wait) + " waits" + At(wait)) +
             (wait.contains("process") ? " waits " : " ") + WaitedFor(wait) + "\n";
  lines += candidates;
  if (report.at("deadlock").get<bool>()) lines += "  deadlock: " + CycleOf(waits) + "\n";
  return lines;
}

}  // namespace lagwatch::tools

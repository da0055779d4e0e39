// SPDX-License-Identifier: Apache-2.0
#include "tools/why/explanation.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/system/system_calls.h"
#include "policies/fact_names.h"
#include "policies/verdict.h"
#include "tools/read/report_parts.h"
#include "tools/read/table.h"
#include "tools/why/thread_groups.h"
#include "tools/why/wait_words.h"

namespace lagwatch::tools {
namespace {

using policies::VerdictWord;
using sdk::Pastime;
using sdk::Standing;
using sdk::SurveyedThread;

// Whether the function only ends the program for its caller; or has no name, as that of a jump to nowhere.
bool IsPartOfAbort(std::string_view function) {
  constexpr std::string_view kFunctions[] = {"__pthread_kill_implementation",
                                             "__pthread_kill_internal",
                                             "pthread_kill",
                                             "raise",
                                             "gsignal",
                                             "abort",
                                             "__assert_fail_base",
                                             "__assert_fail",
                                             "__libc_message",
                                             "__libc_fatal",
                                             "malloc_printerr",
                                             "__fortify_fail",
                                             "__chk_fail",
                                             "__stack_chk_fail",
                                             "std::terminate()",
                                             "__cxa_throw",
                                             "__cxa_rethrow"};
  constexpr std::string_view kInner = "__GI_";
  if (function.starts_with(kInner)) function.remove_prefix(kInner.size());
  return std::ranges::find(kFunctions, function) != std::end(kFunctions) || function == "[jit]" ||
         function.starts_with("__gnu_cxx::") || function.starts_with("__cxxabiv1::") ||
         function.find("+0x") != std::string_view::npos;
}

// The sentence's parts that come from one moment.
class Sentence {
 public:
  // `core` is null of a process that is there.
  Sentence(const sdk::ProcessMoment& moment, const Json& report, const CoreOrigin* core)
      : moment_(moment), report_(report), core_(core) {}

  std::string Compose() const {
    if (core_ != nullptr && core_->HasCrashed()) return CrashClause();
    const std::string main = MainClause();
    const std::string other = CandidateWords(report_.at("facts"));
    return main + (other.empty() || moment_.suspect.pastime == Pastime::kIdle ? "" : "; " + other) +
           DoubtWords() + SentSignalWords();
  }

 private:
  const SurveyedThread& suspect() const { return moment_.suspect; }
  int64_t pid() const { return report_.at("pid").get<int64_t>(); }

  std::string Subject() const {
    const std::string words = ThreadWords(suspect().tid, suspect().name, pid());
    const bool is_beside = suspect().tid != pid() && IsMainIdle();
    return (is_beside ? "its main thread waits for events, but " : "") + words;
  }

  bool IsMainIdle() const {
    const auto main = std::ranges::find(moment_.threads, pid(), &SurveyedThread::tid);
    return main != moment_.threads.end() && main->pastime == Pastime::kIdle;
  }

  // " for 12.3 s"
  std::string Time() const { return TimeOf(suspect()); }
  std::string TimeOf(const SurveyedThread& thread) const {
    if (core_ != nullptr) return "";
    const double ms = static_cast<double>(moment_.seen_ns - thread.since_ns) / 1e6;
    return (thread.is_since_exact ? " for " : " for at least ") + ShortDuration(ms);
  }

  std::string Where() const { return PlaceWords(report_); }

  // The same of a thread that has crashed: the function that called abort(), assert() and their kin.
  std::string WhereItCrashed() const {
    std::string first;
    for (const Json& frame : report_.at("expensive_stack")) {
      first = Text(frame, "function");
      if (!IsPartOfAbort(first)) break;
    }
    return InWords(report_.at("expensive_stack"), first);
  }

  std::string CrashClause() const {
    const CoreEnd& end = *core_->end;
    return "was ended by " + end.signal + (end.detail.empty() ? "" : " (" + end.detail + ")") + ", which " +
           ThreadWords(suspect().tid, suspect().name, pid()) + " got" + WhereItCrashed();
  }

  std::string SentSignalWords() const {
    if (core_ == nullptr || !core_->end) return "";
    const CoreEnd& end = *core_->end;
    return "; it was ended by " + end.signal + ", sent by " +
           (end.sender == 0 ? "another process" : "process " + std::to_string(end.sender));
  }

  // "computes in Parse", of the process's thread that the chain of waits ends at.
  std::string LastDoes() const {
    const Json& waits = report_.at("waits");
    if (waits.empty()) return "";
    const Json& owner = waits.back().at("owner");
    if (!owner.is_object() || owner.contains("process")) return "";
    const auto tid = owner.at("tid").get<int64_t>();
    const auto thread = std::ranges::find(moment_.threads, tid, &SurveyedThread::tid);
    if (thread == moment_.threads.end()) return "";
    return DoesNow(*thread);
  }

  std::string DoesNow(const SurveyedThread& thread) const {
    switch (thread.pastime) {
      case Pastime::kComputing:
        return "computes";
      case Pastime::kBusy:
        return "works, with pauses";
      case Pastime::kIdle:
        return "waits for events";
      case Pastime::kStopped:
        return "is stopped";
      case Pastime::kParked:
      case Pastime::kBlocked:
        break;
    }
    if (thread.verdict.word == VerdictWord::kDisk)
      return "waits for " + DiskWords(thread.call == nullptr ? "" : thread.call, thread.file, {});
    if (thread.verdict.word == VerdictWord::kSleep) return "sleeps by its own will";
    const std::string did(DidWords(thread.verdict.word));
    constexpr std::string_view kWaited = "waited";
    if (core_ != nullptr && !did.starts_with(kWaited)) return "is" + CallWords(thread);
    return did.starts_with(kWaited) ? "waits" + did.substr(kWaited.size()) : "has not run" + TimeOf(thread);
  }

  std::string MainClause() const {
    switch (suspect().pastime) {
      case Pastime::kIdle:
        return ThreadWords(suspect().tid, suspect().name, pid()) + " waits for events" + Where() +
               ", as it does when there is nothing to do";
      case Pastime::kBusy:
        return Subject() + " works" + Where() + ", and pauses in between: " + ShareOfProcessor();
      case Pastime::kComputing:
        return ComputingClause();
      case Pastime::kStopped:
        return Subject() + " is stopped";
      case Pastime::kParked:
      case Pastime::kBlocked:
        break;
    }
    return WaitingClause();
  }

  std::string ShareOfProcessor() const {
    const policies::TimeShares& shares = suspect().verdict.shares;
    const double wall = static_cast<double>(std::max<int64_t>(shares.wall_ns, 1));
    return Format("%.0f %% of a processor",
                  100 * static_cast<double>(shares.user_ns + shares.kernel_ns) / wall);
  }

  std::string ComputingClause() const {
    const VerdictWord word = suspect().verdict.word;
    if (word == VerdictWord::kStarved || word == VerdictWord::kThrottled) {
      const std::string users = report_.at("facts").value(policies::kProcessorUsersFact, "");
      return Subject() + " " + std::string(DidWords(word)) + "," + Time() + Where() +
             (users.empty() ? "" : "; the processors are used by " + users) + FaultWords();
    }
    if (core_ != nullptr) return Subject() + " computes" + Where();
    return Subject() + " has computed" + Time() + " without a pause" + Where() + ": " + ShareOfProcessor() +
           FaultWords();
  }

  // Of a thread that hardly gets on because its memory is not there.
  std::string FaultWords() const {
    constexpr double kManyPerMs = 0.1;
    const policies::Verdict& verdict = suspect().verdict;
    const auto faults = static_cast<double>(verdict.use.major_faults);
    if (faults < kManyPerMs * static_cast<double>(verdict.shares.wall_ns) / 1e6) return "";
    const auto swapped_bytes = report_.at("facts").value("swap_bytes", int64_t{0});
    return "; " + std::to_string(verdict.use.major_faults) +
           " pages of its memory had to be read from the disk meanwhile" +
           (swapped_bytes == 0 ? ""
                               : Format(", and %.0f MB", static_cast<double>(swapped_bytes) / 1e6) +
                                     " of it are swapped out");
  }

  std::string WaitingClause() const {
    const std::string chain = ChainWords(report_, LastDoes());
    const std::string waited =
        Subject() + (core_ == nullptr ? " has waited" + Time() : " waits") + Where() + " for ";
    if (!chain.empty()) return waited + chain;
    const VerdictWord word = suspect().verdict.word;
    if (word == VerdictWord::kDisk)
      return waited +
             DiskWords(suspect().call == nullptr ? "" : suspect().call, suspect().file, report_.at("facts"));
    std::string_view did = DidWords(word);
    constexpr std::string_view kWaitedFor = "waited for ";
    if (core_ != nullptr && word == VerdictWord::kSleep)
      return Subject() + " sleeps by its own will" + Where();
    if (core_ != nullptr && !did.starts_with(kWaitedFor))
      return Subject() + " is" + CallWords(suspect()) + Where();
    if (!did.starts_with(kWaitedFor)) return Subject() + " has " + std::string(did) + Time() + Where();
    did.remove_prefix(kWaitedFor.size());
    return waited + std::string(did) + FactPeerWords(report_.at("facts"));
  }

  // " in the system call read of descriptor 5": all that a core says of it.
  static std::string CallWords(const SurveyedThread& thread) {
    if (thread.call == nullptr) return " in a system call";
    const std::string call = std::string(" in the system call ") + thread.call;
    const bool has_descriptor = thread.blocked.call().IsForDescriptor();
    return call + (has_descriptor
                       ? " of descriptor " + std::to_string(static_cast<int32_t>(thread.blocked.arguments[0]))
                       : "");
  }

  std::string DoubtWords() const {
    // Its waits say more.
    const bool is_explained = !report_.at("waits").empty();
    if (moment_.standing == Standing::kMayBeFrozen && !is_explained)
      return "; a thread without work may wait there, too";
    const bool is_parked = suspect().pastime == Pastime::kParked;
    return moment_.standing == Standing::kResponds && is_parked && suspect().is_parked_since_start
               ? "; it came there when it was started, so that this is probably where it idles"
               : "";
  }

  const sdk::ProcessMoment& moment_;
  const Json& report_;
  const CoreOrigin* core_;
};

// A line of the "next" list: the command, and what it is for.
std::string Line(const std::string& command, const std::string& purpose) {
  constexpr size_t kWidth = 40;
  return command + std::string(command.size() < kWidth ? kWidth - command.size() : 1, ' ') + "# " + purpose;
}

std::vector<std::string> NextSteps(const sdk::ProcessMoment& moment, const Json& report) {
  std::vector<std::string> next;
  const std::string pid = report.at("pid").dump();
  const Json& waits = report.at("waits");
  if (!waits.empty()) {
    const Json& owner = waits.back().at("owner");
    if (owner.is_object() && owner.contains("process"))
      next.push_back(
          Line("lagwatch why " + owner.at("process").at("pid").dump(), "why the other side does not answer"));
  }
  if (moment.suspect.pastime == Pastime::kComputing || moment.suspect.pastime == Pastime::kBusy)
    next.push_back(Line("lagwatch trace top --pid " + pid, "how it spends its time, live"));
  if (moment.suspect.verdict.word == VerdictWord::kDisk)
    next.push_back(Line("dmesg | tail", "errors of the disk or of the server of files"));
  next.push_back(Line("lagwatch watch " + pid, "report each freeze from now on"));
  return next;
}

std::vector<std::string> NextStepsOfCore(const CoreOrigin& core) {
  const std::string program = core.program.empty() ? "PROGRAM" : core.program;
  return {Line("gdb " + program + " " + core.file, "its variables, registers and memory")};
}

}  // namespace

Explanation Explain(const sdk::ProcessMoment& moment, Json report, std::optional<CoreOrigin> core) {
  Explanation explanation;
  explanation.pid = report.at("pid").get<int64_t>();
  explanation.process = Text(report, "app");
  explanation.standing = moment.standing;
  explanation.sentence = Sentence(moment, report, core ? &*core : nullptr).Compose();
  explanation.next = core ? NextStepsOfCore(*core) : NextSteps(moment, report);
  explanation.groups = GroupThreads(moment, report);
  explanation.report = std::move(report);
  if (core && core->HasCrashed()) explanation.standing = Standing::kFrozen;
  explanation.core = std::move(core);
  return explanation;
}

}  // namespace lagwatch::tools

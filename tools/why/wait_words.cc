// SPDX-License-Identifier: Apache-2.0
#include "tools/why/wait_words.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "policies/fact_names.h"
#include "tools/read/report_parts.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

// The place of a wait's thread, or of its owner.
std::string In(const Json& thread) {
  const Json at = thread.value("at", Json());
  return at.is_string() ? InWords(thread.at("stack"), at.get<std::string>()) : "";
}

// Whether a reader knows the function: not by its place in its module, nor as one that starts a program or a
// thread, nor as one that only calls another one, nor by a name that is reserved for the C library.
bool IsForPeople(const std::string& function) {
  constexpr std::string_view kStarts[] = {"_start", "start_thread", "clone3", "clone",
                                          "libc_start_main_stage2"};
  const bool is_script = function.ends_with(')');
  const bool is_reserved = function.starts_with("__") && !is_script;
  return !is_reserved && function.find("+0x") == std::string::npos &&
         function.find("{lambda") == std::string::npos && !function.starts_with("std::") &&
         std::ranges::find(kStarts, function) == std::end(kStarts);
}

std::string TextOf(const Json& facts, const char* name) {
  const Json value = facts.value(name, Json());
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

// "sleep (pid 99)"
std::string ProcessWords(const Json& thread) {
  const Json& process = thread.at("process");
  const std::string name = Text(process, "name");
  return (name.empty() ? "another process" : name) + " (pid " + process.at("pid").dump() + ")";
}

// With its article.
std::string LockWords(const std::string& kind) {
  if (kind == "rwlock") return "a read-write lock";
  if (kind == "interpreter-lock") return "the interpreter's lock";
  if (kind == "file-lock") return "a file lock";
  if (kind == "stream") return "the lock of a stream (FILE)";
  if (kind == "heap") return "the lock of the heap (malloc)";
  if (kind == "unknown") return "a lock";
  return "a " + kind;
}

// The way in which the answer of another process comes.
std::string MediumWords(const std::string& kind) {
  if (kind == "unix-socket") return "an answer by a unix socket, from";
  if (kind == "connection") return "an answer by TCP, from";
  if (kind == "display") return "an answer of the display server";
  if (kind == "bus-call") return "the answer to a call over D-Bus, from";
  if (kind == "queue") return "a message queue, the other side of which is";
  if (kind == "terminal") return "the terminal that is shown by";
  if (kind == "file-system") return "the file system that is served by";
  return "an answer of";
}

std::string PeerWords(const Json& wait) {
  const std::string kind = Text(wait, "kind");
  const Json& owner = wait.at("owner");
  const std::string whom = ProcessWords(owner);
  if (kind == "child") return "its child " + whom + " to end";
  if (kind == "mutex" || kind == "rwlock" || kind == "file-lock")
    return LockWords(kind) + " that " + whom + " holds" + In(owner);
  if (kind == "pipe") return "the other end of a pipe, which " + whom + " has";
  return MediumWords(kind) + " " + whom;
}

std::string OwnerWords(const Json& wait, int64_t pid) {
  const std::string kind = Text(wait, "kind");
  const Json& owner = wait.at("owner");
  const std::string whom = ThreadWords(owner.at("tid").get<int64_t>(), Text(owner, "name"), pid);
  if (kind == "thread") return whom + " to end";
  if (kind == "once") return "the initializer that " + whom + " runs" + In(owner);
  if (kind == "class") return "the initializer of a class that " + whom + " runs" + In(owner);
  if (kind == "compilation") return "code that " + whom + " compiles" + In(owner);
  if (kind == "safepoint") return whom + " to come to a safepoint" + In(owner);
  return LockWords(kind) + " that " + whom + " holds" + In(owner);
}

// The state of the last owner, if it is one of another process.
std::string PeerStateWords(const Json& owner) {
  if (!owner.is_object() || !owner.contains("process")) return "";
  if (owner.value("idle", false)) return "which is idle, as if nothing had been asked";
  const std::string state = owner.value("state", "");
  if (state == "T" || state == "t") return "which is stopped";
  if (state == "R") return "which runs" + In(owner);
  if (state == "D") return "which waits for a disk or a device" + In(owner);
  if (state == "Z") return "which has ended";
  return In(owner).empty() ? "" : "which waits" + In(owner);
}

}  // namespace

std::string ThreadWords(int64_t tid, const std::string& name, int64_t pid) {
  if (tid == pid) return "the main thread (" + std::to_string(tid) + ")";
  constexpr std::string_view kGoroutine = "goroutine ";
  if (name.starts_with(kGoroutine)) return name;
  return "thread " + std::to_string(tid) + (name.empty() ? "" : " (" + name + ")");
}

std::string InWords(const Json& stack, const std::string& first) {
  constexpr size_t kMostFunctions = 2;
  constexpr size_t kMostFrames = 5;
  std::vector<std::string> functions;
  for (const Json& frame : stack) functions.push_back(Text(frame, "function"));
  const auto found = std::ranges::find(functions, first);
  const size_t begin = found == functions.end() ? 0 : static_cast<size_t>(found - functions.begin());
  const size_t end = std::min(begin + kMostFrames, functions.size());
  std::vector<std::string> named;
  for (size_t i = begin; i < end && named.size() < kMostFunctions; ++i) {
    if (IsForPeople(functions[i]) && (named.empty() || named.back() != functions[i]))
      named.push_back(functions[i]);
  }
  if (named.empty() && begin < end) named.push_back(functions[begin]);
  return named.empty() ? "" : " in " + Join(named, ", called by ");
}

std::string PlaceWords(const Json& report) {
  const Json& waits = report.at("waits");
  const Json cause = report.value("cause", Json::array());
  const bool has_cause = !cause.empty() && cause[0].is_string();
  const bool has_place = !waits.empty() && waits[0].at("at").is_string();
  const std::string first = has_place   ? waits[0].at("at").get<std::string>()
                            : has_cause ? cause[0].get<std::string>()
                                        : "";
  return InWords(report.at("expensive_stack"), first);
}

std::string_view DidWords(policies::VerdictWord word) {
  switch (word) {
#define VERDICT_WORD(number, enumerator, name, schema, did, ...) \
  case policies::VerdictWord::enumerator:                        \
    return did;
#include "policies/verdict.def"
  }
  return "";
}

std::string FactPeerWords(const Json& facts) {
  const std::string address = TextOf(facts, policies::kWaitsForAddressFact);
  const std::string name = TextOf(facts, policies::kWaitsForNameFact);
  const std::string pid = TextOf(facts, policies::kWaitsForPidFact);
  const std::string process = pid.empty() ? "" : (name.empty() ? "process" : name) + " (pid " + pid + ")";
  if (address.empty() && process.empty()) return "";
  return ": " + process + (process.empty() || address.empty() ? "" : ", ") + address;
}

std::string AwaitedWords(const Json& wait, int64_t pid) {
  const Json& owner = wait.at("owner");
  if (owner.is_object() && owner.contains("process")) return PeerWords(wait);
  const std::string whom = Text(wait, "for");
  if (whom == "owner") return OwnerWords(wait, pid);
  const std::string kind = Text(wait, "kind");
  if (whom == "readers") return LockWords(kind) + " that readers hold";
  if (whom == "signal") return "another thread's signal (" + kind + ")";
  return LockWords(kind) + " of which the owner is not known";
}

std::string ChainWords(const Json& report, const std::string& last) {
  constexpr size_t kMostWaits = 4;
  const Json& waits = report.at("waits");
  if (waits.empty()) return "";
  const auto pid = report.at("pid").get<int64_t>();
  const bool is_deadlock = report.at("deadlock").get<bool>();
  std::string words;
  for (size_t i = 0; i < waits.size() && i < kMostWaits; ++i)
    words += (i == 0 ? "" : ", which waits for ") + AwaitedWords(waits[i], pid);
  if (waits.size() > kMostWaits) return words + " … (the whole chain is below)";
  if (is_deadlock) return words + ": a deadlock, which never ends by itself";
  const std::string peer = PeerStateWords(waits.back().at("owner"));
  if (!peer.empty()) return words + ", " + peer;
  return words + (last.empty() ? "" : ", which " + last);
}

std::string CandidateWords(const Json& facts) {
  const policies::CandidateFacts& best = policies::kCandidateFacts[0];
  if (!facts.contains(best.thread)) return "";
  const std::string name = TextOf(facts, best.name);
  return "probably for thread " + TextOf(facts, best.thread) + (name.empty() ? "" : " (" + name + ")") +
         ", which " + TextOf(facts, best.reason);
}

std::string DiskWords(const std::string& call, const std::string& file, const Json& facts) {
  std::string words = "a disk or a device";
  if (!call.empty()) words += ": " + call + (file.empty() ? "" : " of " + file);
  std::string where = TextOf(facts, policies::kFileSystemFact);
  const std::string mount = TextOf(facts, policies::kFileSystemMountFact);
  const std::string device = TextOf(facts, policies::kBlockDeviceFact);
  const std::string requests = TextOf(facts, policies::kBlockDeviceRequestsFact);
  if (!where.empty() && !mount.empty()) where += " at " + mount;
  if (!device.empty()) where += (where.empty() ? "device " : ", device ") + device;
  if (!device.empty() && !requests.empty()) where += ", " + requests + " requests under way";
  return words + (where.empty() ? "" : " (" + where + ")");
}

}  // namespace lagwatch::tools

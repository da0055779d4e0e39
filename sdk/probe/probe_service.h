// SPDX-License-Identifier: Apache-2.0
// The part of `lagwatch probe` in the probed process: a thread that answers consoles, arms what they ask for,
// and takes it away again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/loader_walk.h"
#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "base/status.h"
#include "base/ticks.h"
#include "sdk/probe/armed_program.h"
#include "sdk/probe/probe_messages.h"
#include "sdk/probe/probe_socket.h"
#include "sdk/probe/process_guard.h"
#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::sdk {

struct ProbeServiceOptions {
  std::string directory{};     // of the socket; empty, or unusable: /tmp/lagwatch-USER
  JavaProber* java = nullptr;  // borrowed for ever; null: methods of Java are refused
  // So long probes stay when no console is there, and the thread until the first one comes.
  int64_t orphan_ns = 60'000'000'000;
  // So long the thread stays when the last console has gone and nothing is armed.
  int64_t parting_ns = 1'000'000'000;
  // A console that has sent nothing for so long is disconnected; at `crowded_ns` already if there is no room
  // for another one.
  int64_t silent_ns = 60'000'000'000;
  int64_t crowded_ns = 10'000'000'000;
  int64_t stalled_ns = 10'000'000'000;   // as `silent_ns`, of one that does not take its answer
  size_t most_pending_bytes = 64 << 20;  // of answers, of all consoles: beyond that they have no tables
};

// Thread safety: as each method says. The probed code is one, so there is one service at a time.
class ProbeService {
 public:
  // `prober` is borrowed for ever.
  ProbeService(const ProbeServiceOptions& options, trace::FunctionProber* prober)
      : options_(options), prober_(prober) {}

  // Returns when it listens. Errors: those of QuietThread and ListenForConsoles(). Context: background.
  base::Status Start();
  // Whether it serves, and will do so for the next `orphan_ns`, until a console comes. Any thread. Context:
  // background.
  bool Prolong();
  // Of a service that has ended; false if its thread is stuck: then it must be leaked. Context: background.
  [[nodiscard]] bool TryJoin();
  const std::string& socket_path() const { return socket_.path; }
  pid_t pid() const { return pid_; }

  // Takes all probes away and answers no more questions, soon. Any thread. Context: any.
  void Forbid() { is_forbidden_.store(true); }
  bool is_forbidden() const { return is_forbidden_.load(); }
  // Sends the consoles that follow a script all that was counted, because the process ends, and removes the
  // socket; waits for a moment if there are any. Any thread. Context: background.
  void Flush();
  // As Forbid(), and waits until the thread has ended, but not for ever. As TryJoin(), one thread. Context:
  // background.
  void End();
  // Waits until a console has armed something, or was there and has gone. False after `timeout_ns`. Any
  // thread. Context: background.
  bool AwaitArmed(int64_t timeout_ns);

 private:
  struct Console {
    base::OwnedFd fd;
    uid_t user = 0;
    pid_t pid = 0;
    std::string received;
    std::string to_send;
    size_t sent_bytes = 0;
    int64_t moved_ns = 0;         // when bytes last went either way
    std::set<uint32_t> programs;  // that it follows
    uint64_t next_frame = 0;      // of JavaProber::NamedFrames()
    bool is_over = false;
  };
  struct Program {
    std::unique_ptr<ArmedProgram> armed;
    int64_t since_ns = 0;
    int64_t orphan_since_ns = 0;  // 0: a console is there
    trace::ProbeStats before{};   // at its arming
  };
  // A thread may still be in it, or on its way there.
  struct Retired {
    std::unique_ptr<ArmedProgram> program;
    uint64_t disarm = 0;  // FunctionProber::last_disarm() behind it
  };

  static void Run(void* self);
  void Serve();
  void Wait(int64_t next_timer_ns);
  void Accept();
  bool HasRoom(int64_t now_ns) const;
  void Receive(Console* console);
  void AnswerAll(Console* console);
  void Send(Console* console);
  void EndConsoles(int64_t now_ns);
  size_t PendingBytes() const;
  std::string Answer(Console* console, ProbeMessageKind kind, std::string_view body);
  std::string Arm(Console* console, std::string_view body);
  std::string Disarm(const Console* asker, std::string_view body);
  std::string List();
  std::string Follow(Console* console, std::string_view body);
  std::string Read(Console* console, std::string_view body);
  std::string Event(std::string_view body);
  std::string Level(std::string_view body);
  std::string Examine(std::string_view body);
  std::string ExamineJava(const std::string& pattern);

  Program* Find(uint32_t id);
  ReadAnswer DataOf(const Program& program, bool wants_snapshot, Console* console);
  void Remove(uint32_t id);
  void Retire(std::unique_ptr<ArmedProgram> program);
  void FreeRetired();
  void RemoveAll();
  void CollectCounts();
  void RemoveOrphans(int64_t now_ns);
  void TakeAwayWhatIsOff();
  void NoteLoadedModules(int64_t now_ns);
  // Its data, once more before it is gone.
  void AddLast(Console* console, uint32_t id);
  void SendLast();
  bool MayEnd(int64_t now_ns);
  bool MustEnd(int64_t now_ns);
  ProbeTicks MeasureTicks();
  uint32_t ConsolesOf(uint32_t id) const;

  const ProbeServiceOptions options_;
  trace::FunctionProber* const prober_;
  const pid_t pid_ = getpid();
  base::QuietThread thread_;
  base::Sleeper started_;
  base::Status start_status_;  // written before started_ is woken
  ProbeSocket socket_;
  base::TickPair first_ticks_{};

  std::mutex end_mutex_;
  bool has_ended_ = false;          // guarded by end_mutex_
  std::atomic<int64_t> end_ns_{0};  // no console and no program until then: the thread ends
  std::atomic<bool> is_forbidden_{false};
  std::atomic<bool> is_followed_{false};
  std::atomic<bool> is_flush_wanted_{false};
  base::Sleeper flushed_;
  std::atomic<bool> has_armed_{false};  // or a console has come and gone
  base::Sleeper armed_;

  // Of the thread.
  std::vector<std::unique_ptr<Console>> consoles_;
  std::vector<Program> programs_;
  std::vector<Retired> retired_;
  ProcessGuard guard_;
  uint32_t next_id_ = 1;
  int64_t accept_after_ns_ = 0;
  base::LoaderCounts loader_counts_;
  int64_t loader_looked_ns_ = 0;
  int64_t guard_looked_ns_ = 0;
};

}  // namespace lagwatch::sdk

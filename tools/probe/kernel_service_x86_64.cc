// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "base/process/mapped_memory.h"
#include "base/ticks.h"
#include "probe/run/interpreter.h"
#include "probe/verify/verifier.h"
#include "sdk/probe/forbidden_mark.h"
#include "tools/inject/mappings.h"
#include "tools/probe/kernel_events.h"
#include "tools/probe/kernel_service.h"
#include "tools/probe/process_functions.h"
#include "trace/instrument/probes/instruction.h"

namespace lagwatch::tools {
namespace {

using sdk::ProbeMessageKind;

constexpr size_t kMostKernelPlaces = 512;
// Of the kernel, about what scripts/bench probe measures; a return has two hits.
constexpr uint32_t kUprobeEntryNs = 600;
constexpr uint32_t kUprobeReturnNs = 1'200;

// The code of a function in its file.
struct FunctionCode {
  uint64_t file_offset = 0;
  std::string bytes;
};

// `address` is in the file's own address space.
std::optional<FunctionCode> ReadFunctionCode(const std::string& path, uint64_t address, uint64_t size) {
  const base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Elf64_Ehdr header{};
  if (!file || pread(file.get(), &header, sizeof header, 0) != sizeof header) return std::nullopt;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const auto at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    if (pread(file.get(), &segment, sizeof segment, at) != sizeof segment) return std::nullopt;
    if (segment.p_type != PT_LOAD || address - segment.p_vaddr >= segment.p_filesz) continue;
    constexpr uint64_t kMostBytes = 1 << 20;
    FunctionCode code{.file_offset = address - segment.p_vaddr + segment.p_offset, .bytes = {}};
    code.bytes.resize(std::min({size, kMostBytes, segment.p_filesz - (address - segment.p_vaddr)}));
    const ssize_t read =
        pread(file.get(), code.bytes.data(), code.bytes.size(), static_cast<off_t>(code.file_offset));
    if (read != static_cast<ssize_t>(code.bytes.size())) return std::nullopt;
    return code;
  }
  return std::nullopt;
}

// The offsets of the instructions by which it returns, in the file; none if its code is not understood.
std::vector<uint64_t> ReturnsOf(const FunctionCode& code) {
  std::vector<uint64_t> returns;
  const auto* bytes = reinterpret_cast<const unsigned char*>(code.bytes.data());
  for (size_t at = 0; at < code.bytes.size();) {
    const trace::Instruction instruction =
        trace::DecodeInstruction(bytes + at, code.bytes.size() - at, code.file_offset + at);
    if (instruction.size_bytes == 0) return {};
    if (instruction.kind == trace::Instruction::Kind::kReturn) returns.push_back(code.file_offset + at);
    at += instruction.size_bytes;
  }
  return returns;
}

// The reason why a probe cannot be the kernel's; empty if it can.
std::string WhyNotByTheKernel(const probe::VerifiedProbe& probe) {
  constexpr probe::Places kServed = At(probe::PlaceKind::kEntry) | At(probe::PlaceKind::kReturn);
  constexpr uint32_t kUnknown = probe::kNeedsFloatArguments | probe::kNeedsStackArguments |
                                probe::kNeedsMemory | probe::kNeedsStack | probe::kNeedsCpuTime;
  if ((At(probe.place().kind) & kServed) == 0) return "--kernel serves @entry and @return of functions only";
  const bool has_float = std::ranges::any_of(probe.operations(), [](const probe::Operation& each) {
    return each.code == probe::OperationCode::kReadReturnedFloat ||
           each.code == probe::OperationCode::kReadReturnedFloat32;
  });
  const bool has_text = std::ranges::any_of(probe.operations(), [](const probe::Operation& each) {
    return each.code == probe::OperationCode::kReadText;
  });
  if ((probe.needs() & kUnknown) != 0 || has_float || has_text)
    return "--kernel runs the script a moment after the hit: memory, texts, stacks, floating-point numbers, "
           "arguments on the stack and cpu_time are not known any more";
  return {};
}

class KernelService {
 public:
  KernelService(base::OwnedFd console, pid_t pid)
      : console_(std::move(console)),
        pid_(pid),
        process_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

  void Run() {
    constexpr int kPumpMs = 20;
    constexpr int64_t kLookNs = base::kNsPerSecond / 2;
    int64_t look_ns = base::SystemClock().MonoNs() + kLookNs;
    while (true) {
      pollfd polled[] = {{console_.get(), POLLIN, 0}, {process_.get(), POLLIN, 0}};
      poll(polled, std::size(polled), kPumpMs);
      Pump();
      if (polled[0].revents != 0 && !Answer()) return;
      if (polled[1].revents != 0) return End();
      const int64_t now_ns = base::SystemClock().MonoNs();
      if (now_ns < look_ns) continue;
      if (events_ && AreForbidden()) return End();
      look_ns = now_ns + kLookNs;
    }
  }

 private:
  // A use of a place in the code.
  struct Use {
    size_t site;
    bool is_end;
  };
  struct Call {
    uint32_t tid;
    size_t site;
    KernelHit entry;
  };
  struct Site {
    const probe::VerifiedProbe* probe;
    uint64_t address;
  };

  // Also to root.
  bool AreForbidden() const {
    return std::ranges::any_of(ReadMappings(pid_), [](const Mapping& mapping) {
      return mapping.path.find(sdk::kForbiddenMark) != std::string::npos;
    });
  }

  bool Answer() {
    sdk::ProbeMessageHeader header;
    std::string body;
    if (!Receive(&header, sizeof header) || header.body_bytes > sdk::kMaxProbeQuestionBytes) return false;
    body.resize(header.body_bytes);
    if (!Receive(body.data(), body.size())) return false;
    switch (static_cast<ProbeMessageKind>(header.kind)) {
      case ProbeMessageKind::kArm:
        return Arm(body);
      case ProbeMessageKind::kRead:
        return Send(ProbeMessageKind::kData, Data(/*is_last=*/false));
      case ProbeMessageKind::kDisarm:
        events_.reset();
        return Send(ProbeMessageKind::kDone, sdk::NumberAnswer{1});
      default:
        return Refuse("the kernel's probes do not serve this");
    }
  }

  bool Arm(const std::string& body) {
    const auto question = sdk::DecodeProbeBody<sdk::ArmQuestion>(body);
    if (!question) return Refuse("the question is damaged");
    if (AreForbidden()) return Refuse("it has forbidden probes");
    if (question->stays) return Refuse("--leave: the kernel's probes end with this command");
    auto parsed = probe::ParseProgram(question->program);
    if (!parsed.ok()) return Refuse(parsed.status().message());
    auto verified = probe::Verify(std::move(*parsed));
    if (!verified.ok()) return Refuse(verified.status().message());
    program_.emplace(std::move(*verified));
    uint32_t mechanism_ns = kUprobeEntryNs;
    for (const probe::VerifiedProbe& each : program_->probes()) {
      if (const std::string why = WhyNotByTheKernel(each); !why.empty()) return Refuse(why);
      if (each.place().kind == probe::PlaceKind::kReturn) mechanism_ns = kUprobeReturnNs;
    }
    syslog(LOG_AUTH | LOG_NOTICE, "lagwatch[%d]: user 0 arms a probe of the kernel in process %d: %.800s",
           getpid(), pid_, question->title.c_str());
    MeasureTicks();
    memory_ = base::MapBlock<char>(probe::ProbeState::Bytes(*program_));
    if (memory_ == nullptr) return Refuse("no memory is left");
    state_ = std::make_unique<probe::ProbeState>(*program_, memory_.get(), clock_, mechanism_ns);
    events_.emplace(pid_);
    sdk::ArmAnswer answer{.id = 1, .ticks = {}, .sites = ArmSites(question->sites)};
    const bool has_any = std::ranges::any_of(answer.sites, &sdk::SiteResult::is_armed);
    if (!has_any) answer.id = 0;
    RaiseDescriptorLimit();
    if (has_any && !events_->FollowThreads())
      return Refuse("the kernel has no room for probes at all threads of the process");
    return Send(ProbeMessageKind::kArmed, std::move(answer));
  }

  std::vector<sdk::SiteResult> ArmSites(const std::vector<sdk::ProbeSiteAt>& sites) {
    std::vector<sdk::SiteResult> results(sites.size());
    auto functions = ProcessFunctions::Of(pid_);
    for (size_t i = 0; i < sites.size(); ++i) {
      base::Status status = functions.ok() ? ArmSite(sites[i], &*functions) : functions.status();
      results[i].is_armed = status.ok();
      results[i].text = status.ok() ? "kernel uprobe" : status.message();
    }
    return results;
  }

  base::Status ArmSite(const sdk::ProbeSiteAt& site, ProcessFunctions* functions) {
    const auto refuse = [](const char* why) { return base::Status(base::StatusCode::kUnavailable, why); };
    const auto is_it = [&](const ProcessModule& module) { return module.path() == site.module; };
    const auto module = std::ranges::find_if(functions->modules(), is_it);
    if (module == functions->modules().end() || site.role != sdk::SiteRole::kFunction)
      return refuse("it is no function of a loaded file");
    if (site.is_chosen_at_load) return refuse("its file chooses the function when it is loaded");
    const ModuleFunction* function = module->At(site.offset);
    const auto code =
        ReadFunctionCode(module->seen_path(), site.offset, function == nullptr ? 0 : function->size);
    if (!code) return refuse("its code cannot be read");
    const probe::VerifiedProbe& of = program_->probes()[site.probe];
    std::vector<uint64_t> ends;
    if (of.place().kind == probe::PlaceKind::kReturn) {
      ends = ReturnsOf(*code);
      if (ends.empty()) return refuse("no instruction in it is known to return");
    }
    if (uses_.size() + 1 + ends.size() > kMostKernelPlaces) return refuse("the script is at too many places");
    // The ends first, so that no call is counted that has only begun.
    for (const uint64_t end : ends) {
      if (base::Status status = AddUse(module->seen_path(), end, true); !status.ok()) return status;
    }
    if (base::Status status = AddUse(module->seen_path(), code->file_offset, false); !status.ok())
      return status;
    sites_.push_back({&of, site.offset + module->bias()});
    return {};
  }

  base::Status AddUse(const std::string& file, uint64_t offset, bool is_end) {
    base::Status status = events_->Add(file, offset);
    if (status.ok()) uses_.push_back({sites_.size(), is_end});
    return status;
  }

  void MeasureTicks() {
    constexpr timespec kMeasured{.tv_sec = 0, .tv_nsec = 20 * base::kNsPerMs};
    const base::TickPair begin = base::ReadTickPair(base::SystemClock());
    nanosleep(&kMeasured, nullptr);
    const base::TickPair end = base::ReadTickPair(base::SystemClock());
    clock_ = {.ns_per_tick = static_cast<double>(end.mono_ns - begin.mono_ns) /
                             static_cast<double>(end.ticks - begin.ticks),
              .base_ticks = begin.ticks,
              .base_mono_ns = begin.mono_ns};
  }
  uint64_t ToTicks(int64_t ns) const {
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(ns) / clock_.ns_per_tick));
  }

  static void RaiseDescriptorLimit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }

  void Pump() {
    if (!events_) return;
    for (const KernelHit& hit : events_->Take()) Deliver(hit);
    lost_ = events_->lost();
    if (state_->Stats().is_off)
      events_.reset();
    else
      events_->FollowThreads();
  }

  void Deliver(const KernelHit& hit) {
    const Use use = uses_[hit.place];
    const Site& site = sites_[use.site];
    probe::Hit made;
    static constexpr probe::HitServices kNone{};
    made.services = &kNone;
    made.now_ticks = clock_.base_ticks + ToTicks(hit.mono_ns - clock_.base_mono_ns);
    made.function = site.address;
    made.caller = hit.stack_word;
    made.tid = hit.tid;
    made.kind = site.probe->place().kind;
    made.int_arguments = hit.int_args;
    if (made.kind == probe::PlaceKind::kEntry) {
      probe::RunProbe(*site.probe, made, state_.get());
    } else if (!use.is_end) {
      Begin(use.site, hit);
    } else if (const auto call = EndOf(use.site, hit)) {
      made.int_arguments = call->entry.int_args;
      made.returned_ints[0] = hit.results[0];
      made.returned_ints[1] = hit.results[1];
      made.duration_ticks = ToTicks(hit.mono_ns - call->entry.mono_ns);
      probe::RunProbe(*site.probe, made, state_.get());
    }
  }

  // Calls further down on the stack, or at the same place, are over: left by a jump or an exception.
  void Begin(size_t site, const KernelHit& hit) {
    constexpr uint64_t kFarBytes = 8 << 20;  // another stack
    returns_missed_ += std::erase_if(calls_, [&](const Call& call) {
      return call.tid == hit.tid && call.site == site &&
             hit.stack_pointer - call.entry.stack_pointer < kFarBytes;
    });
    calls_.push_back({hit.tid, site, hit});
  }
  std::optional<Call> EndOf(size_t site, const KernelHit& hit) {
    const auto is_it = [&](const Call& call) {
      return call.tid == hit.tid && call.site == site && call.entry.stack_pointer == hit.stack_pointer;
    };
    const auto found = std::ranges::find_if(calls_, is_it);
    if (found == calls_.end()) return std::nullopt;  // it began before
    const Call call = *found;
    calls_.erase(found);
    return call;
  }

  sdk::ReadAnswer Data(bool is_last) {
    sdk::ReadAnswer answer;
    answer.id = 1;
    answer.is_last = is_last;
    if (state_ == nullptr) return answer;
    const probe::ProbeStats stats = state_->Stats();
    answer.hits = stats.hits;
    answer.skipped = stats.skipped;
    answer.lost = stats.lost;
    answer.faulted = stats.faulted;
    answer.dropped_records = stats.dropped_records;
    answer.dropped_keys = stats.dropped_keys;
    answer.dropped_stacks = stats.dropped_stacks;
    answer.is_off = stats.is_off;
    answer.missed = lost_;
    answer.returns_missed = returns_missed_;
    for (const uint32_t request : state_->TakeRequests()) answer.requests |= uint64_t{1} << request;
    state_->TakeRecords(SIZE_MAX, &answer.records);
    answer.snapshot = state_->Snapshot();
    return answer;
  }

  void End() {
    constexpr timespec kLastHits{.tv_sec = 0, .tv_nsec = 2 * base::kNsPerMs};
    nanosleep(&kLastHits, nullptr);
    Pump();
    Send(ProbeMessageKind::kData, Data(/*is_last=*/true));
  }

  bool Receive(void* to, size_t size) {
    return size == 0 || recv(console_.get(), to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  template <typename Body>
  bool Send(ProbeMessageKind kind, Body body) {
    const std::string bytes = sdk::EncodeProbeMessage(kind, std::move(body));
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t done = send(console_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      sent += static_cast<size_t>(done);
    }
    return true;
  }
  bool Refuse(const std::string& why) { return Send(ProbeMessageKind::kRefused, sdk::TextAnswer{why}); }

  base::OwnedFd console_;
  const pid_t pid_;
  const base::OwnedFd process_;  // a pidfd
  std::optional<probe::VerifiedProgram> program_;
  base::MappedBlock<char> memory_;
  std::unique_ptr<probe::ProbeState> state_;
  probe::ProbeClock clock_;
  std::optional<KernelEvents> events_;
  std::vector<Use> uses_;
  std::vector<Site> sites_;
  std::vector<Call> calls_;  // of which the end is to come
  uint64_t lost_ = 0;
  uint64_t returns_missed_ = 0;
};

}  // namespace

base::Result<ServiceClient> StartKernelService(pid_t pid) {
  if (geteuid() != 0)
    return base::Status(base::StatusCode::kUnavailable, "--kernel: the kernel's probes need root");
  int pair[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return base::IoError("cannot make a socket", errno);
  base::OwnedFd console(pair[1]);
  std::thread([service = std::make_unique<KernelService>(base::OwnedFd(pair[0]), pid)] {
    service->Run();
  }).detach();
  return ServiceClient::Over(std::move(console), pid);
}

}  // namespace lagwatch::tools

// SPDX-License-Identifier: Apache-2.0
#include "bench/probe/uprobe_costs.h"

#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/owned_fd.h"
#include "bench/probe/costs.h"

namespace lagwatch::bench {
namespace {

constexpr int kCalls = 5'000;
constexpr int kRounds = 20;

double BestNs() {
  double best_ns = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t begin_ns = ThreadNowNs();
    for (int i = 0; i < kCalls; ++i) lagwatch_bench_one_byte(static_cast<uint64_t>(i));
    best_ns = std::min(best_ns, static_cast<double>(ThreadNowNs() - begin_ns) / kCalls);
  }
  return best_ns;
}

std::string OwnPath() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// The measured function's place in this program's file.
uint64_t FileOffset() {
  uint64_t offset = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        const auto address = reinterpret_cast<uint64_t>(&lagwatch_bench_one_byte);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_filesz)
            *static_cast<uint64_t*>(found) = address - begin + segment.p_offset;
        }
        return 1;  // this program is the first
      },
      &offset);
  return offset;
}

// With an event of this thread that the kernel counts at the function's entry, or at its return.
std::optional<double> UprobeNs(bool is_return) {
  std::ifstream file("/sys/bus/event_source/devices/uprobe/type");
  uint32_t type = 0;
  if (!(file >> type)) return std::nullopt;
  const std::string path = OwnPath();
  perf_event_attr event{};
  event.type = type;
  event.size = sizeof event;
  event.config = is_return ? 1 : 0;
  event.uprobe_path = reinterpret_cast<uint64_t>(path.c_str());
  event.probe_offset = FileOffset();
  const base::OwnedFd counter(
      static_cast<int>(syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!counter) {
    std::fprintf(stderr, "bench_probe: no uprobe: %s\n", std::strerror(errno));
    return std::nullopt;
  }
  const double ns = BestNs();
  uint64_t count = 0;
  const bool is_counted = read(counter.get(), &count, sizeof count) == sizeof count &&
                          count == static_cast<uint64_t>(kCalls) * kRounds;
  if (!is_counted) std::fprintf(stderr, "bench_probe: the uprobe has counted %ju calls\n", uintmax_t{count});
  return is_counted ? std::optional(ns) : std::nullopt;
}

// While bpftrace counts at `probe`.
std::optional<double> BpftraceNs(const std::string& probe) {
  const std::string program = probe + ":" + OwnPath() + ":lagwatch_bench_one_byte { @ = count(); }";
  const pid_t pid = fork();
  if (pid == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execlp("bpftrace", "bpftrace", "-e", program.c_str(), nullptr);
    _exit(127);
  }
  // The calls become dear when it is there.
  const double bare_ns = BestNs();
  double ns = bare_ns;
  constexpr int kPatience = 1'000;
  for (int i = 0; i < kPatience && ns < 10 * bare_ns && waitpid(pid, nullptr, WNOHANG) == 0; ++i) {
    usleep(10'000);
    ns = BestNs();
  }
  kill(pid, SIGINT);
  waitpid(pid, nullptr, 0);
  if (ns >= 10 * bare_ns) return ns;
  std::fprintf(stderr, "bench_probe: no bpftrace, or it may not attach here\n");
  return std::nullopt;
}

}  // namespace

void MeasureUprobeCosts(Figures* figures) {
  const double bare_ns = BestNs();
  const auto append = [&](const char* name, std::optional<double> ns) {
    figures->emplace_back(name, ns ? std::optional(*ns - bare_ns) : std::nullopt);
  };
  append("uprobe_entry_ns", UprobeNs(false));
  append("uprobe_return_ns", UprobeNs(true));
  append("bpftrace_entry_ns", BpftraceNs("uprobe"));
  append("bpftrace_return_ns", BpftraceNs("uretprobe"));
}

}  // namespace lagwatch::bench

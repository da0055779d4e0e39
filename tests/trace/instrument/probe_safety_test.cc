// SPDX-License-Identifier: Apache-2.0
// Probes in processes that do what is dangerous for them: small stacks, forks, filters of system calls,
// replaced files.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/process/quiet_thread.h"
#include "tests/testing/seccomp_filter.h"
#include "tests/testing/temp_directory.h"
#include "tests/trace/instrument/probe_fixture.h"
#include "tests/trace/instrument/probed_function.h"
#include "trace/instrument/code_writer.h"
#include "trace/instrument/patch_site.h"
#include "trace/instrument/probes/function_prober.h"
#include "trace/instrument/return_thunks.h"

#if defined(__x86_64__)

// They end in jumps, as compilers write calls that come last.
extern "C" {
void* probe_test_jumps_to_dlopen(const char* name, int flags);
void* probe_test_jumps_to_a_jump(const char* name, int flags);
char* probe_test_jumps_to_getenv(const char* name);
}
asm(R"(
  .pushsection .text
  .macro jump_to name, target
    .globl \name
    .type \name, @function
    .balign 16
  \name:
    .cfi_startproc
    endbr64
    mov %rdi, %rax
    jmp \target
    .cfi_endproc
    .size \name, . - \name
  .endm
  jump_to probe_test_jumps_to_dlopen, dlopen@PLT
  jump_to probe_test_jumps_to_a_jump, probe_test_jumps_to_dlopen
  jump_to probe_test_jumps_to_getenv, getenv@PLT
  .popsection
)");

namespace lagwatch::trace {
namespace {

template <typename Function>
uint64_t CodeOf(Function* function) {
  return reinterpret_cast<uint64_t>(function);
}

#ifdef __SANITIZE_THREAD__
#define SKIP_UNDER_TSAN(reason) GTEST_SKIP() << "under the thread sanitizer: " << reason
#else
#define SKIP_UNDER_TSAN(reason) static_cast<void>(0)
#endif

PROBED_FUNCTION int AddOne(int number) { return number + 1; }

void CountHit(const ProbeEntry&, void* count) { ++*static_cast<std::atomic<int>*>(count); }
constexpr ProbeHandlers kCountsHits{.on_entry = &CountHit};
constexpr ProbeHandlers kCountsOnSmallStacks{.on_entry = &CountHit, .registers = HandlerRegisters::kBaseline};

class ProbeSafety : public ProbingTest {
 protected:
  static ProbeReason ReasonOf(uint64_t function, bool wants_return) {
    return Prober().Examine({&function, 1}, wants_return).front().reason;
  }
};

TEST_F(ProbeSafety, RefusesReturnsOfFunctionsThatJumpToReadersOfTheirs) {
  for (auto* function : {&probe_test_jumps_to_dlopen, &probe_test_jumps_to_a_jump}) {
    EXPECT_EQ(ReasonOf(CodeOf(function), true), ProbeReason::kReadsReturnAddress);
    EXPECT_EQ(ReasonOf(CodeOf(function), false), ProbeReason::kNone);
  }
  EXPECT_EQ(ReasonOf(CodeOf(&probe_test_jumps_to_getenv), true), ProbeReason::kNone);
}

// Memory of a signal stack, with what lies below it.
class SignalStack {
 public:
  static constexpr size_t kBytes = 8192;
  static constexpr size_t kBelowBytes = 32 << 10;

  SignalStack() {
    memory_ = static_cast<unsigned char*>(
        mmap(nullptr, kBelowBytes + kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(memory_, kMark, kBelowBytes);
    const stack_t stack{.ss_sp = memory_ + kBelowBytes, .ss_flags = 0, .ss_size = kBytes};
    EXPECT_EQ(sigaltstack(&stack, nullptr), 0);
    struct sigaction action {};
    action.sa_handler = [](int) { AddOne(1); };
    action.sa_flags = SA_ONSTACK;
    EXPECT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  }
  ~SignalStack() {
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
    signal(SIGUSR1, SIG_DFL);
    munmap(memory_, kBelowBytes + kBytes);
  }
  bool IsIntactBelow() const {
    return std::all_of(memory_, memory_ + kBelowBytes, [](unsigned char byte) { return byte == kMark; });
  }

 private:
  static constexpr unsigned char kMark = 0xa5;
  unsigned char* memory_ = nullptr;
};

TEST_F(ProbeSafety, LeavesHitsOutOnSmallSignalStacks) {
  std::atomic<int> hits{0};
  const SignalStack stack;
  const auto use_much = [](const ProbeEntry&, void* count) {
    volatile char bytes[6 << 10];
    for (volatile char& byte : bytes) byte = 1;
    ++*static_cast<std::atomic<int>*>(count);
  };
  const ProbeHandlers handlers{.on_entry = use_much};
  static ProbeHandlers kept;
  kept = handlers;
  ASSERT_NE(Prober().Arm(CodeOf(&AddOne), &kept, &hits).id, 0U);
  AddOne(1);
  EXPECT_EQ(hits, 1);
  const uint64_t missed = FunctionProbeStats().hits_missed;
  raise(SIGUSR1);
  EXPECT_EQ(hits, 1);
  EXPECT_EQ(FunctionProbeStats().hits_missed, missed + 1);
  EXPECT_TRUE(stack.IsIntactBelow());
  Prober().DisarmAll();
  ASSERT_NE(Prober().Arm(CodeOf(&AddOne), &kCountsOnSmallStacks, &hits).id, 0U);
  raise(SIGUSR1);
  EXPECT_EQ(hits, 2);
  EXPECT_TRUE(stack.IsIntactBelow());
}

// The thread's stack lies below the signal's.
TEST_F(ProbeSafety, DoesNotTakeASignalForTheHandlersEnd) {
  SKIP_UNDER_TSAN("its threads need larger stacks");
  static std::atomic<int> hits{0};
  constexpr ProbeHandlers kRaises{.on_entry =
                                      [](const ProbeEntry&, void*) {
                                        if (++hits == 1) raise(SIGUSR1);
                                      },
                                  .registers = HandlerRegisters::kBaseline};
  static const ProbeHandlers kept = kRaises;
  constexpr size_t kStackBytes = 256 << 10;
  auto* memory = static_cast<char*>(
      mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(Prober().Arm(CodeOf(&AddOne), &kept, nullptr).id, 0U);
  const uint64_t missed = FunctionProbeStats().hits_missed;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory, kStackBytes);
  pthread_t thread{};
  const auto call = [](void* above) -> void* {
    const SignalStack handler;
    const stack_t stack{.ss_sp = above, .ss_flags = 0, .ss_size = kStackBytes};
    sigaltstack(&stack, nullptr);
    AddOne(1);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, memory + kStackBytes), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(hits, 1);
  EXPECT_EQ(FunctionProbeStats().hits_missed, missed + 1);
  munmap(memory, 2 * kStackBytes);
}

std::atomic<int> g_hits{0};
std::atomic<int> g_returns{0};
sigjmp_buf g_before_hit;
constexpr ProbeHandlers kRaisesAtFirst{.on_entry =
                                           [](const ProbeEntry&, void*) {
                                             if (++g_hits == 1) raise(SIGUSR1);
                                           },
                                       .on_return = [](const ProbeReturn&, void*) { ++g_returns; },
                                       .registers = HandlerRegisters::kBaseline};

PROBED_FUNCTION int AddOneFurtherDown(int number) {
  volatile char bytes[4096];
  for (volatile char& byte : bytes) byte = 1;
  return AddOne(number) + bytes[0] - 1;
}

// A signal handler jumps out of a probe's handler, as those of timeouts do.
TEST_F(ProbeSafety, GoesOnAfterAJumpOutOfAHandler) {
  SKIP_UNDER_TSAN("it delays signals");
  constexpr int kCalls = 100;
  for (auto* call : {&AddOne, &AddOneFurtherDown}) {
    g_hits = g_returns = 0;
    signal(SIGUSR1, [](int) { siglongjmp(g_before_hit, 1); });
    ASSERT_NE(Prober().Arm(CodeOf(&AddOne), &kRaisesAtFirst, nullptr).id, 0U);
    if (sigsetjmp(g_before_hit, 1) == 0) AddOne(1);
    for (int i = 0; i < kCalls; ++i) call(i);
    EXPECT_EQ(g_hits, 1 + kCalls);
    EXPECT_EQ(g_returns, kCalls);
    Prober().DisarmAll();
  }
  signal(SIGUSR1, SIG_DFL);
}

// Each of these jumps out of the code that has the list of thunks in its hands.
TEST_F(ProbeSafety, LosesNoReturnsByJumpsOutOfHandlers) {
  SKIP_UNDER_TSAN("it delays signals");
  constexpr uint32_t kJumps = 4 * kMaxThunksPerThread;
  static uint32_t jumps = 0;  // a local variable may be lost by a jump
  signal(SIGUSR1, [](int) { siglongjmp(g_before_hit, 1); });
  ASSERT_NE(Prober().Arm(CodeOf(&AddOne), &kRaisesAtFirst, nullptr).id, 0U);
  for (jumps = 0; jumps < kJumps; ++jumps) {
    g_hits = 0;
    if (sigsetjmp(g_before_hit, 1) == 0) AddOne(1);
    AddOne(1);
  }
  g_returns = 0;
  for (int i = 0; i < 100; ++i) AddOne(i);
  EXPECT_EQ(g_returns, 100);
  signal(SIGUSR1, SIG_DFL);
}

// The stack of signals is an array of the function that makes the call, further up than the handler.
TEST_F(ProbeSafety, DoesNotTakeASignalOnAnArrayForTheHandlersEnd) {
  SKIP_UNDER_TSAN("it delays signals");
  alignas(16) char array[64 << 10];
  const SignalStack handler;
  const stack_t stack{.ss_sp = array, .ss_flags = 0, .ss_size = sizeof array};
  ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
  ASSERT_NE(Prober().Arm(CodeOf(&AddOne), &kRaisesAtFirst, nullptr).id, 0U);
  g_hits = g_returns = 0;
  const uint64_t missed = FunctionProbeStats().hits_missed;
  AddOne(1);
  EXPECT_EQ(g_hits, 1);
  EXPECT_EQ(g_returns, 1);
  EXPECT_EQ(FunctionProbeStats().hits_missed, missed + 1);
}

TEST_F(ProbeSafety, SeesTheReturnsOfMoreThreadsThanThereAreLotsOf64) {
  SKIP_UNDER_TSAN("its threads need larger stacks");
  constexpr int kThreads = 700;
  constexpr size_t kStackBytes = 128 << 10;
  static pthread_barrier_t barrier;
  g_hits = 1;
  g_returns = 0;
  ASSERT_NE(Prober().Arm(CodeOf(&AddOne), &kRaisesAtFirst, nullptr).id, 0U);
  pthread_barrier_init(&barrier, nullptr, kThreads);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  std::vector<pthread_t> threads(kThreads);
  for (pthread_t& thread : threads) {
    const auto call = [](void*) -> void* {
      AddOne(1);
      pthread_barrier_wait(&barrier);
      return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, &attributes, call, nullptr), 0);
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  pthread_barrier_destroy(&barrier);
  EXPECT_EQ(g_hits, 1 + kThreads);
  EXPECT_EQ(g_returns, kThreads);
}

int StatusOf(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST_F(ProbeSafety, DeliversNothingInChildrenOfNoForkHandler) {
  std::atomic<int> hits{0};
  ASSERT_NE(Prober().Arm(CodeOf(&AddOne), &kCountsHits, &hits).id, 0U);
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) syscall(SYS_exit_group, AddOne(1) == 2 && hits == 0 ? 0 : 1);
  EXPECT_EQ(StatusOf(child), 0);
}

TEST_F(ProbeSafety, BeginsAnewInChildrenWhenAsked) {
  SKIP_UNDER_TSAN("it has no threads in forked children");
  std::atomic<int> parents{0};
  std::atomic<int> hits{0};
  const uint64_t code = CodeOf(&AddOne);
  ASSERT_NE(Prober().Arm(code, &kCountsHits, &parents).id, 0U);
  EXPECT_FALSE(Prober().BeginAnewInChild());
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    if (!Prober().BeginAnewInChild() || !Prober().BytesAreOriginal()) _exit(1);
    if (Prober().Arm(code, &kCountsHits, &hits).id == 0) _exit(2);
    if (AddOne(1) != 2 || hits != 1 || parents != 0) _exit(3);
    Prober().DisarmAll();
    _exit(AddOne(1) == 2 && hits == 1 && Prober().BytesAreOriginal() ? 0 : 4);
  }
  const int status = StatusOf(child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  AddOne(1);
  EXPECT_EQ(parents, 1);
}

TEST_F(ProbeSafety, LetsChildrenChangeCodeThatWereForkedMeanwhile) {
  SKIP_UNDER_TSAN("it has no threads in forked children");
  pid_t child = -1;
  ASSERT_TRUE(base::RunWithOwnFiles([&] {
    const CodeWriter writer;
    ASSERT_TRUE(writer.is_usable());
    child = fork();
    if (child != 0) return;
    alarm(10);
    bool is_usable = false;
    std::thread([&] { is_usable = CodeWriter().is_usable(); }).join();
    _exit(is_usable ? 0 : 1);
  }));
  EXPECT_EQ(StatusOf(child), 0);
}

bool RefuseBarriers() {
  constexpr uint32_t kSynchronize = 32;  // MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSynchronize, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return testing::ConfineBy(filter);
}

TEST_F(ProbeSafety, RefusesWhereProcessorsCannotBeSynchronized) {
  SKIP_UNDER_TSAN("it has no threads in forked children");
  const pid_t child = fork();
  if (child == 0) {
    if (!RefuseBarriers()) _exit(0);  // no filters here
    std::atomic<int> hits{0};
    const ProbeResult result = Prober().Arm(CodeOf(&AddOne), &kCountsHits, &hits);
    _exit(result.id == 0 && result.reason == ProbeReason::kNotPermitted ? 0 : 1);
  }
  EXPECT_EQ(StatusOf(child), 0);
}

TEST_F(ProbeSafety, RestoresFunctionsOfFilesThatWereReplaced) {
  const testing::ScopedTempDirectory directory;
  const std::string path = directory / "replaced_subject.so";
  const std::string newer = directory / "newer.so";
  Dl_info of_library{};  // libm, whose functions need all kinds of patches
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "cos"), &of_library), 0);
  for (const std::string& copy : {path, newer})
    std::ofstream(copy, std::ios::binary) << std::ifstream(of_library.dli_fname, std::ios::binary).rdbuf();
  void* library = dlopen(path.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  std::atomic<int> hits{0};
  std::vector<ProbeRequest> requests;
  std::vector<std::string> bytes;
  const auto bytes_of = [](uint64_t function) {
    return std::string(reinterpret_cast<const char*>(function), 8);
  };
  const FunctionFilter filter{.allow_modules = {"*replaced_subject*"}};
  for (const ProbedFunction& listed : Prober().List(filter, false)) {
    if (listed.result.reason != ProbeReason::kNone || requests.size() == 300) continue;
    requests.push_back({listed.function, &kCountsHits, &hits});
    bytes.push_back(bytes_of(listed.function));
  }
  ASSERT_GE(requests.size(), 100U);
  bool has_other_tiers = false;
  size_t armed = 0;
  for (const ProbeResult& result : Prober().Arm(requests)) {
    armed += result.id != 0 ? 1 : 0;  // few are in each other's way
    has_other_tiers = has_other_tiers || result.tier != ProbeTier::kOneByte;
  }
  EXPECT_TRUE(has_other_tiers);
  EXPECT_GE(armed, 100U);
  ASSERT_EQ(rename(newer.c_str(), path.c_str()), 0);
  Prober().DisarmAll();
  EXPECT_TRUE(Prober().BytesAreOriginal());
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(bytes_of(requests[i].function), bytes[i]) << i;
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(dlsym(library, "cos"))(0), 1);
  dlclose(library);
}

// Five functions of one to six bytes, without padding between them: a jump at one has bytes of the next ones.
asm(R"(
  .pushsection .text
  .macro lagwatch_tiny name, code:vararg
    .type \name, @function
    \name:
    .cfi_startproc
    \code
    ret
    .cfi_endproc
    .size \name, . - \name
  .endm
  lagwatch_tiny lagwatch_tiny_nothing
  lagwatch_tiny lagwatch_tiny_add, incl (%rdi)
  lagwatch_tiny lagwatch_tiny_five, addl $5, (%rdi)
  lagwatch_tiny lagwatch_tiny_minus, decl (%rdi)
  lagwatch_tiny lagwatch_tiny_last, addl $100, (%rdi)
  nop
  nop
  nop
  nop
  .purgem lagwatch_tiny
  .popsection
)");
extern "C" {
void lagwatch_tiny_nothing(int* number);
void lagwatch_tiny_add(int* number);
void lagwatch_tiny_five(int* number);
void lagwatch_tiny_minus(int* number);
void lagwatch_tiny_last(int* number);
}
constexpr void (*kTiny[])(int*) = {&lagwatch_tiny_nothing, &lagwatch_tiny_add, &lagwatch_tiny_five,
                                   &lagwatch_tiny_minus, &lagwatch_tiny_last};

int CallTiny() {
  int number = 0;
  for (const auto function : kTiny) function(&number);
  return number;
}

// Armed and disarmed in any order, by one request or by several.
TEST_F(ProbeSafety, KeepsTheJumpsOfTinyNeighboursApart) {
  static std::atomic<uint64_t> hits{0};
  constexpr ProbeHandlers kCount{.on_entry = [](const ProbeEntry&, void*) { ++hits; },
                                 .registers = HandlerRegisters::kAny};
  std::minstd_rand random(1);
  bool has_met = false;
  std::vector<ProbeId> ids;
  for (int round = 0; round < 400; ++round) {
    std::vector<ProbeRequest> requests;
    for (uint64_t i = 0, count = 1 + random() % 3; i < count; ++i)
      requests.push_back({reinterpret_cast<uint64_t>(kTiny[random() % std::size(kTiny)]), &kCount, &ids});
    for (const ProbeResult& result : Prober().Arm(requests)) {
      if (result.id != 0) ids.push_back(result.id);
      has_met |= result.reason == ProbeReason::kMeetsProbe;
    }
    hits = 0;
    ASSERT_EQ(CallTiny(), 105) << round;
    ASSERT_EQ(hits, ids.size()) << round;
    while (!ids.empty() && random() % 2 == 0) {
      const size_t i = random() % ids.size();
      Prober().Disarm({&ids[i], 1});
      ids.erase(ids.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  EXPECT_TRUE(has_met);
}

TEST_F(ProbeSafety, LetsOthersUseTheLoaderBetweenFunctions) {
  std::vector<uint64_t> functions;
  for (int i = 0; i < 4000; ++i)
    functions.push_back(reinterpret_cast<uint64_t>(dlsym(RTLD_NEXT, i % 2 == 0 ? "vfprintf" : "qsort_r")));
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> is_over{false};
  Clock::duration longest{0};
  std::thread other([&] {
    while (!is_over) {
      const auto begin = Clock::now();
      dl_iterate_phdr([](dl_phdr_info*, size_t, void*) { return 1; }, nullptr);
      longest = std::max(longest, Clock::now() - begin);
    }
  });
  const auto begin = Clock::now();
  Prober().Examine(functions, true);
  const auto all = Clock::now() - begin;
  is_over = true;
  other.join();
  EXPECT_LT(longest, all / 2);
}

}  // namespace
}  // namespace lagwatch::trace

#endif  // __x86_64__

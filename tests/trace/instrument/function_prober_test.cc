// SPDX-License-Identifier: Apache-2.0
// Probes on functions that were not built for it: of this program and of its libraries, on the machine's own
// processor.
#include "trace/instrument/probes/function_prober.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/ticks.h"
#include "tests/trace/instrument/patched_flow.h"
#include "tests/trace/instrument/probe_fixture.h"
#include "tests/trace/instrument/probed_function.h"
#include "tests/trace/instrument/recording.h"
#include "trace/instrument/patch_site.h"

namespace lagwatch::trace {
namespace {

struct Hits {
  std::atomic<uint64_t> entries{0};
  std::atomic<uint64_t> returns{0};
  std::atomic<uint64_t> exceptions{0};
  std::vector<ProbeEntry> entry;  // of one thread
  std::vector<ProbeReturn> returned;
  uint64_t args[6] = {};
  double vectors[8] = {};
};

void CountEntry(const ProbeEntry&, void* hits) { ++static_cast<Hits*>(hits)->entries; }
void CountReturn(const ProbeReturn& returned, void* hits) {
  auto* counted = static_cast<Hits*>(hits);
  ++(returned.left_by_exception ? counted->exceptions : counted->returns);
}
void KeepEntry(const ProbeEntry& entry, void* hits) {
  auto* kept = static_cast<Hits*>(hits);
  kept->entry.push_back(entry);
  std::memcpy(kept->args, entry.int_args, sizeof kept->args);
  for (int i = 0; i < 8 && entry.vector_args != nullptr; ++i)
    std::memcpy(&kept->vectors[i], &entry.vector_args[i].low, sizeof(double));
}
void KeepReturn(const ProbeReturn& returned, void* hits) {
  static_cast<Hits*>(hits)->returned.push_back(returned);
}

constexpr ProbeHandlers kCounts{.on_entry = &CountEntry, .on_return = &CountReturn};
constexpr ProbeHandlers kCountsEntries{.on_entry = &CountEntry};
constexpr ProbeHandlers kKeeps{.on_entry = &KeepEntry, .on_return = &KeepReturn, .wants_vectors = true};

template <typename Function>
uint64_t AddressOf(Function* function) {
  return reinterpret_cast<uint64_t>(function);
}

using FunctionProbes = ProbingTest;

PROBED_FUNCTION double Mix(int a, long b, double c, const char* text, double d) {
  return a + static_cast<double>(b) + c + static_cast<double>(std::strlen(text)) + d;
}

TEST_F(FunctionProbes, DeliverArgumentsAndResults) {
  Hits hits;
  const ProbeResult armed = Prober().Arm(AddressOf(&Mix), &kKeeps, &hits);
  ASSERT_NE(armed.id, 0U) << ProbeReasonText(armed.reason);
  EXPECT_EQ(Mix(1, 2, 3.5, "four", 5.25), 15.75);
  ASSERT_EQ(hits.entry.size(), 1U);
  EXPECT_EQ(hits.args[0], 1U);
  EXPECT_EQ(hits.args[1], 2U);
  EXPECT_STREQ(reinterpret_cast<const char*>(hits.args[2]), "four");
  EXPECT_EQ(hits.vectors[0], 3.5);
  EXPECT_EQ(hits.vectors[1], 5.25);
  ASSERT_EQ(hits.returned.size(), 1U);
  EXPECT_EQ(hits.returned[0].function, AddressOf(&Mix));
  EXPECT_FALSE(hits.returned[0].left_by_exception);
  EXPECT_EQ(hits.returned[0].return_address, hits.entry[0].return_address);
  EXPECT_GE(hits.returned[0].left_ticks, hits.returned[0].entered_ticks);
  Prober().Disarm({&armed.id, 1});
  EXPECT_EQ(Mix(1, 2, 3.5, "four", 5.25), 15.75);
  EXPECT_EQ(hits.entry.size(), 1U);
}

TEST_F(FunctionProbes, OfTheCLibraryAreHitByEveryCall) {
  Hits hits;
  for (const char* name : {"getpid", "getenv", "malloc", "free", "strtol", "qsort", "snprintf"}) {
    const auto function = reinterpret_cast<uint64_t>(dlsym(RTLD_NEXT, name));
    const ProbeResult armed = Prober().Arm(function, &kCounts, &hits);
    if (armed.reason == ProbeReason::kExcludedModule) continue;  // a sanitizer's
    EXPECT_NE(armed.id, 0U) << name << ": " << ProbeReasonText(armed.reason);
  }
  const uint64_t before = hits.entries;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(getenv("LAGWATCH_NO_SUCH_NAME"), nullptr);
  EXPECT_GE(hits.entries - before, 100U);
  Prober().DisarmAll();
  EXPECT_EQ(hits.returns + hits.exceptions, hits.entries);
}

using Flow = const PatchedFlow& (*)();

// All that a flow consists of.
FunctionFilter FilterOf(const PatchedFlow& flow) {
  FunctionFilter filter{
      .allow_modules = {"trace_probes_tests"},
      .allow_functions = {"*CatchFrom*",     "*ThrowFrom*",  "*JumpTo*",         "*JumpFrom*",
                          "*EndThreadFrom*", "*TailEven*",   "*TailOdd*",        "*Recurse*",
                          "*MakeLarge*",     "*Sum*",        "*Extended*",       "*AddVectors*",
                          "*Wide*",          "*PassAll*",    "*SwitchDeep*",     "*SwitchOnce*",
                          "*SwitchStacks*",  "*OtherStack*", "*BacktraceFinds*", "*SleepIn*",
                          "*LeafOf*"},
      .deny_functions = {"*testing*", "*Test*"}};
  // They are one object's; to read all names of the program takes a second.
  constexpr uint64_t kObjectBytes = 8192;
  const uint64_t inside = AddressOf(flow.leaf);
  filter.allow_addresses = {{inside - kObjectBytes, inside + kObjectBytes}};
  return filter;
}

std::vector<ProbeRequest> RequestsFor(const PatchedFlow& flow, const ProbeHandlers* handlers, Hits* hits) {
  std::vector<ProbeRequest> requests;
  for (const ProbedFunction& listed : Prober().List(FilterOf(flow), true))
    if (listed.result.reason == ProbeReason::kNone) requests.push_back({listed.function, handlers, hits});
  return requests;
}

class ProbedFlows : public ::testing::TestWithParam<Flow> {
 protected:
  void SetUp() override {
    if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be patched";
    const auto requests = RequestsFor(flow_, &kCounts, &hits_);
    EXPECT_GE(requests.size(), 15U);
    for (const ProbeResult& result : Prober().Arm(requests))
      EXPECT_NE(result.id, 0U) << ProbeReasonText(result.reason);
  }
  void TearDown() override {
    Prober().DisarmAll();
    EXPECT_TRUE(Prober().BytesAreOriginal());
  }
  uint64_t ends() const { return hits_.returns + hits_.exceptions; }

  const PatchedFlow& flow_ = GetParam()();
  Hits hits_;
};

TEST_P(ProbedFlows, CountEveryCall) {
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(flow_.leaf(i), i + 1);
  EXPECT_EQ(hits_.entries, 1000U);
  EXPECT_EQ(hits_.returns, 1000U);
}

TEST_P(ProbedFlows, GetTheirArgumentsAndGiveTheirResults) {
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(flow_.pass_all());
  EXPECT_EQ(hits_.entries, ends());
}

TEST_P(ProbedFlows, LetExceptionsThroughAndCountThem) {
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(flow_.catch_from(i % 40), i % 40 + 1);
  EXPECT_EQ(hits_.returns, 1000U);
  EXPECT_EQ(hits_.exceptions, 25U * (40 * 41 / 2));
  EXPECT_EQ(hits_.entries, ends());
}

TEST_P(ProbedFlows, LetJumpsThrough) {
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(flow_.jump_from(i % 40), 1);
  EXPECT_EQ(hits_.returns, 3000U);
}

TEST_P(ProbedFlows, LetThreadsEnd) {
  for (int i = 0; i < 100; ++i) {
    int destructors = 0;
    std::thread([&] { flow_.end_thread_from(i % 20, &destructors); }).join();
    ASSERT_EQ(destructors, i % 20 + 1);
  }
  EXPECT_EQ(hits_.exceptions, hits_.entries);
}

TEST_P(ProbedFlows, ThatAreCalledLastEndWithTheirCaller) {
  EXPECT_EQ(flow_.tail(10, 0), 40U);
  EXPECT_EQ(hits_.entries, 11U);
  EXPECT_EQ(hits_.returns, 11U);
  EXPECT_EQ(flow_.tail(1000, 0), 4000U);
  EXPECT_EQ(hits_.entries, 11U + 1001U);
}

TEST_P(ProbedFlows, SwitchStacksAndAreFoundByBacktraces) {
  for (int i = 0; i < 20; ++i) ASSERT_EQ(flow_.switch_stacks(100), 100);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(
        flow_.is_found_by_backtrace(i % 10, reinterpret_cast<const void*>(flow_.is_found_by_backtrace)));
  EXPECT_EQ(flow_.recurse(3000), 3000);
}

// Counts the hits whose handler does not find the function's caller on the stack.
void LookForCaller(const ProbeEntry& entry, void* hits) {
  auto* counted = static_cast<Hits*>(hits);
  void* addresses[16];
  const int count = backtrace(addresses, 16);
  const bool is_found = std::find(addresses, addresses + count,
                                  reinterpret_cast<void*>(entry.return_address)) != addresses + count;
  ++(is_found ? counted->entries : counted->exceptions);
}

TEST_P(ProbedFlows, AreWalkedThroughByTheirHandlers) {
  constexpr ProbeHandlers kLooks{.on_entry = &LookForCaller};
  void* warm[1];
  backtrace(warm, 1);
  Prober().DisarmAll();
  hits_.entries = 0;
  Prober().Arm(RequestsFor(flow_, &kLooks, &hits_));
  ASSERT_EQ(flow_.catch_from(3), 4);
  ASSERT_TRUE(flow_.pass_all());
  ASSERT_EQ(flow_.recurse(5), 5);
  EXPECT_GE(hits_.entries, 12U);
  EXPECT_EQ(hits_.exceptions, 0U);
}

TEST_P(ProbedFlows, AreLeftAloneInForkedChildren) {
  const pid_t child = fork();
  if (child == 0) {
    const bool is_right = flow_.leaf(1) == 2 && flow_.catch_from(3) == 4 && hits_.entries == 0;
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Compilers, ProbedFlows,
                         ::testing::Values(&FirstPatchedFlow, &SecondPatchedFlow, &ThirdPatchedFlow,
                                           &PlainFlow),
                         CompilersNumber());

TEST_F(FunctionProbes, AreRefusedWithAReason) {
  const auto reason_of = [](uint64_t function) {
    return Prober().Examine({&function, 1}, true).front().reason;
  };
  // Not the next after the program: a sanitizer's runtime has some of these, too.
  const auto in_c_library = [library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD)](const char* name) {
    return reinterpret_cast<uint64_t>(dlsym(library, name));
  };
  EXPECT_EQ(reason_of(in_c_library("_setjmp")), ProbeReason::kExcludedFunction);
  EXPECT_EQ(reason_of(in_c_library("vfork")), ProbeReason::kExcludedFunction);
  EXPECT_EQ(reason_of(in_c_library("dlsym")), ProbeReason::kReadsReturnAddress);
  EXPECT_EQ(reason_of(in_c_library("__tls_get_addr")), ProbeReason::kExcludedModule);
  EXPECT_EQ(reason_of(in_c_library("getenv") + 1), ProbeReason::kNoUnwindTable);
  int data = 0;
  EXPECT_EQ(reason_of(reinterpret_cast<uint64_t>(&data)), ProbeReason::kNotCode);
  EXPECT_EQ(reason_of(0), ProbeReason::kNotCode);
  EXPECT_EQ(Prober().Arm(1, &kCounts, nullptr).reason, ProbeReason::kNotCode);
}

TEST_F(FunctionProbes, ComeAndGoWhileThreadsDoWhatTheyCan) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers' own calls are among those that are probed";
#endif
  constexpr uint64_t kCycles = 8;
  std::vector<uint64_t> functions;
  for (const ProbeRequest& request : RequestsFor(PlainFlow(), &kCounts, nullptr))
    functions.push_back(request.function);
  for (const char* name :
       {"malloc", "free", "strtoull", "qsort", "snprintf", "fork", "waitpid", "usleep", "pthread_create",
        "pthread_join", "pthread_cancel", "memchr", "pthread_mutex_lock"})
    functions.push_back(reinterpret_cast<uint64_t>(dlsym(RTLD_NEXT, name)));
  const SoakTotals totals = SoakProbes(&Prober(), kCycles, functions, LAGWATCH_FLOW_SUBJECT);
  EXPECT_LE(totals.refused, 3 * kCycles) << totals.last_refusal;  // by what else is in memory
  EXPECT_EQ(totals.wrong_results, 0U);
  EXPECT_EQ(totals.hits_counted, totals.hits_made);
  EXPECT_EQ(totals.returns_counted, totals.hits_made);
  EXPECT_GT(totals.other_hits, kCycles);
  EXPECT_EQ(totals.differing_bytes, 0U);
}

TEST_F(FunctionProbes, AreLeftByCallersThatWereLoadedLater) {
  Hits hits;
  ASSERT_NE(
      Prober().Arm(reinterpret_cast<uint64_t>(dlsym(RTLD_NEXT, "__cxa_begin_catch")), &kCounts, &hits).id,
      0U);
  void* library = dlopen(LAGWATCH_FLOW_SUBJECT, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto flow = reinterpret_cast<Flow>(dlsym(library, "_ZN8lagwatch5trace16FirstPatchedFlowEv"));
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(flow().catch_from(3), 4);
  EXPECT_EQ(hits.entries, 1U);
  EXPECT_EQ(hits.returns, 0U);
  Prober().NoteLoadedModules();
  EXPECT_EQ(flow().catch_from(3), 4);
  EXPECT_EQ(hits.entries, 2U);
  EXPECT_EQ(hits.returns, 1U);
  dlclose(library);
}

TEST_F(FunctionProbes, AreArmedAgainInLibrariesThatAreLoadedAgain) {
  Hits hits;
  void* library = nullptr;
  const auto load = [&] {
    library = dlopen(LAGWATCH_FLOW_SUBJECT, RTLD_NOW);
    return reinterpret_cast<Flow>(dlsym(library, "_ZN8lagwatch5trace16FirstPatchedFlowEv"));
  };
  Flow flow = load();
  ASSERT_NE(flow, nullptr);
  const ProbeId id = Prober().Arm(AddressOf(flow), &kCounts, &hits).id;
  ASSERT_NE(id, 0U);
  flow();
  EXPECT_EQ(hits.entries, 1U);
  for (const bool is_elsewhere : {false, true}) {
    constexpr size_t kPageBytes = 4096;
    Dl_info before{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(flow), &before), 0);
    dlclose(library);
    ASSERT_EQ(dlopen(LAGWATCH_FLOW_SUBJECT, RTLD_NOW | RTLD_NOLOAD), nullptr);
    void* taken = nullptr;
    if (is_elsewhere)
      taken = mmap(before.dli_fbase, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                   -1, 0);
    const Flow old = std::exchange(flow, load());
    EXPECT_EQ(flow != old, is_elsewhere);
    Prober().NoteLoadedModules();
    Prober().NoteLoadedModules();
    hits.entries = hits.returns = 0;
    flow();
    EXPECT_EQ(hits.entries, 1U);
    EXPECT_EQ(hits.returns, 1U);
    if (taken != nullptr) munmap(taken, kPageBytes);
  }
  Prober().Disarm({&id, 1});
  flow();
  EXPECT_EQ(hits.entries, 1U);
  EXPECT_TRUE(Prober().BytesAreOriginal());
  dlclose(library);
}

TEST_F(FunctionProbes, SeveralOnOneFunctionComeAndGo) {
  Hits hits[kMaxProbesPerFunction + 1];
  std::vector<ProbeId> ids;
  for (Hits& each : hits) {
    const ProbeResult armed = Prober().Arm(AddressOf(&Mix), &kCounts, &each);
    if (armed.id != 0) ids.push_back(armed.id);
  }
  ASSERT_EQ(ids.size(), kMaxProbesPerFunction);
  Mix(1, 2, 3, "", 4);
  Prober().Disarm({&ids[3], 1});
  Mix(1, 2, 3, "", 4);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(hits[i].entries, i == 3 ? 1U : 2U);
    EXPECT_EQ(hits[i].returns, i == 3 ? 1U : 2U);
  }
}

}  // namespace
}  // namespace lagwatch::trace

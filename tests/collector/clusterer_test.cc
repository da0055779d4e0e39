// SPDX-License-Identifier: Apache-2.0
#include "collector/cluster/clusterer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/cluster/named_stacks.h"
#include "collector/symbols/names/symbol_namer.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::collector {
namespace {

using lagwatch::testing::SampleReport;
using lagwatch::testing::SampleWait;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Frames = std::vector<std::string>;

ClusterPath Assign(const SampleReport& sample, policies::ClusterBy by = policies::ClusterBy::kSignificant) {
  return Clusterer::Create("", by)->Assign(report::DecodeReport(sample.Encode()).value());
}

ClusterPath Assign(const Frames& stack) { return Assign(SampleReport{.stack = stack}); }

TEST(Clusterer, TakesTheInnermostSignificantFrames) {
  const ClusterPath path = Assign({"futex_wait", "pthread_mutex_lock", "Lookup", "_ZNKSt8functionIFvvEEclEv",
                                   "OnKey", "Handle", "Turn", "Run", "main"});
  EXPECT_THAT(path[0].frames, ElementsAre("Lookup", "OnKey"));
  EXPECT_THAT(path[1].frames, ElementsAre("Lookup", "OnKey", "Handle", "Turn"));
  EXPECT_EQ(path[1].parent_key, path[0].key);
  EXPECT_NE(path[1].key, path[0].key);
}

// std::sort's inside, std::function's way to a lambda, and the lambda's number: all of it is
// the compiler's choice.
TEST(Clusterer, KnowsACauseInAnotherCompilersBuild) {
  const ClusterPath gcc = Assign(
      {"_ZZN3app4RankEvENKUlvE_clEv", "_ZSt10__pop_heapIPiEvT_S1_", "_ZN3app4RankEv.isra.0",
       "_ZNSt17_Function_handlerIFvvEZN3app7OnClickEvEUlvE0_E9_M_invokeERKSt9_Any_data", "app_run", "main"});
  const ClusterPath clang = Assign({"_ZN3app4RankEv", "_ZZN3app7OnClickEvENK3$_1clEv", "app_run", "main"});
  EXPECT_THAT(gcc[0].frames, ElementsAre("app::Rank", "app::OnClick"));
  EXPECT_EQ(gcc[0].key, clang[0].key);
  EXPECT_EQ(gcc[1].key, clang[1].key);
}

TEST(Clusterer, BeginsWhereTheSamplesAgree) {
  const Frames in_helper = {"IsHeading", "Parse", "OnPaste", "main"};
  const Frames in_parse = {"Parse", "OnPaste", "main"};
  SampleReport sample{.stack = in_helper, .samples = {in_helper, in_parse, in_helper, in_helper}};
  EXPECT_THAT(Assign(sample)[0].frames, ElementsAre("Parse", "OnPaste"));
  sample.samples = {in_helper, in_helper};
  EXPECT_THAT(Assign(sample)[0].frames, ElementsAre("IsHeading", "Parse"));
}

TEST(Clusterer, TakesTheSamplesWhereTheExpensiveStackSaysNothing) {
  const Frames saving = {"fsync", "Save", "OnSave", "main"};
  const SampleReport sample{.stack = {"fsync"}, .samples = {{"fsync"}, saving, {"fsync"}}};
  EXPECT_EQ(Assign(sample)[0].key, Assign(saving)[0].key);
}

// Frames of managed code below two native ones.
report::Report JavaReport(uint64_t line) {
  constexpr uint64_t kTotal = 0x1000'0000;
  constexpr uint64_t kMain = 0x2000'0000;
  report::Report report;
  report.modules = {{"/lib/libc.so.6", "", 0}, {"[java]", "", 0}};
  report.stacks = {{.frames = {{0, 16, 16}, {1, kTotal + line, kTotal}, {1, kMain, kMain}}}};
  report.samples = {{.stack = 0}};
  report.symbols = {{0, 16, "clock_nanosleep"},
                    {1, kTotal, "shop.Cart.total(int) (Cart.java)"},
                    {1, kMain, "shop.Main.main"}};
  return report;
}

TEST(Clusterer, TakesFunctionAndFileOfManagedCodeButNotTheLine) {
  const auto clusterer = Clusterer::Create("", policies::ClusterBy::kSignificant);
  const ClusterPath path = clusterer->Assign(JavaReport(42));
  EXPECT_THAT(path[0].frames, ElementsAre("shop.Cart.total(int) (Cart.java)", "shop.Main.main"));
  EXPECT_EQ(clusterer->Assign(JavaReport(43))[0].key, path[0].key);
}

TEST(Clusterer, NamesFileAndLineOfManagedCode) {
  const report::Report report = JavaReport(42);
  const FrameNames names(report);
  const NamedFrame total = names.NameOf(report.stacks[0].frames[1]);
  EXPECT_EQ(total.file, "Cart.java");
  EXPECT_EQ(total.line, 42u);
  const NamedFrame main = names.NameOf(report.stacks[0].frames[2]);
  EXPECT_EQ(main.function, "shop.Main.main");
  EXPECT_EQ(main.file, "");
  EXPECT_EQ(main.line, 0u);
}

// A report of scripts' frames, innermost first, of one language.
report::Report ScriptReport(const std::string& language, const std::vector<std::string>& names) {
  report::Report report;
  report.modules = {{language, "", 0}};
  report.stacks = {{}};
  report.samples = {{.stack = 0}};
  for (const std::string& name : names) {
    const uint64_t function = 0x1000'0000 * (report.symbols.size() + 1);
    report.symbols.push_back({0, function, name});
    report.stacks[0].frames.push_back({0, function + 7, function});
  }
  return report;
}

TEST(Clusterer, SkipsTheStandardLibraryOfALanguage) {
  const auto clusterer = Clusterer::Create("", policies::ClusterBy::kSignificant);
  EXPECT_THAT(
      clusterer
          ->Assign(ScriptReport("[python]", {"Condition.wait (threading.py)", "Event.wait (threading.py)",
                                             "JSONDecoder.decode (json/decoder.py)", "load (orders.py)",
                                             "import_orders (orders.py)", "Handle._run (asyncio/events.py)",
                                             "BaseEventLoop._run_once (asyncio/base_events.py)"}))[1]
          .frames,
      ElementsAre("load (orders.py)", "import_orders (orders.py)"));
  EXPECT_THAT(
      clusterer
          ->Assign(ScriptReport(
              "[java]", {"java.util.ArrayList.sort (ArrayList.java)", "shop.Cart.total (Cart.java)",
                         "shop.Cart.onClick (Cart.java)", "android.os.Handler.handleCallback (Handler.java)",
                         "android.app.ActivityThread.main (ActivityThread.java)"}))[1]
          .frames,
      ElementsAre("shop.Cart.total (Cart.java)", "shop.Cart.onClick (Cart.java)"));
}

TEST(Clusterer, BlamesTheFunctionsOfAProgramWithoutAFile) {
  const auto clusterer = Clusterer::Create("", policies::ClusterBy::kSignificant);
  EXPECT_THAT(clusterer
                  ->Assign(ScriptReport("[python]", {"<lambda> (<string>)", "Order.__init__ (<string>)",
                                                     "compute (<string>)", "<module> (<string>)"}))[1]
                  .frames,
              ElementsAre("compute (<string>)", "<module> (<string>)"));
}

// A library's function that a script calls is the call's business; a program's own is a cause.
TEST(Clusterer, BlamesTheScriptThatCallsALibrary) {
  const auto clusterer = Clusterer::Create("", policies::ClusterBy::kSignificant);
  report::Report report = ScriptReport("[python]", {"save (orders.py)", "<module> (app.py)"});
  report.modules.push_back({"/usr/lib/libsqlite3.so.0", "", 0});
  report.symbols.push_back({1, 0x500, "RunQuery"});
  report.stacks[0].frames.insert(report.stacks[0].frames.begin(), {1, 0x510, 0x500});
  EXPECT_THAT(clusterer->Assign(report)[0].frames, ElementsAre("save (orders.py)", "<module> (app.py)"));
  report.modules[1].path = "/usr/games/platformer";
  EXPECT_THAT(clusterer->Assign(report)[0].frames, ElementsAre("RunQuery", "save (orders.py)"));
  report.modules[1].path = "/usr/bin/node";
  EXPECT_THAT(clusterer->Assign(report)[0].frames, ElementsAre("save (orders.py)", "<module> (app.py)"));
}

// A report of native frames, innermost first: each a file's path and a function.
report::Report NativeReport(const std::vector<std::pair<std::string, std::string>>& frames) {
  report::Report report;
  report.stacks = {{}};
  report.samples = {{.stack = 0}};
  for (const auto& [path, function] : frames) {
    const auto module = static_cast<uint32_t>(report.modules.size());
    report.modules.push_back({path, "", 0});
    report.symbols.push_back({module, 0x500, function});
    report.stacks[0].frames.push_back({module, 0x507, 0x500});
  }
  return report;
}

std::vector<std::string> CauseOf(const report::Report& report) {
  return Clusterer::Create("")->Assign(report)[0].frames;
}

TEST(Clusterer, BlamesTheProgramForWhatItsLibrariesDo) {
  const std::string zlib = "/usr/lib/x86_64-linux-gnu/libz.so.1";
  const std::pair<std::string, std::string> pack = {"/usr/bin/packer", "Pack"};
  const std::pair<std::string, std::string> on_save = {"/usr/bin/packer", "OnSave"};
  const std::pair<std::string, std::string> main = {"/usr/bin/packer", "main"};
  EXPECT_THAT(CauseOf(NativeReport({{zlib, "deflate"}, {zlib, "compress2"}, pack, on_save, main})),
              ElementsAre("Pack", "OnSave"));
  EXPECT_THAT(CauseOf(NativeReport({{"/srv/app/libz.so.1", "deflate"}, pack, on_save, main})),
              ElementsAre("Pack", "OnSave"))
      << "brought along";
  EXPECT_THAT(
      CauseOf(NativeReport(
          {{"/usr/bin/packer", "longest_match"}, {"/usr/bin/packer", "deflate_slow"}, pack, on_save, main})),
      ElementsAre("Pack", "OnSave"))
      << "linked in";
  EXPECT_THAT(CauseOf(NativeReport({{zlib, "deflate"}, {zlib, "compress2"}, main})),
              ElementsAre("deflate", "compress2"))
      << "nothing of its own";
  EXPECT_THAT(CauseOf(NativeReport({{"/srv/app/libshapes.so", "Fill"}, pack, main})),
              ElementsAre("Fill", "Pack"));
}

TEST(Clusterer, KnowsTheLibrariesThatAreThePrograms) {
  const std::pair<std::string, std::string> own = {"/usr/bin/mailer", "OnClick"};
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/mailer/libfolders.so", "/usr/lib/libmailer-core.so.2"})
    EXPECT_THAT(CauseOf(NativeReport({{path, "Scan"}, own})), ElementsAre("Scan", "OnClick")) << path;
  EXPECT_THAT(CauseOf(NativeReport({{"/usr/lib/mailer/libz.so.1", "deflate"}, own})), ElementsAre("OnClick"));
}

// `log.` and `image.` are packages of Go's library, and files, modules or classes elsewhere.
TEST(Clusterer, KnowsGosLibraryInProgramsOfGoOnly) {
  const std::string path = "/opt/app/server";
  const std::pair<std::string, std::string> work = {path, "image.Decode"};
  const std::pair<std::string, std::string> handler = {path, "main.serve"};
  EXPECT_THAT(CauseOf(NativeReport({work, handler, {path, "runtime.goexit.abi0"}})),
              ElementsAre("main.serve"));
  EXPECT_THAT(CauseOf(NativeReport({work, handler, {path, "main"}})),
              ElementsAre("image.Decode", "main.serve"));
}

TEST(Clusterer, KnowsGosLibraryInFramesOfGo) {
  EXPECT_THAT(CauseOf(ScriptReport("[go]", {"runtime.gopark (proc.go)", "sync.(*Mutex).Lock (mutex.go)",
                                            "main.reserve (stock.go)", "main.handle (orders.go)",
                                            "net/http.(*conn).serve (server.go)"})),
              ElementsAre("main.reserve (stock.go)", "main.handle (orders.go)"));
}

// Namespaces that Rust's crates have the names of.
TEST(Clusterer, BlamesAProgramsOwnCore) {
  const std::string path = "/opt/app/game";
  EXPECT_THAT(CauseOf(NativeReport({{path, "core::ops::function::FnOnce::call_once"},
                                    {path, "core::Engine::Update"},
                                    {path, "alloc::Arena::Grow"}})),
              ElementsAre("core::Engine::Update", "alloc::Arena::Grow"));
}

// Lists have names of packages of scripts, and of other systems' frameworks.
TEST(Clusterer, BlamesAProgramThatIsNamedAsAListedFile) {
  for (const char* path :
       {"/opt/app/native", "/opt/app/pg-mirror", "/opt/app/Security", "/opt/app/libicu-check"})
    EXPECT_THAT(CauseOf(NativeReport({{path, "Pack"}, {path, "OnSave"}, {path, "main"}})),
                ElementsAre("Pack", "OnSave"))
        << path;
}

TEST(Clusterer, LeavesOutTheStandardLibraryOfALanguageByItsFolder) {
  EXPECT_THAT(CauseOf(ScriptReport("[python]", {"Popen._launch (multiprocessing/popen_spawn_posix.py)",
                                                "BaseProcess.join (multiprocessing/process.py)",
                                                "stop (workers.py)", "on_click (app.py)"})),
              ElementsAre("stop (workers.py)", "on_click (app.py)"));
  EXPECT_THAT(
      CauseOf(ScriptReport("[python]", {"BaseProcess.join (multiprocessing/process.py)",
                                        "Runner.close (unittest/runner.py)"})),
      ElementsAre("BaseProcess.join (multiprocessing/process.py)", "Runner.close (unittest/runner.py)"));
}

TEST(Clusterer, ThreadsThatAreStoppedBySignalsHaveOneCause) {
  const auto stopped_in = [](const char* function) {
    return CauseOf(NativeReport({{"/usr/lib/libc.so.6", "sigsuspend"},
                                 {"/usr/lib/libgc.so.1", "GC_suspend_handler"},
                                 {"/usr/lib/libc.so.6", "<signal handler called>"},
                                 {"/usr/bin/editor", function},
                                 {"/usr/bin/editor", "main"}}));
  };
  EXPECT_THAT(stopped_in("Insert"), ElementsAre("GC_suspend_handler"));
  EXPECT_THAT(stopped_in("Layout"), ElementsAre("GC_suspend_handler"));
}

// A stack that is cut within a library does not hide that its other samples lead to the program.
TEST(Clusterer, TakesTheSamplesWhereTheExpensiveStackIsCutWithinALibrary) {
  const std::string zlib = "/usr/lib/libz.so.1";
  report::Report report =
      NativeReport({{zlib, "deflate"}, {"/usr/bin/packer", "Pack"}, {"/usr/bin/packer", "main"}});
  report.stacks.push_back({.frames = {report.stacks[0].frames[0]}});
  report.expensive_stack = 1;
  report.samples = {{.stack = 1}, {.stack = 1}, {.stack = 0}};
  EXPECT_THAT(CauseOf(report), ElementsAre("Pack"));
}

SampleReport WaitingFor(const Frames& owner_stack) {
  SampleReport sample{.stack = {"pthread_mutex_lock", "Lookup", "OnFind", "main"}};
  SampleWait wait{.fields = {}, .stack = sample.stack, .owner_stack = owner_stack};
  wait.fields.tid = 4712;
  wait.fields.lock.kind = report::LockKind::kMutex;
  wait.fields.lock.waits_for = report::WaitsFor::kOwner;
  wait.fields.lock.owner_tid = 4713;
  sample.waits = {wait};
  return sample;
}

TEST(Clusterer, FindsTheHandlerBetweenNodeAndItsFrameworks) {
  const auto clusterer = Clusterer::Create("", policies::ClusterBy::kSignificant);
  report::Report report = ScriptReport(
      "[javascript]",
      {"openSync (node:fs)", "readFileSync (node:fs)", "readConfig (config.js)", "handle (server.js)",
       "Layer.handle (express/lib/router/layer.js)", "forEach (native)", "emit (node:events)",
       "processTicksAndRejections (node:internal/process/task_queues)", "run (server.js)"});
  // The run time's own functions inside of the script's call.
  report.modules.push_back({"/usr/bin/node", "", 0});
  report.symbols.push_back({1, 0x500, "uv_fs_open"});
  report.stacks[0].frames.insert(report.stacks[0].frames.begin(), {1, 0x507, 0x500});
  EXPECT_THAT(clusterer->Assign(report)[1].frames,
              ElementsAre("readConfig (config.js)", "handle (server.js)"));
}

TEST(Clusterer, TellsLocksApartByWhoHoldsThem) {
  const Cluster rebuild = Assign(WaitingFor({"memcpy", "Rebuild", "RunIndexer", "start_thread"}))[0];
  const Cluster merge = Assign(WaitingFor({"fsync", "Merge", "RunIndexer", "start_thread"}))[0];
  EXPECT_THAT(rebuild.held_by, ElementsAre("Rebuild"));
  EXPECT_THAT(merge.held_by, ElementsAre("Merge"));
  EXPECT_EQ(rebuild.frames, merge.frames);
  EXPECT_NE(rebuild.key, merge.key);
}

TEST(Clusterer, TellsServicesApartByWhatTheirProcessesAreAt) {
  const auto waiting_for_service = [](const Frames& owner_stack) {
    SampleReport sample = WaitingFor(owner_stack);
    sample.waits[0].fields.lock.kind = report::LockKind::kBusCall;
    sample.waits[0].fields.owner_pid = 4720;
    sample.waits[0].fields.owner_process = "indexer";
    return sample;
  };
  const Cluster search = Assign(waiting_for_service({"memcpy", "Search", "OnCall", "main"}))[0];
  const Cluster backup = Assign(waiting_for_service({"fsync", "Backup", "OnCall", "main"}))[0];
  EXPECT_THAT(search.held_by, ElementsAre("Search"));
  EXPECT_NE(search.key, backup.key);
}

// The first thread waits for the second, which waits for the third: that one is to blame.
TEST(Clusterer, BlamesTheEndOfAConvoyAndInADeadlockTheFirstHolder) {
  SampleReport convoy = WaitingFor({"pthread_mutex_lock", "Refill", "start_thread"});
  SampleWait second = convoy.waits.front();
  second.fields.tid = 4713;
  second.fields.lock.owner_tid = 4714;
  second.owner_stack = {"Backup", "start_thread"};
  convoy.waits.push_back(second);
  EXPECT_THAT(Assign(convoy)[0].held_by, ElementsAre("Backup"));
  convoy.wait_outcome = report::WaitOutcome::kDeadlock;
  EXPECT_THAT(Assign(convoy)[0].held_by, ElementsAre("Refill"));
}

TEST(Clusterer, CountsALibrarysNamelessFunctionsAsTheNamedOneThatCalledThem) {
  SampleReport sample{.module_path = "/usr/lib/libshape.so.1",
                      .stack = {"@0x77", "@0x99", "shape_line", "@0x55"}};
  EXPECT_THAT(Assign(sample)[0].frames, ElementsAre("shape_line", "libshape.so"));
}

TEST(Clusterer, NamesAProgramWithoutSymbolsByItsPlaces) {
  const Cluster cluster = Assign({"@0x77", "@0x99", "run_app", "main"})[0];
  EXPECT_THAT(cluster.frames, ElementsAre("editor+0x77", "editor+0x99"));
  EXPECT_EQ(cluster.via, "run_app");
}

TEST(Clusterer, CodeMadeAtRunTimeIsTheSameAtAnyAddress) {
  const SampleReport run{.module_path = "[jit]", .stack = {"@0x7f0000001000", "OnTimer", "main"}};
  const SampleReport other{.module_path = "[jit]", .stack = {"@0x7e0000002000", "OnTimer", "main"}};
  EXPECT_THAT(Assign(run)[0].frames, ElementsAre("[jit]", "OnTimer"));
  EXPECT_EQ(Assign(run)[0].key, Assign(other)[0].key);
  EXPECT_EQ(Assign(run)[1].key, Assign(other)[1].key);
}

TEST(Clusterer, ClustersByTheRawFramesWhenAskedTo) {
  const SampleReport sample{.stack = {"futex_wait", "memcpy", "std::sort<int*>", "Rank", "main"}};
  const ClusterPath path = Assign(sample, policies::ClusterBy::kRaw);
  EXPECT_THAT(path[0].frames, ElementsAre("memcpy", "std::sort<int*>"));
  EXPECT_THAT(path[0].held_by, IsEmpty());
}

class InliningNamer final : public FrameNamer {
 public:
  std::vector<NamedFrame> NamesOf(const report::Frame&) const override {
    return {{.function = "Inner"}, {.function = "Outer"}};
  }
};

TEST(Clusterer, TakesInlinedCallsForFrames) {
  const report::Report report = report::DecodeReport(SampleReport{.stack = {"Outer"}}.Encode()).value();
  EXPECT_THAT(Clusterer::Create("")->Assign(report, InliningNamer())[0].frames,
              ElementsAre("Inner", "Outer"));
}

// A hostile report may have them: each has its own names.
TEST(NamedStacks, TwoFunctionsAtOnePlaceAreTwo) {
  report::Report report = report::DecodeReport(SampleReport().Encode()).value();
  const report::Frame frame = report.stacks[0].frames[0];
  report::Frame own = frame;
  own.function_offset = frame.function_offset + 1;
  report.symbols.push_back(
      {.module = frame.module, .function_offset = own.function_offset, .name = "_ZNK8lagwatch5trace4HookEv"});
  const Clusterer clusterer = Clusterer::Create("").value();
  const SymbolNamer namer(report, nullptr);
  const NamedStacks names(report, namer, clusterer.rules());
  EXPECT_EQ(names.DescribeFrame(own).size(), 0u) << "lagwatch's own";
  EXPECT_EQ(names.DescribeFrame(frame).size(), 1u);
}

}  // namespace
}  // namespace lagwatch::collector

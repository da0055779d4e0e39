// SPDX-License-Identifier: Apache-2.0
// Questions that cannot be asked: each is refused with what helps, and leaves the program's code as it was.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>

#include "base/owned_fd.h"
#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::ContainsRegex;

// The bytes of all code of a process, by the lines that its map has for them.
std::map<std::string, std::string> CodeOf(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const base::OwnedFd memory(open((folder + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  std::map<std::string, std::string> code;
  std::ifstream maps(folder + "/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (line.find(" r-xp ") == std::string::npos || line.find(" /") == std::string::npos ||
        std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2)
      continue;
    std::string bytes(end - begin, '\0');
    EXPECT_EQ(pread(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(begin)),
              static_cast<ssize_t>(bytes.size()))
        << line;
    code[line] = std::move(bytes);
  }
  EXPECT_FALSE(code.empty()) << folder;
  return code;
}

bool IsInState(pid_t pid, const std::string& state) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  const std::string text(std::istreambuf_iterator<char>(status), {});
  return text.find("State:\t" + state) != std::string::npos;
}

class RefusedProbes : public ProbeTest {
 protected:
  // The command's arguments behind the process, and what its message has.
  struct Refused {
    std::vector<std::string> arguments;
    const char* reason;
  };
  // Asks all at once.
  static void ExpectRefused(pid_t pid, const std::vector<Refused>& rows) {
    const auto before = CodeOf(pid);
    std::vector<std::unique_ptr<Process>> consoles;
    for (const Refused& row : rows) {
      std::vector<std::string> arguments = row.arguments;
      arguments.insert(arguments.begin(), std::to_string(pid));
      consoles.push_back(Start(arguments));
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(consoles[i]->Wait(), 2) << rows[i].arguments[0];
      EXPECT_THAT(consoles[i]->Errors(), ContainsRegex("^lagwatch: probe: [^\n]+\n$"));
      EXPECT_THAT(consoles[i]->Errors(), HasSubstr(rows[i].reason));
      EXPECT_EQ(consoles[i]->Output(), "");
    }
    EXPECT_TRUE(CodeOf(pid) == before);  // too long to be shown
  }
};

TEST_F(RefusedProbes, SayWhichFunctionWasPerhapsMeant) {
  ExpectRefused(program_->pid(), {{{"add_nubers { count }"},
                                   "1:1: the program and its libraries have no function 'add_nubers'; "
                                   "did you mean 'add_numbers'?"},
                                  {{"timer 1s { print(1) } handle_reqest @return { count }"}, "1:23: "},
                                  {{"nosuch!foo { count }"}, "has not loaded a file named 'nosuch'"},
                                  {{"lbc!malloc { count }"}, "did you mean 'libc'?"},
                                  {{"modf { count }"}, "say which: libc.so.6!modf, libm.so.6!modf"},
                                  {{"PrintCode { count }"}, "the compiler has put it into main; probe these"},
                                  {{"* { count }"}, "functions; a script may be at"},
                                  {{"java java.util.HashMap::put { count }"}, "is no JVM"}});
}

TEST_F(RefusedProbes, SayWhichTypesAreWrong) {
  ExpectRefused(program_->pid(),
                {{{"add_numbers { print(c) }"}, "1:21: unknown value \"c\": did you mean a or b?"},
                 {{"add_numbers { print(a->x) }"}, "1:21: \"a\" is no pointer"},
                 {{"add_numbers { print(str(a)) }"}, "1:25: \"a\" is of type int"},
                 {{"handle_request { sum(tag) }"}, "1:22: \"tag\" is no number"},
                 {{"handle_request if tag > 3 { count }"}, "a text is compared with a text"},
                 {{"handle_request if tag == 3 { count }"}, "a text is compared with a text"},
                 {{"handle_request { print(request->numbr) }"}, "did you mean number?"}});
}

TEST_F(ProbeTest, RefusesTheTypeOfAnExceptionWhereItIsNotKnown) {
  EXPECT_EQ(Ask({pid(), "shop::Refuse @error { count by type }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("Refuse: the type and the address of an exception are known at throw only"));
  EXPECT_THAT(errors_, HasSubstr("nothing was armed"));
}

TEST_F(RefusedProbes, SayWhereAScriptIsWrong) {
  ExpectRefused(program_->pid(),
                {{{"add_numbers { print(a }"}, "1:23: expected"},
                 {{"add_numbers {\n  count"}, "2:8: expected ; or } after the action, found the end"},
                 {{"add_numbers { cuont }"}, "1:15: unknown action \"cuont\": did you mean count?"},
                 {{"add_numbers { while (a) { count } }"}, "1:15: unknown action \"while\": there are"},
                 {{"add_numbers @retrun { count }"}, "did you mean return?"},
                 {{"add_numbers count }"}, "is no script"},
                 {{"slow-cals", "add_numbers"}, "did you mean 'slow-calls'?"},
                 {{"slow-calls"}, "lagwatch probe PID slow-calls FUNCTION [LIMIT=1ms]"},
                 {{"nosuch.lwp"}, "cannot read nosuch.lwp"}});
}

// Debian's build of Python has none.
TEST_F(RefusedProbes, AskForTheParametersWithoutDebugInformation) {
  Process python({"/usr/bin/python3", "-c", "print('ready', flush=True); input()"});
  ASSERT_TRUE(WaitUntil([&] { return python.Output() == "ready\n"; }));
  ExpectRefused(python.pid(),
                {{{"PyObject_Repr { print(operand) }"},
                  "the parameters are unknown: declare them, as in PyObject_Repr(const char* operand)"}});
}

TEST_F(RefusedProbes, SayThatAProcessIsNotThere) {
  EXPECT_EQ(Ask({"no-such-program", "f { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("no process is 'no-such-program'"));
  EXPECT_EQ(Ask({"999999999", "f { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("no such process: 999999999"));
  Process ended({"/bin/true"});
  ASSERT_TRUE(WaitUntil([&] { return IsInState(ended.pid(), "Z"); }));
  EXPECT_EQ(Ask({std::to_string(ended.pid()), "main { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("has ended, and its parent has not noticed yet"));
  EXPECT_TRUE(IsInState(ended.pid(), "Z"));
  EXPECT_EQ(ended.Wait(), 0);
}

TEST_F(RefusedProbes, SayThatAProcessIsAnotherUsers) {
  const char* reason = "belongs to another user: run lagwatch as that user or as root";
  if (geteuid() != 0) {
    EXPECT_EQ(Ask({"1", "main { count }"}), 2);
    EXPECT_THAT(errors_, HasSubstr(reason));
    return;
  }
  std::vector<std::string> as_other{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  std::vector<std::string> test = as_other;
  test.insert(test.end(), {"/usr/bin/test", "-x", LAGWATCH_PROGRAM});
  if (Process(test).Wait() != 0) GTEST_SKIP() << "others may not run " << LAGWATCH_PROGRAM;
  const auto before = CodeOf(program_->pid());
  for (const std::string word : {"add_numbers { count }", "--armed", "--functions=add*"}) {
    std::vector<std::string> command = as_other;
    command.insert(command.end(), {LAGWATCH_PROGRAM, "probe", pid(), word});
    Process console(command);
    EXPECT_EQ(console.Wait(), 2) << word;
    EXPECT_THAT(console.Errors(), HasSubstr(reason));
  }
  EXPECT_TRUE(CodeOf(program_->pid()) == before);
}

TEST_F(RefusedProbes, SayThatAProgramIsConfined) {
  Do("confine");
  ExpectRefused(program_->pid(), {{{"add_numbers { count }"}, "is confined by seccomp"},
                                  {{"add_nubers { count }"}, "is confined by seccomp"}});
  Do("add 3");
}

TEST_F(RefusedProbes, SayThatAProgramIsStopped) {
  const char* reason = "is stopped: continue it first (kill -CONT ";
  program_->Signal(SIGSTOP);
  ASSERT_TRUE(WaitUntil([&] { return IsInState(program_->pid(), "T"); }));
  ExpectRefused(program_->pid(), {{{"add_numbers { count }"}, reason}, {{"--functions", "add*"}, reason}});
  program_->Signal(SIGCONT);
  // It serves consoles from now on.
  ASSERT_EQ(Ask({pid(), "add_numbers { count }", "--for", "50ms", "--leave"}), 0) << errors_;
  program_->Signal(SIGSTOP);
  ASSERT_TRUE(WaitUntil([&] { return IsInState(program_->pid(), "T"); }));
  ExpectRefused(program_->pid(), {{{"add_numbers { count }"}, reason}, {{"--armed"}, reason}});
  program_->Signal(SIGCONT);
  Do("add 3");
}

#ifdef LAGWATCH_THREAD_SANITIZED_PROGRAM
// Its runtime would end it.
TEST_F(RefusedProbes, OfferToRunAProgramWithThreadSanitizer) {
  Process program({LAGWATCH_THREAD_SANITIZED_PROGRAM});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  const char* reason = "has the runtime of ThreadSanitizer";
  ExpectRefused(program.pid(), {{{"main { count }"}, reason}});
  Process attach({LAGWATCH_PROGRAM, "attach", std::to_string(program.pid())});
  EXPECT_NE(attach.Wait(), 0);
  EXPECT_THAT(attach.Errors(), HasSubstr(reason));
  program.WriteInput("exit 4\n");
  EXPECT_EQ(program.Wait(), 4);
}

TEST_F(RefusedProbes, SayThatAProgramWithThreadSanitizerHasNone) {
  Process program({LAGWATCH_PROGRAM, "run", "--spool", "/nonexistent", "--quiet", "--probe",
                   "add_numbers { count }", "--", LAGWATCH_THREAD_SANITIZED_PROGRAM});
  EXPECT_TRUE(WaitUntil([&] {
    return program.Errors().find("runtime of ThreadSanitizer") != std::string::npos;
  })) << program.Errors();
  program.WriteInput("exit 3\n");
  EXPECT_EQ(program.Wait(), 3);
}
#endif

// Before anything is armed.
TEST_F(RefusedProbes, SayThatResultsCannotBeSent) {
  ExpectRefused(program_->pid(), {{{"add_numbers { count }", "--statsd", "nowhere"}, "give HOST:PORT"},
                                  {{"add_numbers { count }", "--prometheus", "/dev/null/file"},
                                   "cannot write /dev/null/file"}});
  EXPECT_EQ(Ask({pid(), "--armed"}), 2);
}

TEST_F(RefusedProbes, OfferToWatchAStaticProgram) {
  Process program({LAGWATCH_STATIC_PROGRAM, "60"});
  ASSERT_TRUE(WaitUntil([&] { return IsInState(program.pid(), "S"); }));
  ExpectRefused(program.pid(),
                {{{"main { count }"}, "lagwatch watch"}, {{"mian { count }"}, "lagwatch watch"}});
  program.Signal(SIGKILL);
  EXPECT_EQ(program.Wait(), -SIGKILL);
}

// The library is loaded for a script that is right only.
TEST_F(RefusedProbes, LoadNothing) {
  EXPECT_EQ(Ask({pid(), "add_numbers { print(c) }"}), 2);
  for (const auto& [line, bytes] : CodeOf(program_->pid()))
    EXPECT_EQ(line.find("liblagwatch"), std::string::npos) << line;
}

TEST_F(ProbeTest, ListsFunctionsWithTheWayOrTheReason) {
  ASSERT_EQ(Ask({pid(), "--functions", "probed_program!*"}), 0) << errors_;
  EXPECT_THAT(output_, ContainsRegex("probed_program!add_numbers +[a-z]"));
  EXPECT_THAT(output_, ContainsRegex("probed_program!_init +no: "));
}

}  // namespace
}  // namespace lagwatch::tools

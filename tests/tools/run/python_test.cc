// SPDX-License-Identifier: Apache-2.0
// Python programs under `lagwatch run`: the reported frames against those that Python itself sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/stack/interpreters/pythons.h"
#include "tests/tools/run/script_testing.h"

namespace lagwatch::tools {
namespace {

class PythonTest : public ScriptTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PythonTest, ReportsNameTheLinesThatPythonItselfSees) {
  for (const std::string& python : testing::Pythons()) {
    SCOPED_TRACE(python);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(python)));
    ExpectTheStackThatItPrints({python, LAGWATCH_PYTHON_PROGRAM, GetParam()}, "[python]");
    for (const json& header : Ask({"reports"}))
      EXPECT_EQ(Ask({"report", header.at("id")}).at("expensive_stack").dump().find("_PyEval"),
                std::string::npos);
  }
}

// The thread that waits for the interpreter's lock is not to blame, but the line that keeps it.
class PythonLockTest : public ScriptTest {};

TEST_F(PythonLockTest, NamesWhoHoldsTheInterpretersLock) {
  for (const std::string& python : testing::Pythons()) {
    SCOPED_TRACE(python);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(python)));
    Process program(Watched({python, LAGWATCH_PYTHON_PROGRAM, "held"}));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
    std::vector<Frames> owners;
    for (const json& header : Ask({"reports"})) {
      const json report = Ask({"report", header.at("id")});
      for (const json& wait : report.value("waits", json::array())) {
        if (wait.at("kind") == "interpreter-lock")
          owners.push_back(ScriptFramesOf(wait.at("owner").at("stack"), "[python]"));
      }
    }
    EXPECT_TRUE(std::ranges::any_of(owners, [](const Frames& frames) {
      return !frames.empty() && frames[0].find("hold (") != std::string::npos;
    })) << json(owners).dump();
  }
}

// The other side of a wait is a Python program, too.
TEST_F(PythonLockTest, NamesTheLineOfThePeer) {
  const std::string child =
      "import sys, time\n"
      "def answer_late():\n"
      "  time.sleep(1.2)\n"
      "print('ready', flush=True)\n"
      "sys.stdin.read()\n"
      "answer_late()\n";
  const std::string parent =
      "import os, select, subprocess, sys, threading, time\n"
      "loop = select.epoll()\n"
      "pipe, other = os.pipe(), os.pipe()\n"
      "for end in pipe[0], other[0]: loop.register(end, select.EPOLLIN)\n"
      "ends = subprocess.PIPE\n"
      "child = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdin=ends, stdout=ends)\n"
      "child.stdout.readline()\n"
      "def drive():\n"
      "  for byte in b'............x.q':\n"
      "    time.sleep(0.02)\n"
      "    os.write(pipe[1], bytes([byte]))\n"
      "def ask():\n"
      "  child.stdin.close()\n"
      "  child.wait()\n"
      "threading.Thread(target=drive, daemon=True).start()\n"
      "byte = b''\n"
      "while byte != b'q':\n"
      "  loop.poll()\n"
      "  byte = os.read(pipe[0], 1)\n"
      "  if byte == b'x': ask()\n";
  for (const std::string& python : testing::Pythons()) {
    SCOPED_TRACE(python);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(python)));
    Process program(Watched({python, "-c", parent, child}));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
    std::vector<Frames> found;
    for (const json& header : Ask({"reports"})) {
      for (const json& wait : Ask({"report", header.at("id")}).value("waits", json::array()))
        found.push_back(ScriptFramesOf(wait.at("owner").at("stack"), "[python]"));
    }
    const Frames expected = {"answer_late (<string>):3", "<module> (<string>):6"};
    EXPECT_NE(std::ranges::find(found, expected), found.end()) << json(found).dump();
  }
}

// A copy of Debian's Python that says it is another version: the native frames stay, and the report says why.
TEST_F(PythonLockTest, RefusesAVersionThatItDoesNotKnow) {
  const std::string copy = directory_ / "python3";
  const std::string patch =
      "import ctypes, shutil, sys\n"
      "at = ctypes.addressof(ctypes.c_uint32.in_dll(ctypes.pythonapi, 'Py_Version'))\n"
      "for line in open('/proc/self/maps'):\n"
      "  begin, end = (int(part, 16) for part in line.split()[0].split('-'))\n"
      "  if begin <= at < end: offset = at - begin + int(line.split()[2], 16)\n"
      "shutil.copy(sys.executable, sys.argv[1])\n"
      "with open(sys.argv[1], 'r+b') as file:\n"
      "  file.seek(offset)\n"
      "  file.write((0x030e00f0).to_bytes(4, 'little'))\n";
  Process patcher({"/usr/bin/python3", "-c", patch, copy});
  ASSERT_EQ(patcher.Wait(), 0) << patcher.Errors();
  ASSERT_EQ(setenv("PYTHONHOME", "/usr", 1), 0);
  Process program(Watched({copy, LAGWATCH_PYTHON_PROGRAM, "sleep"}));
  unsetenv("PYTHONHOME");
  ASSERT_EQ(program.Wait(), 0) << program.Errors();
  const json headers = Ask({"reports"});
  ASSERT_FALSE(headers.empty());
  for (const json& header : headers) {
    const json report = Ask({"report", header.at("id")});
    EXPECT_EQ(report.at("facts").value("unreadable_frames", ""), "python 3.14");
    EXPECT_TRUE(ScriptFramesOf(report.at("expensive_stack"), "[python]").empty());
  }
}

class AsyncioTest : public ScriptTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // The parts of the lines that begin with `word`, joined by commas.
  static std::string Joined(const std::string& output, const std::string& word) {
    std::string joined;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(word + " ")) joined += (joined.empty() ? "" : ", ") + line.substr(word.size() + 1);
    }
    return joined;
  }
};

// As asyncio itself names them: a freeze in a callback has no task, also not that of another moment.
TEST_P(AsyncioTest, ReportsNameTheTaskAndThoseThatWaitForIt) {
  for (const std::string& python : testing::Pythons()) {
    SCOPED_TRACE(python);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(python)));
    Process program(Watched({python, LAGWATCH_ASYNCIO_PROGRAM, GetParam()}));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
    std::vector<std::pair<std::string, std::string>> found;
    for (const json& header : Ask({"reports"})) {
      const json facts = Ask({"report", header.at("id")}).at("facts");
      found.emplace_back(facts.value("task", ""), facts.value("task_awaited_by", ""));
    }
    const std::pair<std::string, std::string> expected = {Joined(program.Output(), "task"),
                                                          Joined(program.Output(), "awaiter")};
    EXPECT_NE(std::ranges::find(found, expected), found.end())
        << "expected " << json(expected).dump() << "\nfound " << json(found).dump();
  }
}

INSTANTIATE_TEST_SUITE_P(Freezes, AsyncioTest, ::testing::Values("named", "awaited", "callback"),
                         [](const auto& given) { return std::string(given.param); });

INSTANTIATE_TEST_SUITE_P(Freezes, PythonTest,
                         ::testing::Values("sleep", "spin", "sort", "regex", "generator", "lock", "gil",
                                           "child", "comprehension", "größe"),
                         [](const auto& given) {
                           const std::string name = given.param;
                           return name == "größe" ? std::string("foreign_name") : name;
                         });

}  // namespace
}  // namespace lagwatch::tools

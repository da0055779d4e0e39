// SPDX-License-Identifier: Apache-2.0
// Functions and types of a program without symbols, from its separate debug file.
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "stack/elf/elf_file.h"
#include "tests/testing/temp_directory.h"
#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

class StrippedProgram : public ProbeTest {
 protected:
  // The program without symbols, and its debug file, whose name it has.
  void SetUp() override {
    ASSERT_EQ(Objcopy({"--only-keep-debug", LAGWATCH_PROBED_PROGRAM, debug_file_}), 0);
    ASSERT_EQ(Objcopy({"--strip-all", "--add-gnu-debuglink=" + debug_file_, LAGWATCH_PROBED_PROGRAM, file_}),
              0);
    const std::string id = stack::ElfFile::Open(file_)->BuildId();
    ASSERT_FALSE(id.empty());
    constexpr char kDigits[] = "0123456789abcdef";
    for (const char c : id) {
      const auto byte = static_cast<unsigned char>(c);
      id_ += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  static int Objcopy(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), LAGWATCH_OBJCOPY);
    return Process(arguments).Wait();
  }
  void StartProgram() {
    program_ = std::make_unique<Process>(std::vector<std::string>{file_});
    ASSERT_TRUE(WaitUntil([&] { return program_->Output() == "ready\n"; }));
  }

  const testing::ScopedTempDirectory directory_;
  const std::string debug_file_ = directory_ / "probed_program.debug";
  const std::string file_ = directory_ / "probed_program";
  std::string id_;
};

constexpr char kScript[] = "handle_request { print(request->uri->length, tag) }";

TEST_F(StrippedProgram, HasTheTypesOfTheFileThatItNames) {
  StartProgram();
  EXPECT_EQ(Records(Probe(kScript, "request 2")), (std::vector<std::string>{"5 even", "5 odd"}));
}

TEST_F(StrippedProgram, HasNoneIfItsFileIsAnothers) {
  fs::copy_file(LAGWATCH_STATIC_PROGRAM, debug_file_, fs::copy_options::overwrite_existing);
  StartProgram();
  EXPECT_EQ(Ask({pid(), kScript}), 2);
  EXPECT_THAT(errors_, HasSubstr("request"));
}

TEST_F(StrippedProgram, HasTheTypesOfAServersFile) {
  const std::string served = directory_ / "served/buildid/" + id_;
  fs::create_directories(served);
  fs::rename(debug_file_, served + "/debuginfo");
  Process server({"/usr/bin/python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory",
                  directory_ / "served"});
  const std::string kBefore = " port ";
  ASSERT_TRUE(WaitUntil([&] { return server.Output().find(kBefore) != std::string::npos; }));
  const std::string said = server.Output();
  const size_t at = said.find(kBefore) + kBefore.size();
  const std::string port = said.substr(at, said.find(' ', at) - at);
  setenv("DEBUGINFOD_URLS", ("http://127.0.0.1:" + port).c_str(), 1);
  setenv("XDG_CACHE_HOME", (directory_ / "cache").c_str(), 1);
  StartProgram();
  EXPECT_EQ(Ask({pid(), kScript}), 2) << "no server is asked unless the user says so";
  EXPECT_EQ(server.Errors().find(id_), std::string::npos) << server.Errors();
  EXPECT_EQ(Records(Probe(kScript, "request 2", {"--debuginfod"})),
            (std::vector<std::string>{"5 even", "5 odd"}))
      << errors_ << server.Errors();
  // The server has learned of the program, and of nothing else.
  EXPECT_EQ(Count(server.Errors(), "GET "), Count(server.Errors(), id_)) << server.Errors();
  unsetenv("DEBUGINFOD_URLS");
  EXPECT_EQ(Ask({pid(), kScript, "--debuginfod"}), 2);
  EXPECT_THAT(errors_, HasSubstr("DEBUGINFOD_URLS"));
  unsetenv("XDG_CACHE_HOME");
  server.Signal(SIGKILL);
  EXPECT_EQ(server.Wait(), -SIGKILL);
}

}  // namespace
}  // namespace lagwatch::tools

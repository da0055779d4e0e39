// SPDX-License-Identifier: Apache-2.0
// The program itself: how it starts, what it says, how it ends.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A running lagwatch-collector; killed at the end when it still runs.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    std::array<int, 2> out, err;
    EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(err.data(), O_CLOEXEC), 0);
    std::vector<char*> argv = {const_cast<char*>(LAGWATCH_COLLECTOR_PROGRAM)};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(out[1]);
    close(err[1]);
    out_ = fdopen(out[0], "r");
    err_ = fdopen(err[0], "r");
  }
  ~Program() {
    if (pid_ > 0) kill(pid_, SIGKILL), Wait();
    fclose(out_);
    fclose(err_);
  }

  std::string ReadLine() {
    std::string line;
    for (int byte; (byte = fgetc(out_)) != EOF && byte != '\n';) line += static_cast<char>(byte);
    return line;
  }
  void Signal(int number) { kill(pid_, number); }
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  // All of stderr; call it after Wait().
  std::string Errors() {
    std::string errors;
    for (int byte; (byte = fgetc(err_)) != EOF;) errors += static_cast<char>(byte);
    return errors;
  }

 private:
  pid_t pid_;
  FILE* out_;
  FILE* err_;
};

class CollectorProgram : public ::testing::Test {
 protected:
  CollectorProgram() { std::filesystem::remove_all(data_); }
  ~CollectorProgram() override { std::filesystem::remove_all(data_); }

  std::filesystem::path data_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("program.") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "." +
       std::to_string(getpid()));
};

mode_t ModeOf(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

std::string ContentOf(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

TEST_F(CollectorProgram, SaysWhereItListensMakesAKeyAndStopsOnSigterm) {
  Program program({"--listen", "127.0.0.1:0", "--data", data_});
  EXPECT_THAT(program.ReadLine(), StartsWith("lagwatch-collector listening on http://127.0.0.1:"));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);

  std::string key = ContentOf(data_ / "key");
  EXPECT_THAT(key, ::testing::MatchesRegex("k_[0-9a-f]{32}\n"));
  EXPECT_EQ(ModeOf(data_), 0700u);
  EXPECT_EQ(ModeOf(data_ / "key"), 0600u);
  EXPECT_EQ(ModeOf(data_ / "collector.db"), 0600u);
  std::string errors = program.Errors();
  EXPECT_THAT(errors, HasSubstr((data_ / "key").string()));
  EXPECT_THAT(errors, Not(HasSubstr(key.substr(0, key.size() - 1))));
}

TEST_F(CollectorProgram, KeepsItsKeyAndStopsOnSigint) {
  std::vector<std::string> keys;
  for (int start = 0; start < 2; ++start) {
    Program program({"--listen", "127.0.0.1:0", "--data", data_});
    program.ReadLine();
    program.Signal(SIGINT);
    EXPECT_EQ(program.Wait(), 0);
    keys.push_back(ContentOf(data_ / "key"));
  }
  EXPECT_EQ(keys[0], keys[1]);
}

TEST_F(CollectorProgram, MakesNoKeyWhenOneIsGiven) {
  Program program({"--listen", "127.0.0.1:0", "--data", data_, "--key", "k_mine"});
  program.ReadLine();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(data_ / "key"));
}

TEST_F(CollectorProgram, SaysThatThePortIsTaken) {
  Program first({"--listen", "127.0.0.1:0", "--data", data_});
  std::string line = first.ReadLine();
  std::string address = line.substr(line.find("127."));
  Program second({"--listen", address, "--data", data_});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.Errors(), HasSubstr("another program has this port"));
}

TEST_F(CollectorProgram, SaysThatItCannotHaveItsDirectory) {
  std::ofstream(data_) << "a file in the way";
  Program program({"--listen", "127.0.0.1:0", "--data", data_ / "inside"});
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_THAT(program.Errors(), HasSubstr("give another with --data"));
}

TEST_F(CollectorProgram, SaysWhichWaitFramesLineIsWrong) {
  std::filesystem::create_directories(data_);
  std::ofstream(data_ / "frames") << "fine\nnot*fine\n";
  Program program({"--listen", "127.0.0.1:0", "--data", data_, "--wait-frames", data_ / "frames"});
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_THAT(program.Errors(), HasSubstr("line 2"));
}

TEST(CollectorUsage, EndsWith2WhenItIsWrong) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--listen", "nonsense"}, {"--bogus"}, {"--threads", "0"}, {"--max-body-bytes", "many"}}) {
    EXPECT_EQ(Program(arguments).Wait(), 2) << arguments[0];
  }
  EXPECT_EQ(Program({"--help"}).Wait(), 0);
  Program version({"--version"});
  EXPECT_THAT(version.ReadLine(), StartsWith("lagwatch-collector "));
}

}  // namespace
}  // namespace lagwatch::collector

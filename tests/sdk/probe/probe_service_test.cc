// SPDX-License-Identifier: Apache-2.0
// The service of a probed process, with consoles that are well-behaved, gone, or hostile. The process is this
// one.
#include "sdk/probe/probe_service.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "base/clock.h"
#include "probe/compile/compiler.h"
#include "stack/elf/elf_file.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

extern "C" [[gnu::noinline]] int service_test_function(int number) {
  asm volatile("");
  return number + 1;
}

namespace lagwatch::sdk {
namespace {

using ::testing::HasSubstr;

std::string FirstBytes() {
  constexpr size_t kBytes = 8;
  return {reinterpret_cast<const char*>(&service_test_function), kBytes};
}

uint64_t OwnBias() {
  uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        *static_cast<uint64_t*>(to) = info->dlpi_addr;
        return 1;  // the program is the first
      },
      &bias);
  return bias;
}

ArmQuestion QuestionFor(const std::string& script, bool stays = false) {
  auto program = probe::CompileScript(script, nullptr);
  EXPECT_TRUE(program.ok()) << program.status().message();
  ProbeSiteAt site;
  site.build_id = stack::ElfFile::Open("/proc/self/exe")->BuildId();
  char path[4096] = {};
  EXPECT_GT(readlink("/proc/self/exe", path, sizeof path - 1), 0);
  site.module = path;
  site.offset = reinterpret_cast<uint64_t>(&service_test_function) - OwnBias();
  site.name = "service_test_function";
  return {.title = script, .stays = stays, .program = probe::Serialize(*program), .sites = {site}};
}

int ConnectTo(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, path.data(), path.size());
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
  return fd;
}

class TestConsole {
 public:
  explicit TestConsole(const std::string& path) : fd_(ConnectTo(path)) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  void Send(const std::string& bytes) {
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // The answer's kind and body; kind 0xFFFF: the connection has ended.
  std::pair<uint16_t, std::string> Receive() {
    ProbeMessageHeader header;
    if (recv(fd_.get(), &header, sizeof header, MSG_WAITALL) != sizeof header) return {0xFFFF, ""};
    std::string body(header.body_bytes, '\0');
    const auto size = static_cast<ssize_t>(body.size());
    EXPECT_EQ(size == 0 ? 0 : recv(fd_.get(), body.data(), body.size(), MSG_WAITALL), size);
    return {header.kind, body};
  }
  template <typename Question>
  std::pair<uint16_t, std::string> Ask(ProbeMessageKind kind, Question question) {
    Send(EncodeProbeMessage(kind, std::move(question)));
    return Receive();
  }
  uint32_t Arm(const std::string& script, bool stays = false) {
    const auto [kind, body] = Ask(ProbeMessageKind::kArm, QuestionFor(script, stays));
    EXPECT_EQ(kind, static_cast<uint16_t>(ProbeMessageKind::kArmed)) << body;
    const auto answer = DecodeProbeBody<ArmAnswer>(body);
    return answer ? answer->id : 0;
  }

 private:
  base::OwnedFd fd_;
};

class ProbeServiceTest : public ::testing::Test {
 protected:
  void SetUp() override { Serve({}); }
  // With these options, in place of the service that was there.
  void Serve(ProbeServiceOptions options) {
    static auto* const prober = new trace::FunctionProber;  // one per process
    if (service_ != nullptr) TearDown();
    options.directory = directory_ / "lagwatch";
    options.orphan_ns = 300'000'000;
    options.parting_ns = 100'000'000;
    service_ = new ProbeService(options, prober);
    ASSERT_TRUE(service_->Start().ok());
  }
  // It ends by itself once no console is there.
  void TearDown() override {
    EXPECT_TRUE(testing::WaitUntil([&] { return service_->TryJoin(); }));
    EXPECT_EQ(FirstBytes(), original_);
    delete std::exchange(service_, nullptr);
  }

  const std::string original_ = FirstBytes();
  testing::ScopedTempDirectory directory_;
  ProbeService* service_ = nullptr;
};

TEST_F(ProbeServiceTest, CountsHitsAndRestoresTheCode) {
  TestConsole console(service_->socket_path());
  const uint32_t id = console.Arm("service_test_function { count }");
  ASSERT_NE(id, 0U);
  EXPECT_NE(FirstBytes(), original_);
  for (int i = 0; i < 7; ++i) service_test_function(i);
  const auto [kind, body] =
      console.Ask(ProbeMessageKind::kRead, ReadQuestion{.id = id, .wants_snapshot = true});
  ASSERT_EQ(kind, static_cast<uint16_t>(ProbeMessageKind::kData));
  EXPECT_EQ(DecodeProbeBody<ReadAnswer>(body)->hits, 7U);
  const auto done = console.Ask(ProbeMessageKind::kDisarm, ProgramQuestion{id});
  ASSERT_EQ(done.first, static_cast<uint16_t>(ProbeMessageKind::kDone));
  EXPECT_EQ(DecodeProbeBody<NumberAnswer>(done.second)->number, 1U);  // bytes as in the file
  EXPECT_EQ(FirstBytes(), original_);
}

// Code that the loader knows nothing of: it calls the function, and is not noticed when that returns.
TEST_F(ProbeServiceTest, CountsTheReturnsThatItDoesNotSee) {
  // sub rsp, 8; mov rax, FUNCTION; call rax; add rsp, 8; ret
  unsigned char code[] = {0x48, 0x83, 0xec, 8,    0x48, 0xb8, 0,    0,    0, 0,   0,
                          0,    0,    0,    0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
  const auto function = reinterpret_cast<uint64_t>(&service_test_function);
  std::memcpy(code + 6, &function, sizeof function);
  constexpr size_t kPage = 4096;
  void* const page =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::memcpy(page, code, sizeof code);
  TestConsole console(service_->socket_path());
  const uint32_t id = console.Arm("service_test_function @return { count }");
  ASSERT_NE(id, 0U);
  const auto made_at_run_time = reinterpret_cast<int (*)(int)>(page);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(made_at_run_time(i), i + 1);
  service_test_function(1);
  const auto answer = DecodeProbeBody<ReadAnswer>(
      console.Ask(ProbeMessageKind::kRead, ReadQuestion{.id = id, .wants_snapshot = false}).second);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->hits, 1U);
  EXPECT_EQ(answer->returns_missed, 3U);
  munmap(page, kPage);
}

TEST_F(ProbeServiceTest, TakesProbesAwayOfAScriptThatHasTurnedItselfOff) {
  TestConsole console(service_->socket_path());
  const uint32_t id = console.Arm("budget 0.01%\nservice_test_function { count }", /*stays=*/true);
  EXPECT_NE(FirstBytes(), original_);
  EXPECT_TRUE(testing::WaitUntil([&] {
    for (int i = 0; i < 100'000; ++i) service_test_function(i);
    return FirstBytes() == original_;
  }));
  const auto [kind, body] =
      console.Ask(ProbeMessageKind::kRead, ReadQuestion{.id = id, .wants_snapshot = true});
  const auto data = DecodeProbeBody<ReadAnswer>(body);
  ASSERT_TRUE(data.has_value());
  EXPECT_TRUE(data->is_off);
  EXPECT_GT(data->hits, 0U);
  EXPECT_FALSE(data->snapshot.empty());
  console.Ask(ProbeMessageKind::kDisarm, ProgramQuestion{id});
}

uint64_t MappedPages() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages;
  return pages;
}

// Each has tables, and room for locks, of a third of a megabyte at least.
TEST_F(ProbeServiceTest, FreesWhatWasArmedOnceNoThreadCanBeThere) {
  constexpr uint64_t kFewPages = 1024;
  constexpr int kTimes = 40;
  TestConsole console(service_->socket_path());
  const auto arm_and_disarm = [&] {
    const uint32_t id = console.Arm("service_test_function { count by arg0 keys 10000 }");
    service_test_function(1);
    console.Ask(ProbeMessageKind::kDisarm, ProgramQuestion{id});
  };
  arm_and_disarm();
  EXPECT_TRUE(testing::WaitUntil([&, before = MappedPages()] { return MappedPages() < before; }));
  const uint64_t before = MappedPages();
  for (int i = 0; i < kTimes; ++i) arm_and_disarm();
  EXPECT_TRUE(testing::WaitUntil([&] { return MappedPages() < before + kFewPages; })) << MappedPages();
}

TEST_F(ProbeServiceTest, RemovesProbesThatNoConsoleFollows) {
  { EXPECT_NE(TestConsole(service_->socket_path()).Arm("service_test_function { count }"), 0U); }
  EXPECT_NE(FirstBytes(), original_);
  EXPECT_TRUE(testing::WaitUntil([&] { return FirstBytes() == original_; }));
}

TEST_F(ProbeServiceTest, KeepsProbesThatAreToStayUntilTheyAreDisarmed) {
  uint32_t id = 0;
  { id = TestConsole(service_->socket_path()).Arm("service_test_function { count }", /*stays=*/true); }
  usleep(600'000);  // twice the time after which others go
  EXPECT_NE(FirstBytes(), original_);
  TestConsole console(service_->socket_path());
  EXPECT_EQ(console.Ask(ProbeMessageKind::kDisarm, ProgramQuestion{id}).first,
            static_cast<uint16_t>(ProbeMessageKind::kDone));
}

TEST_F(ProbeServiceTest, ListensInAFolderOfThisUserAlone) {
  struct stat status {};
  ASSERT_EQ(lstat((directory_ / "lagwatch").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  EXPECT_THAT(service_->socket_path(), HasSubstr("lagwatch/probe-"));
}

TEST(ProbeSocket, IsNotMadeBehindALinkOrInAnotherUsersFolder) {
  const testing::ScopedTempDirectory directory;
  ASSERT_EQ(mkdir((directory / "real").c_str(), 0700), 0);
  ASSERT_EQ(symlink((directory / "real").c_str(), (directory / "link").c_str()), 0);
  const auto by_link = ListenForConsoles(directory / "link");
  ASSERT_TRUE(by_link.ok());  // elsewhere
  EXPECT_THAT(by_link->path, ::testing::Not(HasSubstr("link")));
  unlink(by_link->path.c_str());
  if (geteuid() != 0) return;  // only root can make it another user's
  ASSERT_EQ(chown((directory / "real").c_str(), 12'345, 12'345), 0);
  const auto of_other = ListenForConsoles(directory / "real");
  ASSERT_TRUE(of_other.ok());
  EXPECT_THAT(of_other->path, ::testing::Not(HasSubstr("real")));
  unlink(of_other->path.c_str());
}

// In a child without root's rights, which is its own console. True if that is let in.
bool LetsItselfIn(const ProbeSocket& socket) {
  const base::OwnedFd console(ConnectTo(socket.path));
  return static_cast<bool>(AcceptConsole(socket).fd);
}

// The exit code of a child that runs it as another user than root, with this saved user id.
template <typename Run>
int ExitCodeOf(const std::string& directory, uid_t user, uid_t saved_user, Run run) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setresgid(user, user, user) != 0 || setresuid(user, user, saved_user) != 0))
      _exit(2);
    prctl(PR_SET_DUMPABLE, 1);
    const auto socket = ListenForConsoles(directory);
    _exit(socket.ok() && run(*socket) ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WEXITSTATUS(status);
}

// Its usual name in /tmp is another user's.
TEST(ProbeSocket, IsMadeElsewhereIfAnotherUserHasTakenItsFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can plant the folder";
  constexpr uid_t kUser = 54'321;
  const std::string planted = "/tmp/lagwatch-" + std::to_string(kUser);
  ASSERT_EQ(mkdir(planted.c_str(), 0777), 0);
  const int code = ExitCodeOf("", kUser, kUser, [&](const ProbeSocket& socket) {
    const std::string folder = socket.path.substr(0, socket.path.rfind('/'));
    struct stat status {};
    const bool is_own = stat(folder.c_str(), &status) == 0 && status.st_uid == kUser &&
                        (status.st_mode & 07777U) == 0700 && folder.starts_with(planted + "-");
    const bool serves = LetsItselfIn(socket);
    socket.RemoveFiles();
    return is_own && serves && access(folder.c_str(), F_OK) != 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(rmdir(planted.c_str()), 0);
}

TEST(ProbeSocket, RemovesThoseOfEndedProcesses) {
  const testing::ScopedTempDirectory directory;
  ASSERT_EQ(mkdir((directory / "folder").c_str(), 0700), 0);
  const auto bind_at = [&](const char* name) {
    base::OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = directory / (std::string("folder/") + name);
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 1), 0);
    const timespec long_ago[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
    return fd;
  };
  bind_at("probe-1").Close();
  const base::OwnedFd live = bind_at("probe-2");
  bind_at("other").Close();
  const auto made = ListenForConsoles(directory / "folder");
  ASSERT_TRUE(made.ok());
  EXPECT_NE(access((directory / "folder/probe-1").c_str(), F_OK), 0);
  EXPECT_EQ(access((directory / "folder/probe-2").c_str(), F_OK), 0);
  EXPECT_EQ(access((directory / "folder/other").c_str(), F_OK), 0);
  pollfd polled{live.get(), POLLIN, 0};
  EXPECT_EQ(poll(&polled, 1, 0), 0);  // nothing has connected to it
}

TEST(ProbeSocket, LetsInWhatPtraceWouldLetRead) {
  constexpr uid_t kUser = 12'345;
  const testing::ScopedTempDirectory directory;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(std::string(directory / "").c_str(), kUser, kUser), 0);
  }
  const std::string folder = directory / "lagwatch";
  EXPECT_EQ(ExitCodeOf(folder, kUser, kUser, LetsItselfIn), 0);
  const auto hidden = [](const ProbeSocket& socket) {
    prctl(PR_SET_DUMPABLE, 0);
    return !LetsItselfIn(socket);
  };
  EXPECT_EQ(ExitCodeOf(folder, kUser, kUser, hidden), 0);
  if (geteuid() != 0) return;  // the rest takes root's rights
  const auto is_refused = [](const ProbeSocket& socket) { return !LetsItselfIn(socket); };
  EXPECT_EQ(ExitCodeOf(folder, kUser, 0, is_refused), 0);  // may become root again
}

// The process's end is not held up once no console follows a script.
TEST_F(ProbeServiceTest, FlushesForConsolesOnly) {
  {
    TestConsole console(service_->socket_path());
    const uint32_t id = console.Arm("service_test_function { count }", /*stays=*/true);
    service_->Flush();
    EXPECT_EQ(console.Receive().first, static_cast<uint16_t>(ProbeMessageKind::kData));
    console.Ask(ProbeMessageKind::kDisarm, ProgramQuestion{id});
  }
  const auto flush_ns = [&] {
    const int64_t begin_ns = base::SystemClock().MonoNs();
    service_->Flush();
    return base::SystemClock().MonoNs() - begin_ns;
  };
  EXPECT_TRUE(testing::WaitUntil([&] { return flush_ns() < 5'000'000; }));
  EXPECT_LT(std::min(flush_ns(), flush_ns()), 5'000'000);
}

TEST_F(ProbeServiceTest, RefusesWhatIsNoQuestion) {
  {
    TestConsole console(service_->socket_path());
    console.Send(std::string(64, 'x'));
    EXPECT_EQ(console.Receive().first, 0xFFFF);
  }
  TestConsole console(service_->socket_path());
  ProbeMessageHeader header{.version = 99};
  console.Send(std::string(reinterpret_cast<const char*>(&header), sizeof header));
  EXPECT_THAT(console.Receive().second, HasSubstr("another version"));
  header.kind = static_cast<uint16_t>(ProbeMessageKind::kList);
  console.Send(std::string(reinterpret_cast<const char*>(&header), sizeof header));
  EXPECT_EQ(console.Receive().first, static_cast<uint16_t>(ProbeMessageKind::kListed));
  EXPECT_EQ(console.Ask(static_cast<ProbeMessageKind>(77), NoFields{}).first,
            static_cast<uint16_t>(ProbeMessageKind::kRefused));
  EXPECT_EQ(console.Ask(ProbeMessageKind::kDisarm, ProgramQuestion{4711}).first,
            static_cast<uint16_t>(ProbeMessageKind::kRefused));
  // A place that is no function's beginning, a file that is not loaded, a damaged program.
  ArmQuestion question = QuestionFor("service_test_function { count }");
  question.sites[0].offset += 1;
  EXPECT_EQ(DecodeProbeBody<ArmAnswer>(console.Ask(ProbeMessageKind::kArm, question).second)->id, 0U);
  question = QuestionFor("service_test_function { count }");
  question.sites[0].build_id = "another";
  const auto answer = DecodeProbeBody<ArmAnswer>(console.Ask(ProbeMessageKind::kArm, question).second);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->sites[0].text, HasSubstr("not loaded"));
  // A role at a function that is not one of its own: each call of it would be the program's end.
  ArmQuestion with_role = QuestionFor("exit { count }");
  with_role.sites[0].role = SiteRole::kExit;
  const auto refused = DecodeProbeBody<ArmAnswer>(console.Ask(ProbeMessageKind::kArm, with_role).second);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->id, 0U);
  EXPECT_THAT(refused->sites[0].text, HasSubstr("no function of this place"));
  question.program = "none";
  EXPECT_EQ(console.Ask(ProbeMessageKind::kArm, question).first,
            static_cast<uint16_t>(ProbeMessageKind::kRefused));
}

// The service's thread in this process; 0: none.
int ServiceTid() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (name == "lagwatch-probe") return std::stoi(task.path().filename());
  }
  return 0;
}

// More than it serves at a time: the last one waits in the socket, which is ready all the time.
TEST_F(ProbeServiceTest, RestsWhileMoreConsolesWaitThanItServes) {
  std::vector<std::unique_ptr<TestConsole>> consoles;
  for (int i = 0; i < 17; ++i) consoles.push_back(std::make_unique<TestConsole>(service_->socket_path()));
  EXPECT_EQ(consoles[0]->Ask(ProbeMessageKind::kList, NoFields{}).first,
            static_cast<uint16_t>(ProbeMessageKind::kListed));
  const int tid = ServiceTid();
  ASSERT_NE(tid, 0);
  const int64_t before_ns = base::ThreadCpuNs(tid);
  usleep(500'000);
  EXPECT_LT(base::ThreadCpuNs(tid) - before_ns, 15'000'000);  // it looks 20 times
}

// A console that asks and does not read: it takes memory of the program only for a while, and up to a limit.
TEST_F(ProbeServiceTest, GivesUpAConsoleThatDoesNotTakeItsAnswer) {
  Serve({.stalled_ns = 500'000'000, .most_pending_bytes = 1 << 16});
  TestConsole stalled(service_->socket_path());
  ArmQuestion question = QuestionFor("service_test_function { count }", /*stays=*/true);
  question.sites[0].name = std::string(2 << 20, 'x');  // comes back in the answer
  const auto armed = DecodeProbeBody<ArmAnswer>(stalled.Ask(ProbeMessageKind::kArm, question).second);
  ASSERT_TRUE(armed);
  const uint32_t id = armed->id;
  ASSERT_NE(id, 0U);
  TestConsole other(service_->socket_path());
  const auto has_table = [&] {
    const auto answer = DecodeProbeBody<ReadAnswer>(
        other.Ask(ProbeMessageKind::kRead, ReadQuestion{.id = id, .wants_snapshot = true}).second);
    return answer && !answer->snapshot.empty();
  };
  EXPECT_TRUE(has_table());
  stalled.Send(EncodeProbeMessage(ProbeMessageKind::kFollow, ProgramQuestion{id}));
  EXPECT_TRUE(testing::WaitUntil([&] { return !has_table(); }));
  const auto consoles = [&] {
    const auto list = DecodeProbeBody<ListAnswer>(other.Ask(ProbeMessageKind::kList, NoFields{}).second);
    return list ? list->programs[0].consoles : 99;
  };
  EXPECT_TRUE(testing::WaitUntil([&] { return consoles() == 0; }));
  EXPECT_TRUE(has_table());
  other.Ask(ProbeMessageKind::kDisarm, ProgramQuestion{id});
}

TEST_F(ProbeServiceTest, MakesRoomForAConsoleWhileOthersAreSilent) {
  Serve({.crowded_ns = 50'000'000});
  std::vector<std::unique_ptr<TestConsole>> silent;
  for (int i = 0; i < 16; ++i) silent.push_back(std::make_unique<TestConsole>(service_->socket_path()));
  TestConsole console(service_->socket_path());
  EXPECT_EQ(console.Ask(ProbeMessageKind::kList, NoFields{}).first,
            static_cast<uint16_t>(ProbeMessageKind::kListed));
  EXPECT_EQ(silent[0]->Receive().first, 0xFFFF);
}

// Each damaged question is refused, or armed where the damage has left it valid; the process goes on.
TEST_F(ProbeServiceTest, SurvivesDamagedQuestions) {
  const std::string whole = EncodeProbeMessage(ProbeMessageKind::kArm,
                                               QuestionFor("service_test_function { sum(arg0) by caller }"));
  std::mt19937 random(1);  // the same each time
  TestConsole console(service_->socket_path());
  for (int i = 0; i < 200; ++i) {
    std::string damaged = whole;
    for (int changes = 0; changes < 3; ++changes)
      damaged[sizeof(ProbeMessageHeader) + random() % (damaged.size() - sizeof(ProbeMessageHeader))] =
          static_cast<char>(random());
    console.Send(damaged);
    const auto [kind, body] = console.Receive();
    service_test_function(i);
    if (kind != static_cast<uint16_t>(ProbeMessageKind::kArmed)) {
      ASSERT_EQ(kind, static_cast<uint16_t>(ProbeMessageKind::kRefused));
      continue;
    }
    const auto answer = DecodeProbeBody<ArmAnswer>(body);
    ASSERT_TRUE(answer);
    if (answer->id != 0) console.Ask(ProbeMessageKind::kDisarm, ProgramQuestion{answer->id});
  }
}

}  // namespace
}  // namespace lagwatch::sdk

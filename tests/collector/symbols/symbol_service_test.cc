// SPDX-License-Identifier: Apache-2.0
// From a file's arrival to frames, with real workers, directories and a real debuginfod.
#include "collector/symbols/symbol_service.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "collector/query/symbols_api.h"
#include "collector/symbols/elf/elf_facts.h"
#include "collector/symbols/files/sha256.h"
#include "tests/collector/symbols/addr2line_oracle.h"
#include "tests/collector/symbols/subject_files.h"
#include "tests/stack/symbol_oracle.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using base::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OutputOf;
using ::testing::SizeIs;

BuildId IdOf(const std::string& path) {
  base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return *BuildId::FromBytes(ReadElfFacts(file.get())->build_id);
}

uint64_t OffsetOf(const std::string& function) {
  for (const auto& listed : testing::FunctionsByNm("", kProgram)) {
    if (listed.name == function) return listed.begin + 4;
  }
  return 0;
}

class SymbolServiceTest : public ::testing::Test {
 protected:
  std::unique_ptr<SymbolService> Open(SymbolOptions options = {}) {
    options.data_directory = data_;
    if (options.workers.program == WorkerOptions().program)
      options.workers.program = LAGWATCH_COLLECTOR_PROGRAM;
    auto service = SymbolService::Open(options);
    EXPECT_TRUE(service.ok()) << service.status().message();
    return std::move(*service);
  }

  Response Upload(SymbolService* service, const BuildId& id, const std::string& path) {
    base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::string bytes = ContentOf(path);
    return SymbolsApi(service->files())
        .Put(id.hex(),
             "kind=debug&offset=0&size=" + std::to_string(bytes.size()) +
                 "&sha256=" + *Sha256OfFile(file.get()),
             bytes);
  }

  // That function and line of the subject are known.
  void ExpectSymbolized(SymbolService* service) {
    auto frames = service->symbolizer()->Symbolize(id_.bytes(), offsets_);
    ASSERT_TRUE(frames.ok()) << frames.status().message();
    ASSERT_THAT(*frames, SizeIs(offsets_.size()));
    ASSERT_THAT((*frames)[0], Not(IsEmpty()));
    EXPECT_EQ((*frames)[0].back().function, "plain_c_work");
    EXPECT_THAT((*frames)[0].back().file, ::testing::EndsWith("tests/collector/symbols/subject.cc"));
    EXPECT_GT((*frames)[0].back().line, 0u);
    EXPECT_THAT((*frames)[1], IsEmpty());
  }

  void ExpectUnknown(SymbolService* service, StatusCode code) {
    auto frames = service->symbolizer()->Symbolize(id_.bytes(), offsets_);
    EXPECT_EQ(frames.status().code(), code) << frames.status().message();
  }

  testing::ScopedTempDirectory directory_;
  const std::string data_ = directory_ / "data";
  const BuildId id_ = IdOf(kProgram);
  const std::vector<CodePlace> offsets_ = {OffsetOf("plain_c_work"), 1};
};

TEST_F(SymbolServiceTest, AnUploadedFileIsUsedAtOnce) {
  auto service = Open();
  std::vector<std::string> known;
  service->symbolizer()->OnNewFile([&](std::string_view id) { known.emplace_back(id); });
  ExpectUnknown(service.get(), StatusCode::kNotFound);
  EXPECT_EQ(Upload(service.get(), id_, kDebugFile).body, R"({"complete":true})");
  EXPECT_THAT(known, ElementsAre(id_.bytes()));
  ExpectSymbolized(service.get());
  service = Open();
  ExpectSymbolized(service.get());
}

TEST_F(SymbolServiceTest, RefusesWhatCannotNameAnything) {
  auto service = Open();
  Response other_id = Upload(service.get(), *BuildId::FromHex("0123456789abcdef"), kDebugFile);
  EXPECT_EQ(other_id.status, 400);
  EXPECT_THAT(other_id.body, HasSubstr(id_.hex()));
  Response stripped = Upload(service.get(), id_, kStrippedFile);
  EXPECT_EQ(stripped.status, 400);
  EXPECT_THAT(stripped.body, HasSubstr("it is stripped"));
  const std::string text = directory_ / "text";
  std::ofstream(text) << "no ELF file";
  EXPECT_EQ(Upload(service.get(), id_, text).status, 400);
  EXPECT_EQ(SymbolsApi(service->files()).List().body, "[]");
}

TEST_F(SymbolServiceTest, SaysWhatOfAnUploadCannotBeRead) {
  auto service = Open();
  EXPECT_EQ(Upload(service.get(), id_, std::string(kProgram) + ".zstd").body, R"({"complete":true})");
  ExpectSymbolized(service.get());
  const std::string split = std::string(kProgram) + "_split";
  EXPECT_THAT(Upload(service.get(), IdOf(split), split).body,
              HasSubstr(R"("complete":true,"note":"its debug information is split)"));
}

TEST_F(SymbolServiceTest, FindsFilesInDirectories) {
  const std::string by_id = directory_ / "by-id";
  const std::string path = by_id + "/.build-id/" + id_.path() + ".debug";
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::filesystem::copy(kDebugFile, path);
  ExpectSymbolized(Open({.directories = {by_id}}).get());

  const std::string plain = directory_ / "plain";
  std::filesystem::create_directories(plain + "/some/where");
  std::filesystem::copy(kStrippedFile, plain + "/a-stripped");
  std::filesystem::copy(kDebugFile, plain + "/some/where/subject");
  std::ofstream(plain + "/text") << "no ELF file";
  ExpectSymbolized(Open({.directories = {plain}}).get());

  auto missing = SymbolService::Open({.data_directory = data_, .directories = {directory_ / "missing"}});
  EXPECT_THAT(missing.status().message(), HasSubstr("--symbols-dir"));
}

TEST_F(SymbolServiceTest, LeavesAFileAloneThatBrokeItsReader) {
  const std::string path = directory_ / ("dir/.build-id/" + id_.path() + ".debug");
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::filesystem::copy(kDebugFile, path);
  auto service = Open({.directories = {directory_ / "dir"}, .workers = {.program = "/bin/false"}});
  ExpectUnknown(service.get(), StatusCode::kInvalid);
  std::filesystem::remove(path);
  ExpectUnknown(service.get(), StatusCode::kInvalid);  // it was not looked for again
}

TEST_F(SymbolServiceTest, RefusesBuildIdsThatAreNone) {
  auto frames = Open()->symbolizer()->Symbolize("", offsets_);
  EXPECT_EQ(frames.status().code(), StatusCode::kNotFound);
}

uint16_t FreePort() {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  close(fd);
  return ntohs(address.sin_port);
}

TEST_F(SymbolServiceTest, AsksARealDebuginfod) {
  if (OutputOf("command -v debuginfod").empty()) GTEST_SKIP() << "debuginfod is not installed";
  std::filesystem::create_directories(directory_ / "served");
  std::filesystem::copy(kDebugFile, directory_ / "served/subject.debug");
  const std::string url = "http://127.0.0.1:" + std::to_string(FreePort());
  testing::Process server({"debuginfod", "-p", url.substr(url.rfind(':') + 1), "-d", directory_ / "index",
                           "-F", directory_ / "served"});
  const std::string ask =
      "curl -s -o /dev/null -w '%{http_code}' " + url + "/buildid/" + id_.hex() + "/debuginfo";
  ASSERT_TRUE(testing::WaitUntil([&] { return OutputOf(ask) == "200"; })) << server.Errors();

  auto service = Open({.debuginfod_urls = {url}});
  ExpectSymbolized(service.get());
  EXPECT_EQ(service->symbolizer()->Symbolize(std::string(20, 'x'), offsets_).status().code(),
            StatusCode::kNotFound);
  // Its cache outlives the server.
  server.Signal(SIGKILL);
  EXPECT_EQ(server.Wait(), -SIGKILL);
  ExpectSymbolized(Open({.debuginfod_urls = {url}}).get());
}

TEST_F(SymbolServiceTest, GoesOnWithoutADebuginfodThatIsAway) {
  auto service = Open({.debuginfod_urls = {"http://127.0.0.1:" + std::to_string(FreePort())}});
  ExpectUnknown(service.get(), StatusCode::kNotFound);
}

// Answers each request with 404, after a while.
class SlowServer {
 public:
  explicit SlowServer(std::chrono::milliseconds delay)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), delay_(delay) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_.get(), 100), 0);
    getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { Run(); });
  }
  ~SlowServer() {
    shutdown(fd_.get(), SHUT_RDWR);
    thread_.join();
  }

  const std::string& url() const { return url_; }
  int requests() const { return requests_; }

 private:
  void Run() {
    for (;;) {
      const base::OwnedFd client(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      char request[4096];
      if (recv(client.get(), request, sizeof request, 0) <= 0) continue;
      ++requests_;
      std::this_thread::sleep_for(delay_);
      const std::string answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  base::OwnedFd fd_;
  const std::chrono::milliseconds delay_;
  std::string url_;
  std::atomic<int> requests_{0};
  std::thread thread_;
};

std::string UnknownBuild(int number) {
  std::string id(20, 'u');
  id[0] = static_cast<char>(number);
  id[1] = static_cast<char>(number >> 8);
  return id;
}

// A report may name 8,192 modules that no server has.
TEST_F(SymbolServiceTest, ReadersDoNotWaitForServers) {
  SlowServer server(std::chrono::seconds(1));
  auto service = Open({.debuginfod_urls = {server.url()}});
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 8192; ++i) {
    EXPECT_EQ(service->reader_symbolizer()->Symbolize(UnknownBuild(i), offsets_).status().code(),
              StatusCode::kUnavailable);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));  // of more than 8192
  EXPECT_TRUE(testing::WaitUntil([&] { return server.requests() > 0; }));
  service->Stop();
}

TEST_F(SymbolServiceTest, LeavesAServerAloneThatIsSlowToSayThatItHasNothing) {
  SlowServer server(std::chrono::milliseconds(2500));
  auto service = Open({.debuginfod_urls = {server.url()}});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(service->symbolizer()->Symbolize(UnknownBuild(i), offsets_).status().code(),
              StatusCode::kNotFound);
  }
  EXPECT_EQ(server.requests(), 1);
}

TEST_F(SymbolServiceTest, ReadersHaveNamesOnceTheyWereLookedUp) {
  auto service = Open();
  BackgroundSymbolizer* symbolizer = service->reader_symbolizer();
  EXPECT_EQ(symbolizer->Symbolize(id_.bytes(), offsets_).status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(testing::WaitUntil([&] { return symbolizer->is_idle(); }));
  EXPECT_EQ(symbolizer->Symbolize(id_.bytes(), offsets_).status().code(), StatusCode::kNotFound);
  Upload(service.get(), id_, kDebugFile);
  EXPECT_EQ(symbolizer->Symbolize(id_.bytes(), offsets_).status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(testing::WaitUntil([&] { return symbolizer->Symbolize(id_.bytes(), offsets_).ok(); }));
  const auto frames = symbolizer->Symbolize(id_.bytes(), offsets_);
  ASSERT_THAT((*frames)[0], Not(IsEmpty()));
  EXPECT_EQ((*frames)[0].back().function, "plain_c_work");
}

TEST_F(SymbolServiceTest, DropsLookUpsThatAreTooMany) {
  SlowServer server(std::chrono::seconds(1));
  auto service = Open({.debuginfod_urls = {server.url()}});
  auto* files = dynamic_cast<FileSymbolizer*>(service->symbolizer());
  BackgroundSymbolizer symbolizer(files, {.waiting_modules = 10, .waiting_places = 1000});
  for (int i = 0; i < 50; ++i)
    EXPECT_FALSE(symbolizer.Symbolize(UnknownBuild(i), std::vector<CodePlace>(1, 7)).ok());
  EXPECT_GE(symbolizer.dropped(), 39u);
  std::vector<CodePlace> many;
  for (uint64_t offset = 0; offset < 2000; ++offset) many.push_back(offset);
  EXPECT_FALSE(symbolizer.Symbolize(UnknownBuild(77), many).ok());
  EXPECT_GE(symbolizer.dropped(), 49u);
  service->Stop();
}

TEST(CacheDirectory, KeepsWhatWasUsedLast) {
  testing::ScopedTempDirectory directory;
  const std::string cache = directory / "cache";
  for (int i = 0; i < 30; ++i) {
    const std::string entry = cache + "/" + std::to_string(100 + i);
    std::filesystem::create_directories(entry);
    std::ofstream(entry + "/debuginfo") << std::string(100'000, 'x');
    const timespec used[2] = {{1000 + i, 0}, {500, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (entry + "/debuginfo").c_str(), used, 0), 0);
  }
  std::ofstream(cache + "/max_unused_age_s") << "604800";
  const auto has = [&](int i) { return std::filesystem::exists(cache + "/" + std::to_string(100 + i)); };
  EXPECT_EQ(TrimCacheDirectory(cache, {.total_bytes = 10'000'000, .entries = 30}), 0u);
  EXPECT_GT(TrimCacheDirectory(cache, {.total_bytes = 2'000'000, .entries = 30}), 10u);
  EXPECT_FALSE(has(0));
  EXPECT_TRUE(has(29));
  EXPECT_GT(TrimCacheDirectory(cache, {.total_bytes = 10'000'000, .entries = 10}), 1u);
  EXPECT_FALSE(has(18));
  EXPECT_TRUE(has(29));
  EXPECT_TRUE(std::filesystem::exists(cache + "/max_unused_age_s"));
}

TEST(AnswerCache, KeepsTheLastUsedAnswers) {
  AnswerCache cache(10'000);
  const BuildId id = *BuildId::FromHex("01234567");
  const std::vector<NamedFrame> frames = {{.function = std::string(500, 'f'), .line = 1}};
  for (uint64_t offset = 0; offset < 100; ++offset) {
    cache.Add(id, offset, frames);
    EXPECT_NE(cache.Find(id, 0), nullptr);  // used each time
  }
  EXPECT_LE(cache.size_bytes(), 10'000u);
  EXPECT_EQ(cache.Find(id, 1), nullptr);
  ASSERT_NE(cache.Find(id, 99), nullptr);
  EXPECT_EQ(*cache.Find(id, 99), frames);
  cache.Drop(id);
  EXPECT_EQ(cache.size_bytes(), 0u);
  EXPECT_EQ(cache.Find(id, 99), nullptr);
}

TEST(BuildId, IsHexOfAFewBytes) {
  EXPECT_EQ(BuildId::FromHex("01234567ABcd")->hex(), "01234567abcd");
  EXPECT_EQ(BuildId::FromHex("01234567ABcd")->path(), "01/234567abcd");
  for (std::string wrong : {"", "012345", "0123456", "0123456g", "../../etc", "01234567/.."}) {
    EXPECT_FALSE(BuildId::FromHex(wrong)) << wrong;
  }
  EXPECT_TRUE(BuildId::FromHex(std::string(128, 'a')));
  EXPECT_FALSE(BuildId::FromHex(std::string(130, 'a')));
}

}  // namespace
}  // namespace lagwatch::collector

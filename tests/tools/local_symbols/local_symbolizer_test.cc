// SPDX-License-Identifier: Apache-2.0
// Names by the files of this machine, read by the command's own worker.
#include "tools/local_symbols/local_symbolizer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "stack/elf/elf_file.h"
#include "tests/collector/symbols/addr2line_oracle.h"
#include "tests/collector/symbols/subject_files.h"
#include "tests/stack/symbol_oracle.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using base::StatusCode;
using collector::BuildId;
using collector::CodePlace;
using collector::kDebugFile;
using collector::kProgram;
using collector::kStrippedFile;
using collector::NamedFrame;
using collector::SymbolKind;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string BuildIdOf(const std::string& path) { return stack::ElfFile::Open(path)->BuildId(); }

std::vector<CodePlace> SomePlaces() {
  std::vector<CodePlace> places;
  for (const auto& function : testing::FunctionsByNm("", kProgram)) {
    if (function.name.find("subject") == std::string::npos) continue;
    for (uint64_t place = function.begin; place < function.end; place += 16) places.push_back(place);
  }
  return places;
}

bool HasLines(const collector::SymbolizedFrames& all) {
  return std::ranges::any_of(all, [](const std::vector<NamedFrame>& frames) {
    return std::ranges::any_of(frames, [](const NamedFrame& frame) { return frame.line != 0; });
  });
}

std::unique_ptr<LocalSymbolizer> Create(bool asks_debuginfod = false) {
  return LocalSymbolizer::Create({.worker_program = LAGWATCH_PROGRAM, .asks_debuginfod = asks_debuginfod})
      .value();
}

class LocalSymbolizerTest : public ::testing::Test {
 protected:
  base::Result<collector::SymbolizedFrames> Ask(const std::string& path, const std::string& build_id) {
    auto symbolizer = Create();
    symbolizer->NoteModule(build_id, path);
    return symbolizer->Symbolize(build_id, places_);
  }
  collector::SymbolizedFrames FramesOf(const std::string& path) {
    auto frames = Ask(path, BuildIdOf(path));
    EXPECT_TRUE(frames.ok()) << path << ": " << frames.status().message();
    return frames.ok() ? *frames : collector::SymbolizedFrames();
  }

  testing::ScopedTempDirectory directory_;
  const std::vector<CodePlace> places_ = SomePlaces();
};

TEST_F(LocalSymbolizerTest, SaysWhatAddr2lineSays) {
  std::vector<uint64_t> offsets;
  for (const CodePlace& place : places_) offsets.push_back(place.number);
  const auto expected = testing::FramesByAddr2line(kProgram, offsets);
  const auto frames = FramesOf(kProgram);
  ASSERT_EQ(frames.size(), expected.size());
  size_t inlined = 0;
  size_t same = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    bool is_same = frames[i].size() == expected[i].size();
    for (size_t j = 0; is_same && j < frames[i].size(); ++j)
      is_same =
          frames[i][j].line == expected[i][j].line && frames[i][j].is_inlined == expected[i][j].is_inlined;
    same += is_same;
    inlined += frames[i].size() > 1;
  }
  EXPECT_GT(inlined, 10u);
  EXPECT_GE(same, frames.size() * 99 / 100);
}

TEST_F(LocalSymbolizerTest, FindsDebugInformationWhereDebuggersLook) {
  const auto expected = FramesOf(kProgram);
  for (const char* ending : {".compressed", ".zstd"})
    EXPECT_EQ(FramesOf(std::string(kProgram) + ending), expected);
#if !defined(__clang__)  // its code is that of the same compiler's other file
  EXPECT_EQ(FramesOf(std::string(kProgram) + "_split"), expected);
#endif

  // Stripped, with a link to a file beside it, and in .debug.
  const std::string linked = directory_ / "linked";
  const std::string debug_name = fs::path(kDebugFile).filename();
  fs::copy_file(std::string(kProgram) + ".linked", linked);
  EXPECT_FALSE(HasLines(FramesOf(linked)));
  fs::copy_file(kDebugFile, directory_ / debug_name);
  EXPECT_EQ(FramesOf(linked), expected);
  fs::create_directory(directory_ / ".debug");
  fs::rename(directory_ / debug_name, directory_ / (".debug/" + debug_name));
  EXPECT_EQ(FramesOf(linked), expected);
}

#if !defined(__clang__)  // its subjects have DWARF of other versions
TEST_F(LocalSymbolizerTest, SaysWhichSplitFileIsMissing) {
  // Names in it are relative to its directory, and to the compiler's, which is replaced.
  std::string bytes = testing::OutputOf("cat " LAGWATCH_SYMBOLS_SUBJECT "_split");
  const std::string path = directory_ / "moved";
  for (size_t at = 0; (at = bytes.find(".dwo", at)) != std::string::npos;) bytes.replace(at, 4, ".no!");
  std::ofstream(path, std::ios::binary) << bytes;
  auto symbolizer = Create();
  symbolizer->NoteModule(BuildIdOf(path), path);
  const auto frames = symbolizer->Symbolize(BuildIdOf(path), places_);
  ASSERT_TRUE(frames.ok()) << frames.status().message();
  EXPECT_TRUE(HasLines(*frames));
  const auto notes = symbolizer->TakeNotes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], AllOf(HasSubstr(path), HasSubstr(".no! is not there")));
  EXPECT_TRUE(symbolizer->TakeNotes().empty());
}
#endif

TEST_F(LocalSymbolizerTest, LeavesFilesOfOtherBuildsAlone) {
  std::string other = BuildIdOf(kProgram);
  other.front() ^= 1;
  const auto frames = Ask(kProgram, other);
  ASSERT_FALSE(frames.ok());
  EXPECT_EQ(frames.status().code(), StatusCode::kNotFound);
  // The same for a debug file.
  const std::string linked = directory_ / "linked";
  fs::copy_file(std::string(kProgram) + ".linked", linked);
  fs::copy_file(std::string(kProgram) + "_split", directory_ / fs::path(kDebugFile).filename().string());
  EXPECT_FALSE(HasLines(FramesOf(linked)));
}

TEST_F(LocalSymbolizerTest, KnowsAModuleOnceItsPlaceIsKnown) {
  auto symbolizer = Create();
  const std::string build_id = BuildIdOf(kProgram);
  EXPECT_FALSE(symbolizer->Symbolize(build_id, places_).ok());
  symbolizer->NoteModule(build_id, directory_ / "none");
  EXPECT_FALSE(symbolizer->Symbolize(build_id, places_).ok());
  symbolizer->NoteModule(build_id, kProgram);
  EXPECT_TRUE(symbolizer->Symbolize(build_id, places_).ok());
}

TEST_F(LocalSymbolizerTest, LooksBelowTheRootOfDebugFiles) {
  const auto build_id = *BuildId::FromBytes(BuildIdOf(kStrippedFile));
  const std::string by_id = directory_ / (".build-id/" + build_id.path() + ".debug");
  LocalModules modules("", directory_ / "");
  EXPECT_FALSE(modules.OpenFile(build_id, SymbolKind::kDebug));
  fs::create_directories(fs::path(by_id).parent_path());
  fs::copy_file(kDebugFile, by_id);
  EXPECT_TRUE(modules.OpenFile(build_id, SymbolKind::kDebug));
  EXPECT_FALSE(modules.OpenFile(build_id, SymbolKind::kExecutable));
  EXPECT_TRUE(modules.Add(build_id, kStrippedFile));
  EXPECT_FALSE(modules.Add(build_id, kStrippedFile));
  EXPECT_TRUE(modules.OpenFile(build_id, SymbolKind::kExecutable));
  EXPECT_FALSE(modules.OpenFile(build_id, SymbolKind::kMapping));
}

// Accepts connections, and closes them.
class Server {
 public:
  Server() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] {
      for (int client; (client = accept(socket_, nullptr, nullptr)) >= 0;) {
        char request[4096] = "";
        if (read(client, request, sizeof request - 1) > 0) requests_ += request;
        close(client);
      }
    });
  }
  // All requests.
  std::string Stop() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
    return requests_;
  }
  const std::string& url() const { return url_; }

 private:
  int socket_;
  std::string url_;
  std::string requests_;
  std::thread thread_;
};

TEST_F(LocalSymbolizerTest, AsksServersOnlyWithConsent) {
  const std::string build_id = "\x12\x34\x56\x78\x9a\xbc\xde\xf0 unknown";
  setenv("XDG_CACHE_HOME", (directory_ / "cache").c_str(), 1);
  unsetenv("DEBUGINFOD_URLS");
  EXPECT_EQ(LocalSymbolizer::Create({.asks_debuginfod = true}).status().code(), StatusCode::kInvalid);
  for (const bool asks : {false, true}) {
    Server server;
    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    auto symbolizer = Create(asks);
    symbolizer->NoteModule(build_id, directory_ / "none");
    EXPECT_FALSE(symbolizer->Symbolize(build_id, places_).ok());
    const std::string requests = server.Stop();
    EXPECT_EQ(requests.find(base::ToHex(build_id)) != std::string::npos, asks) << requests;
    EXPECT_EQ(requests.empty(), !asks);
  }
}

}  // namespace
}  // namespace lagwatch::tools

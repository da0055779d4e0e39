// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/files/symbol_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "collector/query/symbols_api.h"
#include "collector/symbols/files/sha256.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using base::Status;
using base::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Bytes(size_t size_bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size_bytes, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class SymbolFilesTest : public ::testing::Test {
 protected:
  std::unique_ptr<SymbolFiles> Open(SymbolFileLimits limits = {}) {
    auto files = SymbolFiles::Open(directory_ / "symbols", limits, [this](int, const BuildId&) {
      ++checks_;
      return verdict_.ok() ? base::Result<std::string>("") : verdict_;
    });
    EXPECT_TRUE(files.ok()) << files.status().message();
    return std::move(*files);
  }

  SymbolUpload UploadOf(const std::string& bytes, const std::string& id = "0123456789abcdef") {
    const std::string path = directory_ / "whole";
    std::ofstream(path, std::ios::binary) << bytes;
    base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return {
        .build_id = *BuildId::FromHex(id), .size_bytes = bytes.size(), .sha256 = *Sha256OfFile(file.get())};
  }

  base::Result<UploadProgress> SendAll(SymbolFiles* files, const SymbolUpload& upload,
                                       const std::string& bytes, size_t piece_bytes = 1000) {
    UploadProgress progress = files->ProgressOf(upload);
    while (!progress.is_complete) {
      auto sent = files->Append(upload, progress.received_bytes,
                                std::string_view(bytes).substr(progress.received_bytes, piece_bytes));
      if (!sent.ok()) return sent;
      progress = *sent;
    }
    return progress;
  }

  std::string Stored(const SymbolFiles& files, const SymbolUpload& upload) {
    base::OwnedFd file = files.OpenFile(upload.build_id, upload.kind);
    std::string content(upload.size_bytes + 1, '\0');
    ssize_t got = file ? pread(file.get(), content.data(), content.size(), 0) : -1;
    return got < 0 ? "none" : content.substr(0, static_cast<size_t>(got));
  }

  testing::ScopedTempDirectory directory_;
  Status verdict_;
  std::atomic<int> checks_ = 0;
};

TEST_F(SymbolFilesTest, AFileIsThereOnceItsLastPieceCame) {
  auto files = Open();
  const std::string bytes = Bytes(2500, 1);
  SymbolUpload upload = UploadOf(bytes);
  std::vector<std::string> known;
  files->OnNewFile([&](const BuildId& id) { known.push_back(id.hex()); });
  EXPECT_EQ(files->Append(upload, 0, bytes.substr(0, 1000))->received_bytes, 1000u);
  EXPECT_EQ(Stored(*files, upload), "none");
  EXPECT_EQ(files->ProgressOf(upload).received_bytes, 1000u);
  EXPECT_TRUE(SendAll(files.get(), upload, bytes)->is_complete);
  EXPECT_EQ(Stored(*files, upload), bytes);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "symbols/01/23456789abcdef.debug"));
  EXPECT_THAT(known, ElementsAre("0123456789abcdef"));
  EXPECT_TRUE(files->ProgressOf(upload).is_complete);
  EXPECT_TRUE(files->Append(upload, 0, bytes.substr(0, 10))->is_complete);
  EXPECT_EQ(checks_, 1);
}

TEST_F(SymbolFilesTest, AnUploadGoesOnAfterARestartAndSkipsWhatIsThere) {
  const std::string bytes = Bytes(3000, 2);
  SymbolUpload upload = UploadOf(bytes);
  EXPECT_TRUE(Open()->Append(upload, 0, bytes.substr(0, 1700)).ok());
  auto files = Open();
  EXPECT_EQ(files->ProgressOf(upload).received_bytes, 1700u);
  EXPECT_EQ(files->Append(upload, 2000, bytes.substr(2000, 10))->received_bytes, 1700u);  // a gap
  EXPECT_EQ(files->Append(upload, 0, bytes.substr(0, 100))->received_bytes, 1700u);       // known
  EXPECT_EQ(files->Append(upload, 1000, bytes.substr(1000, 1000))->received_bytes, 2000u);
  EXPECT_TRUE(files->Append(upload, 2000, bytes.substr(2000))->is_complete);
  EXPECT_EQ(Stored(*files, upload), bytes);
}

TEST_F(SymbolFilesTest, RefusesOtherBytesAndWhatItsCheckRefuses) {
  auto files = Open();
  const std::string bytes = Bytes(2000, 3);
  SymbolUpload upload = UploadOf(bytes);
  auto sent = SendAll(files.get(), upload, Bytes(2000, 4));
  EXPECT_EQ(sent.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(sent.status().message(), HasSubstr("SHA-256"));
  EXPECT_EQ(checks_, 0);
  verdict_ = Status(StatusCode::kInvalid, "no good");
  EXPECT_EQ(SendAll(files.get(), upload, bytes).status().message(), "no good");
  EXPECT_EQ(Stored(*files, upload), "none");
  EXPECT_EQ(files->ProgressOf(upload).received_bytes, 0u);
  // A file that could not be checked is kept: the last piece may be sent again.
  verdict_ = Status(StatusCode::kUnavailable, "later");
  EXPECT_EQ(SendAll(files.get(), upload, bytes).status().message(), "later");
  verdict_ = {};
  EXPECT_EQ(files->ProgressOf(upload).received_bytes, 1999u);
  EXPECT_TRUE(files->Append(upload, 1999, bytes.substr(1999))->is_complete);
}

TEST_F(SymbolFilesTest, ManyMayBringTheSameFile) {
  auto files = Open();
  const std::string bytes = Bytes(300'000, 5);
  SymbolUpload upload = UploadOf(bytes);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 8; ++i) {
    threads.emplace_back(
        [&, i] { EXPECT_TRUE(SendAll(files.get(), upload, bytes, 700 + i * 100)->is_complete); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Stored(*files, upload), bytes);
  EXPECT_EQ(checks_, 1);
}

TEST_F(SymbolFilesTest, WhatWasNotUsedForLongestGoesFirst) {
  auto files = Open({.file_bytes = 2000, .total_bytes = 3000});
  SymbolUpload first = UploadOf(Bytes(1000, 1), "11111111");
  SymbolUpload second = UploadOf(Bytes(1000, 2), "22222222");
  SymbolUpload third = UploadOf(Bytes(1900, 3), "33333333");
  ASSERT_TRUE(SendAll(files.get(), first, Bytes(1000, 1)).ok());
  ASSERT_TRUE(SendAll(files.get(), second, Bytes(1000, 2)).ok());
  const timespec long_ago[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  for (const char* name : {"11/111111.debug", "22/222222.debug"}) {
    utimensat(AT_FDCWD, (directory_ / ("symbols/" + std::string(name))).c_str(), long_ago, 0);
  }
  EXPECT_TRUE(files->OpenFile(first.build_id, first.kind));
  ASSERT_TRUE(SendAll(files.get(), third, Bytes(1900, 3)).ok());
  EXPECT_NE(Stored(*files, first), "none");
  EXPECT_EQ(Stored(*files, second), "none");
  EXPECT_EQ(files->List().size(), 2u);
  EXPECT_EQ(SendAll(files.get(), UploadOf(Bytes(2001, 4)), Bytes(2001, 4)).status().code(),
            StatusCode::kTooLarge);
}

TEST_F(SymbolFilesTest, HalfUploadsExpire) {
  auto files = Open({.unfinished_s = 100});
  const std::string bytes = Bytes(100, 1);
  SymbolUpload upload = UploadOf(bytes);
  ASSERT_TRUE(files->Append(upload, 0, bytes.substr(0, 50)).ok());
  for (const auto& part : std::filesystem::directory_iterator(directory_ / "symbols/unfinished")) {
    std::filesystem::last_write_time(part,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  EXPECT_EQ(Open({.unfinished_s = 100})->ProgressOf(upload).received_bytes, 0u);
}

TEST_F(SymbolFilesTest, AFileMayBeReplacedByAnotherOfItsBuildId) {
  auto files = Open();
  SymbolUpload first = UploadOf(Bytes(1000, 1));
  SymbolUpload second = UploadOf(Bytes(1200, 2));
  ASSERT_TRUE(SendAll(files.get(), first, Bytes(1000, 1)).ok());
  EXPECT_FALSE(files->ProgressOf(second).is_complete);
  ASSERT_TRUE(SendAll(files.get(), second, Bytes(1200, 2)).ok());
  EXPECT_EQ(Stored(*files, second), Bytes(1200, 2));
}

TEST_F(SymbolFilesTest, TheApiSaysWhatIsWrongWithARequest) {
  auto files = Open();
  SymbolsApi api(files.get());
  const std::string sha256(64, 'a');
  struct Case {
    const char* build_id;
    std::string query;
    const char* problem;
  };
  for (const Case& wrong : std::initializer_list<Case>{
           {"../../../etc/passwd", "size=10&sha256=" + sha256, "build id"},
           {"0123", "size=10&sha256=" + sha256, "build id"},
           {"012345678", "size=10&sha256=" + sha256, "build id"},
           {"01234567", "size=10&kind=../x&sha256=" + sha256, "kind"},
           {"01234567", "size=10&sha256=../" + sha256.substr(3), "sha256"},
           {"01234567", "size=10", "sha256"},
           {"01234567", "size=-1&sha256=" + sha256, "size"},
           {"01234567", "sha256=" + sha256, "size"},
           {"01234567", "size=10&offset=-1&sha256=" + sha256, "offset"},
           {"01234567", "size=10&offset=9&sha256=" + sha256, "piece"},
           {"01234567", "size=10&offset=9223372036854775807&sha256=" + sha256, "piece"},
       }) {
    Response response = api.Put(wrong.build_id, wrong.query, "four");
    EXPECT_EQ(response.status, 400) << wrong.build_id << " " << wrong.query;
    EXPECT_THAT(response.body, HasSubstr(wrong.problem)) << wrong.query;
  }
  EXPECT_EQ(api.Put("01234567", "size=9000000000&sha256=" + sha256, "four").status, 413);
  EXPECT_EQ(api.Progress("zz", "").status, 400);
  EXPECT_EQ(api.List().body, "[]");
}

TEST_F(SymbolFilesTest, TheApiTakesAFileAndListsIt) {
  auto files = Open();
  SymbolsApi api(files.get());
  const std::string bytes = Bytes(10, 1);
  SymbolUpload upload = UploadOf(bytes);
  const std::string query = "kind=debug&sha256=" + upload.sha256;
  EXPECT_EQ(api.Progress("0123456789ABCDEF", query).body, R"({"complete":false,"received_bytes":0})");
  EXPECT_EQ(api.Put("0123456789abcdef", query + "&size=10&offset=0", bytes.substr(0, 4)).body,
            R"({"complete":false,"received_bytes":4})");
  EXPECT_EQ(api.Put("0123456789abcdef", query + "&size=10&offset=4", bytes.substr(4)).body,
            R"({"complete":true})");
  EXPECT_EQ(api.Progress("0123456789abcdef", "kind=debug").body, R"({"complete":true})");
  EXPECT_THAT(api.Progress("0123456789abcdef", "kind=executable").body, HasSubstr("false"));
  EXPECT_THAT(api.List().body,
              HasSubstr(R"([{"build_id":"0123456789abcdef","kind":"debug","size_bytes":10,)"));
}

}  // namespace
}  // namespace lagwatch::collector

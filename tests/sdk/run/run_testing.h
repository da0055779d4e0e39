// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of run records.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>

#include "base/crc32c.h"
#include "sdk/run/run_facts.h"
#include "sdk/run/run_record.h"

namespace lagwatch::testing {

inline sdk::RunFacts SomeFacts() {
  sdk::RunFacts facts = sdk::SystemRunFacts();
  facts.session_id = base::CreateUuidV7(facts.start_wall_ms);
  facts.app = "editor";
  facts.app_version = "2.3.1";
  facts.user = "u-71";
  return facts;
}

inline std::string RunPath(const std::string& spool, const sdk::RunFacts& facts) {
  return (spool + "/runs/" + base::ToString(facts.session_id)).append(sdk::kRunSuffix);
}

inline std::string FileContent(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

inline void WriteContent(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

// A record's page, put together by hand.
struct PageParts {
  sdk::RunHeader header{};
  sdk::RunMarks marks{};
  sdk::RunProgress progress[2] = {};

  explicit PageParts(const sdk::RunFacts& facts) : header(sdk::ToHeader(facts, true)) {}

  void FixChecksums() {
    constexpr size_t kBegin = offsetof(sdk::RunHeader, keeps_lock);
    header.crc32c = base::Crc32c(reinterpret_cast<const char*>(&header) + kBegin, sizeof header - kBegin);
    for (sdk::RunProgress& copy : progress) copy.crc32c = sdk::ProgressCrc32c(copy);
  }
  std::string Bytes() const {
    std::string bytes(sdk::RunPage::kBytes, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sdk::RunPage::kMarksAt, &marks, sizeof marks);
    for (int i = 0; i < 2; ++i)
      std::memcpy(bytes.data() + sdk::RunPage::kProgressAt[i], &progress[i], sizeof progress[i]);
    return bytes;
  }
};

// The pid of a process that is over.
inline uint32_t DeadPid() {
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return static_cast<uint32_t>(child);
}

// Runs `body` in a forked child, which then kills itself.
inline void InKilledChild(const std::function<void()>& body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace lagwatch::testing

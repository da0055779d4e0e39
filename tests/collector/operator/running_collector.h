// SPDX-License-Identifier: Apache-2.0
// The program with a data directory of its own, and what an operator asks it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/collector/http/http_client.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {

class RunningCollector : public ::testing::Test {
 protected:
  // A file's content; empty without one.
  static std::string ContentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void Start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {LAGWATCH_COLLECTOR_PROGRAM,
                                          "--listen",
                                          "127.0.0.1:0",
                                          "--data",
                                          data_,
                                          "--key",
                                          kKey,
                                          "--admin-token",
                                          "a_test",
                                          "--min-free-mib",
                                          "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    collector_ = std::make_unique<Process>(std::move(arguments));
    ASSERT_TRUE(WaitUntil([&] { return collector_->Output().ends_with('\n'); })) << collector_->Errors();
    const std::string line = collector_->Output();
    port_ = static_cast<uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  }
  void Stop() {
    collector_->Signal(SIGTERM);
    EXPECT_EQ(collector_->Wait(), 0) << collector_->Errors();
  }
  Answer Ask(const char* method, const std::string& target, const nlohmann::json& body = {}) {
    Client client(port_);
    client.headers = {"Authorization: Bearer a_test", "Content-Type: application/json"};
    const std::string text = body.dump();
    return client.Perform(method, target, body.is_null() ? nullptr : &text);
  }

  ScopedMemoryDirectory directory_;
  std::string data_ = directory_ / "data";
  std::unique_ptr<Process> collector_;
  uint16_t port_ = 0;
};

}  // namespace lagwatch::testing

// SPDX-License-Identifier: Apache-2.0
// The real collector, with a config for its clients.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/testing/process.h"

namespace lagwatch::testing {

class ConfiguredCollector {
 public:
  static constexpr char kKey[] = "k_test";

  explicit ConfiguredCollector(const std::string& data_directory) : data_(data_directory) {}

  void Start() {
    process_ = std::make_unique<Process>(std::vector<std::string>{
        LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", data_, "--key", kKey});
    const std::string announcement = "listening on ";
    ASSERT_TRUE(WaitUntil([&] { return process_->Output().ends_with('\n'); })) << process_->Errors();
    const std::string output = process_->Output();
    endpoint_ = output.substr(output.find(announcement) + announcement.size());
    endpoint_.pop_back();
    Process printer({LAGWATCH_COLLECTOR_PROGRAM, "--data", data_, "--print-public-key"});
    ASSERT_EQ(printer.Wait(), 0) << printer.Errors();
    config_key_ = printer.Output().substr(0, 64);
  }
  void Kill() { process_.reset(); }
  // Also before the start.
  void Configure(const std::string& config) const {
    std::filesystem::create_directories(data_);
    std::ofstream(data_ + "/new") << config;
    std::filesystem::rename(data_ + "/new", data_ + "/config.json");
  }

  std::string admin_token() const {
    std::string token;
    std::ifstream(data_ + "/admin-token") >> token;
    return token;
  }
  const std::string& endpoint() const { return endpoint_; }
  const std::string& config_key() const { return config_key_; }

 private:
  std::string data_;
  std::string endpoint_;
  std::string config_key_;
  std::unique_ptr<Process> process_;
};

}  // namespace lagwatch::testing

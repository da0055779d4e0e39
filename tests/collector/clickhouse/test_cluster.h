// SPDX-License-Identifier: Apache-2.0
// The cluster that ctest runs for these tests.
#pragma once

#include <unistd.h>

#include <string>

#include "collector/store/clickhouse/server/connection.h"

namespace lagwatch::testing {

// A database of one test, dropped at its end. Its name is of this process and of how many came before.
class OwnDatabase {
 public:
  OwnDatabase() {
    static int count = 0;
    name_ = "test_" + std::to_string(getpid()) + "_" + std::to_string(++count);
  }
  ~OwnDatabase() { Drop(); }
  OwnDatabase(const OwnDatabase&) = delete;
  OwnDatabase& operator=(const OwnDatabase&) = delete;

  void Drop() {
    collector::Connection nodes(collector::ClickHouseUrl::Parse(Url()).value());
    for (size_t node = 0; node < nodes.node_count(); ++node) {
      try {
        nodes.ExecuteAt(node, "DROP DATABASE IF EXISTS " + name_);
      } catch (const collector::ClickHouseError&) {
        // A node that does not run keeps it until the cluster's directory goes.
      }
    }
  }
  // Of all nodes.
  std::string Url() const {
    std::string nodes;
    for (int node = 0; node < 4; ++node) nodes += (node == 0 ? "" : ",") + Node(node);
    return "clickhouse://" + nodes + "/" + name_ + "?cluster=lagwatch";
  }
  // As if the first were by itself.
  std::string UrlOfOneNode() const { return "clickhouse://" + Node(0) + "/" + name_; }

 private:
  static std::string Node(int number) {
    return "127.0.0.1:" + std::to_string(LAGWATCH_CLICKHOUSE_PORT + number);
  }

  std::string name_;
};

}  // namespace lagwatch::testing

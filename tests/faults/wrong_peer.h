// SPDX-License-Identifier: Apache-2.0
// A server that must receive no reports: it confirms that it has stored them, but has no trusted certificate.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tests/faults/case_plan.h"
#include "tests/report/report_testing.h"
#include "tests/testing/tls_server.h"

namespace lagwatch::faults {

// Runs threads of its own.
class WrongPeer {
 public:
  // `peer` is one with TLS. `ca_path` becomes the file of those that the client knows.
  WrongPeer(Peer peer, const std::string& ca_path) {
    using lagwatch::testing::Identity;
    const Identity known = lagwatch::testing::MakeIdentity("", nullptr);
    const Identity stranger = lagwatch::testing::MakeIdentity("", nullptr);
    const Identity server = lagwatch::testing::MakeIdentity(
        peer == Peer::kNameOfAnother ? "DNS:lag.example.com,IP:127.0.0.2" : "IP:127.0.0.1",
        peer == Peer::kStranger ? &stranger : &known, peer == Peer::kExpired ? -60 : 3600);
    lagwatch::testing::WriteFile(ca_path, known.CertificatePem());
    server_.emplace(server,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
                    "Content-Length: 47\r\n\r\n{\"accepted\": 1, \"duplicates\": 0, \"rejected\": 0}");
  }

  const std::string& endpoint() const { return server_->endpoint(); }

 private:
  std::optional<lagwatch::testing::TlsServer> server_;
};

}  // namespace lagwatch::faults

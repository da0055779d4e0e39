// SPDX-License-Identifier: Apache-2.0
// The certificate that a server shows, which can be renewed while it serves. Context: background.
// Thread-safe.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"

namespace lagwatch::collector {

struct TlsFiles {
  std::string certificate;  // PEM: the server's, then those between it and the authority; empty: no TLS
  std::string key;          // PEM
};

class TlsIdentity {
 public:
  explicit TlsIdentity(TlsFiles files) : files_(std::move(files)) {}

  // Reads the files, for connections from now on. Errors: kInvalid; then the previous files stay in use.
  base::Status Load();
  // For one connection: TLS 1.2 or newer. Null before Load().
  std::shared_ptr<boost::asio::ssl::context> Current() const;

 private:
  const TlsFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<boost::asio::ssl::context> current_;  // guarded by mutex_
};

}  // namespace lagwatch::collector

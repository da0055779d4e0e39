// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/tls.h"

#include <openssl/ssl.h>

#include <boost/system/system_error.hpp>
#include <utility>

namespace lagwatch::collector {
namespace {

namespace ssl = boost::asio::ssl;

std::shared_ptr<ssl::context> CreateContext(const TlsFiles& files) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native,
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // an idle connection keeps 34 KiB less
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  context->use_certificate_chain_file(files.certificate);
  context->use_private_key_file(files.key, ssl::context::pem);  // also that the two belong together
  return context;
}

}  // namespace

base::Status TlsIdentity::Load() {
  try {
    auto loaded = CreateContext(files_);
    std::lock_guard lock(mutex_);
    current_ = std::move(loaded);
    return {};
  } catch (const boost::system::system_error& error) {
    return {base::StatusCode::kInvalid, "cannot use the certificate " + files_.certificate +
                                            " with the key " + files_.key + ": " + error.code().message() +
                                            "; give PEM files that belong together"};
  }
}

std::shared_ptr<ssl::context> TlsIdentity::Current() const {
  std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace lagwatch::collector

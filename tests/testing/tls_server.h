// SPDX-License-Identifier: Apache-2.0
// Certificates made for a test, and a TLS server that shows them.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace lagwatch::testing {

struct FreeOpenSsl {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
template <typename T>
using OpenSslPointer = std::unique_ptr<T, FreeOpenSsl>;

// A key with its certificate.
struct Identity {
  OpenSslPointer<EVP_PKEY> key;
  OpenSslPointer<X509> certificate;

  std::string CertificatePem() const {
    return Pem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate.get()); });
  }
  std::string KeyPem() const {
    return Pem(
        [&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  }

 private:
  template <typename Write>
  static std::string Pem(Write write) {
    OpenSslPointer<BIO> bio(BIO_new(BIO_s_mem()));
    write(bio.get());
    char* text;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return std::string(text, static_cast<size_t>(size));
  }
};

// Of an authority when `issuer` is null, else of a server: `names` as in "IP:127.0.0.1". It is valid until so
// many seconds from now.
inline Identity MakeIdentity(const std::string& names, const Identity* issuer, long valid_s = 3600) {
  Identity identity{OpenSslPointer<EVP_PKEY>(EVP_EC_gen("P-256")), OpenSslPointer<X509>(X509_new())};
  X509* certificate = identity.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), issuer == nullptr ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), valid_s);
  X509_set_pubkey(certificate, identity.key.get());
  X509_NAME_add_entry_by_txt(
      X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(issuer == nullptr ? "authority" : "server"), -1, -1, 0);
  X509* signer = issuer == nullptr ? certificate : issuer->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(signer));
  X509V3_CTX context;
  X509V3_set_ctx(&context, signer, certificate, nullptr, nullptr, 0);
  auto add = [&](int kind, const std::string& value) {
    OpenSslPointer<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    X509_add_ext(certificate, extension.get(), -1);
  };
  add(NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (issuer != nullptr) add(NID_subject_alt_name, names);
  if (X509_sign(certificate, issuer == nullptr ? identity.key.get() : issuer->key.get(), EVP_sha256()) == 0)
    throw std::runtime_error("the certificate cannot be signed");
  return identity;
}

// Gives each connection the same answer.
class TlsServer {
 public:
  TlsServer(const Identity& identity, std::string answer, int newest_version = TLS1_3_VERSION)
      : answer_(std::move(answer)), context_(SSL_CTX_new(TLS_server_method())) {
    signal(SIGPIPE, SIG_IGN);  // a client that refuses the certificate is gone before the server knows
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_max_proto_version(context_.get(), newest_version);
    SSL_CTX_use_certificate(context_.get(), identity.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), identity.key.get());
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof address;
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_up = bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                 listen(listener_, 8) == 0 &&
                 getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (!is_up) throw std::runtime_error("cannot listen on the loopback interface");
    endpoint_ = "https://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] {
      for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) Serve(fd);
    });
  }
  ~TlsServer() {
    Stop();
    close(listener_);
  }
  // Returns everything that was received.
  std::string Stop() {
    shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    return received_;
  }

  const std::string& endpoint() const { return endpoint_; }

 private:
  // Until the request's end, or the connection's.
  void Serve(int fd) {
    {
      OpenSslPointer<SSL> connection(SSL_new(context_.get()));
      SSL_set_fd(connection.get(), fd);
      if (SSL_accept(connection.get()) == 1) {
        char piece[4096];
        std::string request;
        for (int got; !IsWhole(request) && (got = SSL_read(connection.get(), piece, sizeof piece)) > 0;)
          request.append(piece, static_cast<size_t>(got));
        received_ += request;
        SSL_write(connection.get(), answer_.data(), static_cast<int>(answer_.size()));
        SSL_shutdown(connection.get());
      }
    }
    ERR_clear_error();
    close(fd);
  }
  static bool IsWhole(const std::string& request) {
    const size_t head_end = request.find("\r\n\r\n");
    const size_t length_at = request.find("Content-Length: ");
    if (head_end == std::string::npos) return false;
    const size_t body_size = length_at < head_end ? std::stoul(request.substr(length_at + 16)) : 0;
    return request.size() >= head_end + 4 + body_size;
  }

  std::string answer_;
  OpenSslPointer<SSL_CTX> context_;
  std::string endpoint_;
  std::string received_;
  int listener_;
  std::thread thread_;
};

}  // namespace lagwatch::testing

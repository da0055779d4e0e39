// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/pipe_way.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace lagwatch::faults {
namespace {

bool Read(int socket, void* to, size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, 0);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool Write(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::optional<std::string> ReadText(int socket) {
  uint32_t size = 0;
  if (!Read(socket, &size, sizeof size)) return std::nullopt;
  std::string text(size, '\0');
  if (!Read(socket, text.data(), size)) return std::nullopt;
  return text;
}

void AppendText(std::string_view text, std::string* frame) {
  const auto size = static_cast<uint32_t>(text.size());
  frame->append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

}  // namespace

report::UploadAnswer PipeTransport::Post(std::string_view gzip_body) {
  may_end_();
  std::string frame;
  AppendText(gzip_body, &frame);
  if (!Write(socket_, frame)) _exit(EXIT_FAILURE);
  may_end_();
  const auto status = ReadText(socket_);
  const auto type = ReadText(socket_);
  const auto retry_after = ReadText(socket_);
  const auto body = ReadText(socket_);
  if (!status || !type || !retry_after || !body) _exit(EXIT_FAILURE);
  may_end_();
  if (*status == "0") return {.message = "there is no answer"};
  report::UploadAnswer answer = report::ParseUploadAnswer(std::stoi(*status), *type, *body);
  answer.retry_after_s = std::strtoll(retry_after->c_str(), nullptr, 10);  // unchecked, as from a host
  return answer;
}

std::optional<std::string> ReadRequest(int socket) { return ReadText(socket); }

void WriteReply(int socket, const Reply& reply) {
  const bool is_cut = reply.manner == Manner::kCut;
  const bool has_answer = is_cut || reply.manner == Manner::kWhole || reply.manner == Manner::kSlow;
  const std::string_view body(reply.body);
  std::string frame;
  AppendText(has_answer ? std::to_string(reply.status) : "0", &frame);
  AppendText(reply.content_type, &frame);
  AppendText(reply.retry_after, &frame);
  AppendText(body.substr(0, is_cut ? body.size() / 2 : body.size()), &frame);
  Write(socket, frame);
}

}  // namespace lagwatch::faults

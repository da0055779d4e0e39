// SPDX-License-Identifier: Apache-2.0
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "watchdog/waits/unix_sockets.h"

namespace lagwatch::watchdog {
namespace {

constexpr uint32_t kListening = 10;  // TCP_LISTEN, for sockets of all kinds

// Calls `visit(inode, attribute)` for each attribute of each socket in one answer. Returns whether more
// answers follow.
template <typename Visit>
bool ReadAnswer(int netlink, Visit visit) {
  alignas(nlmsghdr) char answer[16 * 1024];
  const ssize_t size = recvfrom(netlink, answer, sizeof answer, MSG_DONTWAIT, nullptr, nullptr);
  auto left = static_cast<uint32_t>(std::max<ssize_t>(size, 0));
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len < NLMSG_LENGTH(sizeof(unix_diag_msg)))
      return false;
    const auto* message = static_cast<const unix_diag_msg*>(NLMSG_DATA(header));
    auto rest = static_cast<uint32_t>(header->nlmsg_len - NLMSG_LENGTH(sizeof *message));
    auto* attribute = reinterpret_cast<const rtattr*>(message + 1);
    for (; RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest))
      visit(message->udiag_ino, *attribute);
  }
  return size > 0;
}

// The same for all sockets that `request` is for, within the kernel.
template <typename Visit>
void Ask(const unix_diag_req& request, uint16_t flags, Visit visit) {
  const int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0) return;
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  question.request = request;
  question.request.sdiag_family = AF_UNIX;
  bool goes_on = sendto(netlink, &question, sizeof question, 0, nullptr, 0) >= 0;
  while (goes_on) goes_on = ReadAnswer(netlink, visit) && (flags & NLM_F_DUMP) != 0;
  close(netlink);
}

}  // namespace

std::optional<UnixSocket> FindUnixSocket(uint32_t inode) {
  unix_diag_req request{};
  request.udiag_states = ~0u;
  request.udiag_ino = inode;
  // The second one is there of every socket.
  request.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_RQLEN | UDIAG_SHOW_PEER;
  request.udiag_cookie[0] = request.udiag_cookie[1] = ~0u;  // any
  std::optional<UnixSocket> found;
  Ask(request, 0, [&](uint32_t, const rtattr& attribute) {
    if (!found) found.emplace();
    const auto* data = static_cast<const char*>(RTA_DATA(&attribute));
    const size_t data_size = RTA_PAYLOAD(&attribute);
    if (attribute.rta_type == UNIX_DIAG_PEER && data_size >= sizeof found->peer_inode)
      std::memcpy(&found->peer_inode, data, sizeof found->peer_inode);
    if (attribute.rta_type == UNIX_DIAG_NAME) {
      const size_t skipped = data_size != 0 && *data == '\0' ? 1 : 0;
      const size_t kept = std::min(data_size - skipped, sizeof found->name - 1);
      std::memcpy(found->name, data + skipped, kept);
      found->is_abstract = skipped != 0;
    }
  });
  return found;
}

uint32_t FindListenerOf(uint32_t inode) {
  unix_diag_req request{};
  request.udiag_states = 1u << kListening;
  request.udiag_show = UDIAG_SHOW_ICONS;
  uint32_t found = 0;
  Ask(request, NLM_F_DUMP, [&](uint32_t listener, const rtattr& attribute) {
    if (attribute.rta_type != UNIX_DIAG_ICONS) return;
    const auto* pending = static_cast<const uint32_t*>(RTA_DATA(&attribute));
    const uint32_t* end = pending + RTA_PAYLOAD(&attribute) / sizeof *pending;
    if (std::find(pending, end, inode) != end) found = listener;
  });
  return found;
}

}  // namespace lagwatch::watchdog

// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "watchdog/waits/peers/bus_message.h"

namespace lagwatch::watchdog {
namespace {

constexpr size_t kFixedBytes = 16;
constexpr size_t kMostFieldBytes = 64 * 1024;

// Numbers and texts of the codes that follow the fixed part, as they stand in a message.
constexpr char kPath = 1;
constexpr char kInterface = 2;
constexpr char kMember = 3;
constexpr char kReplySerial = 5;
constexpr char kDestination = 6;

constexpr size_t Aligned(size_t at, size_t to) { return (at + to - 1) / to * to; }

class FieldReader {
 public:
  FieldReader(std::string_view bytes, bool is_swapped, size_t at)
      : bytes_(bytes), swaps_(is_swapped), at_(at) {}

  bool ReadByte(uint8_t* byte) {
    if (at_ >= bytes_.size()) return false;
    *byte = static_cast<uint8_t>(bytes_[at_++]);
    return true;
  }
  bool ReadNumber(uint32_t* number) {
    at_ = Aligned(at_, sizeof *number);
    if (at_ > bytes_.size() || bytes_.size() - at_ < sizeof *number) return false;
    std::memcpy(number, bytes_.data() + at_, sizeof *number);
    if (swaps_) *number = __builtin_bswap32(*number);
    at_ += sizeof *number;
    return true;
  }
  // With the zero at its end, which is not part of it.
  bool ReadText(size_t size, std::string_view* text) {
    if (at_ > bytes_.size() || bytes_.size() - at_ <= size || bytes_[at_ + size] != '\0') return false;
    *text = bytes_.substr(at_, size);
    at_ += size + 1;
    return true;
  }
  void Align(size_t to) { at_ = Aligned(at_, to); }
  size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  bool swaps_;
  size_t at_;
};

// One field: its code, and its value with the type before it.
bool ReadField(FieldReader* reader, BusHeader* header) {
  uint8_t code = 0;
  uint8_t type_bytes = 0;
  std::string_view type;
  if (!reader->ReadByte(&code) || !reader->ReadByte(&type_bytes) || !reader->ReadText(type_bytes, &type))
    return false;
  if (type == "u") {
    uint32_t number = 0;
    if (!reader->ReadNumber(&number)) return false;
    if (code == kReplySerial) header->reply_serial = number;
    return true;
  }
  std::string_view text;
  if (type == "g") {
    uint8_t size = 0;
    return reader->ReadByte(&size) && reader->ReadText(size, &text);
  }
  uint32_t size = 0;
  if ((type != "s" && type != "o") || !reader->ReadNumber(&size) || !reader->ReadText(size, &text))
    return false;
  if (code == kMember) header->member = text;
  if (code == kDestination) header->destination = text;
  return true;
}

// A message without room for more than the bus's own names.
class Message {
 public:
  explicit Message(uint32_t serial, const char* member, std::string_view argument) {
    const bool has_argument = !argument.empty();
    const size_t body_bytes = has_argument ? sizeof(uint32_t) + argument.size() + 1 : 0;
    const char fixed[] = {std::endian::native == std::endian::little ? 'l' : 'B', BusHeader::kCall, 0, 1};
    Put(fixed, sizeof fixed);
    PutNumber(static_cast<uint32_t>(body_bytes));
    PutNumber(serial);
    const size_t length_at = size_;
    PutNumber(0);
    PutField(kPath, 'o', "/org/freedesktop/DBus");
    PutField(kInterface, 's', "org.freedesktop.DBus");
    PutField(kMember, 's', member);
    PutField(kDestination, 's', "org.freedesktop.DBus");
    if (has_argument) {
      Align(8);
      const char signature[] = {8, 1, 'g', 0, 1, 's', 0};
      Put(signature, sizeof signature);
    }
    const auto field_bytes = static_cast<uint32_t>(size_ - kFixedBytes);
    std::memcpy(bytes_ + length_at, &field_bytes, sizeof field_bytes);
    Align(8);
    if (!has_argument) return;
    PutNumber(static_cast<uint32_t>(argument.size()));
    Put(argument.data(), argument.size());
    Put("", 1);
  }
  std::string_view bytes() const { return {bytes_, size_}; }

 private:
  void Put(const char* bytes, size_t size) {
    if (size > sizeof bytes_ - size_) return;
    std::memcpy(bytes_ + size_, bytes, size);
    size_ += size;
  }
  void PutNumber(uint32_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    Put(bytes, sizeof bytes);
  }
  void Align(size_t to) {
    while (size_ % to != 0) Put("", 1);
  }
  void PutField(char code, char type, std::string_view text) {
    Align(8);
    const char head[] = {code, 1, type, 0};
    Put(head, sizeof head);
    PutNumber(static_cast<uint32_t>(text.size()));
    Put(text.data(), text.size());
    Put("", 1);
  }

  char bytes_[512] = {};
  size_t size_ = 0;
};

// A connection that waits no longer than until a time.
class BusConnection {
 public:
  BusConnection(const sockaddr* address, socklen_t address_bytes, int64_t deadline_ns)
      : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), deadline_ns_(deadline_ns) {
    is_connected_ = fd_ >= 0 && connect(fd_, address, address_bytes) == 0;
  }
  ~BusConnection() {
    if (fd_ >= 0) close(fd_);
  }
  BusConnection(const BusConnection&) = delete;
  BusConnection& operator=(const BusConnection&) = delete;

  bool is_connected() const { return is_connected_; }
  // All at once: it is far less than a socket takes.
  bool Send(std::string_view bytes) {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // The number of bytes; 0 at the end, or when it is too late.
  size_t Receive(char* bytes, size_t size) {
    for (;;) {
      const ssize_t got = recv(fd_, bytes, size, 0);
      if (got >= 0) return static_cast<size_t>(got);
      const int64_t left_ns = deadline_ns_ - base::SystemClock().MonoNs();
      if (left_ns <= 0) return 0;
      pollfd one{.fd = fd_, .events = POLLIN, .revents = 0};
      const timespec wait{.tv_sec = left_ns / base::kNsPerSecond, .tv_nsec = left_ns % base::kNsPerSecond};
      if (ppoll(&one, 1, &wait, nullptr) <= 0) return 0;
    }
  }

 private:
  int fd_;
  int64_t deadline_ns_;
  bool is_connected_ = false;
};

constexpr uint32_t kHelloSerial = 1;
constexpr uint32_t kQuestionSerial = 2;

// Both may be sent before the bus has answered: it takes what follows once the user is known.
bool SendQuestion(BusConnection* bus, std::string_view name) {
  char user[16];
  const int user_bytes = std::snprintf(user, sizeof user, "%u", geteuid());
  char text[96];
  size_t size = 1;
  text[0] = '\0';
  size += static_cast<size_t>(std::snprintf(text + size, sizeof text - size, "AUTH EXTERNAL "));
  for (int i = 0; i < user_bytes; ++i)
    size += static_cast<size_t>(std::snprintf(text + size, sizeof text - size, "%02x", user[i]));
  size += static_cast<size_t>(std::snprintf(text + size, sizeof text - size, "\r\nBEGIN\r\n"));
  return bus->Send({text, size}) && bus->Send(Message(kHelloSerial, "Hello", "").bytes()) &&
         bus->Send(Message(kQuestionSerial, "GetConnectionUnixProcessID", name).bytes());
}

}  // namespace

std::optional<BusHeader> BusHeader::Parse(std::string_view bytes) {
  if (bytes.size() < kFixedBytes || (bytes[0] != 'l' && bytes[0] != 'B') || bytes[3] != 1)
    return std::nullopt;
  BusHeader header;
  header.is_swapped = (bytes[0] == 'l') != (std::endian::native == std::endian::little);
  header.type = static_cast<uint8_t>(bytes[1]);
  header.is_answered = (bytes[2] & 1) == 0;
  FieldReader reader(bytes, header.is_swapped, 4);
  uint32_t field_bytes = 0;
  if (!reader.ReadNumber(&header.body_bytes) || !reader.ReadNumber(&header.serial) ||
      !reader.ReadNumber(&field_bytes) || field_bytes > kMostFieldBytes ||
      field_bytes > bytes.size() - kFixedBytes)
    return std::nullopt;
  const size_t end = kFixedBytes + field_bytes;
  FieldReader fields(bytes.substr(0, end), header.is_swapped, kFixedBytes);
  while (fields.at() < end) {
    if (!ReadField(&fields, &header)) return std::nullopt;
    fields.Align(8);
  }
  header.body_begin = static_cast<uint32_t>(Aligned(end, 8));
  return header;
}

int32_t AskBusForProcess(const sockaddr* address, socklen_t address_bytes, std::string_view name,
                         int64_t wait_ns) {
  BusConnection bus(address, address_bytes, base::SystemClock().MonoNs() + wait_ns);
  if (!bus.is_connected() || !SendQuestion(&bus, name)) return 0;
  char received[4096];
  size_t size = 0;
  bool is_known = false;  // the bus has taken us for a user
  for (;;) {
    const size_t got = bus.Receive(received + size, sizeof received - size);
    if (got == 0) return 0;
    size += got;
    size_t taken = 0;
    if (!is_known) {
      const std::string_view text(received, size);
      const size_t end = text.find("\r\n");
      if (end == std::string_view::npos) continue;
      if (!text.starts_with("OK")) return 0;
      is_known = true;
      taken = end + 2;
    }
    while (size - taken >= kFixedBytes) {
      const std::string_view message(received + taken, size - taken);
      const auto header = BusHeader::Parse(message);
      const size_t whole = header ? static_cast<size_t>(header->body_begin) + header->body_bytes : 0;
      if (whole == 0 || whole > message.size()) break;  // the rest is still to come
      if (header->reply_serial == kQuestionSerial) {
        uint32_t pid = 0;
        FieldReader body(message, header->is_swapped, header->body_begin);
        return header->type == BusHeader::kReturn && body.ReadNumber(&pid) ? static_cast<int32_t>(pid) : 0;
      }
      taken += whole;
    }
    std::memmove(received, received + taken, size - taken);
    size -= taken;
    if (size == sizeof received) return 0;
  }
}

}  // namespace lagwatch::watchdog

// SPDX-License-Identifier: Apache-2.0
#include "watchdog/waits/peers/bus_calls.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "base/clock.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"
#include "watchdog/waits/peers/bus_message.h"

namespace lagwatch::watchdog {
namespace {

// A call as GDBus sends it: fields in its order, and a body.
std::string Call(const std::string& destination, uint8_t flags = 0) {
  std::string bytes = {'l', 1, static_cast<char>(flags), 1};
  const auto put_number = [&](uint32_t number) { bytes.append(reinterpret_cast<const char*>(&number), 4); };
  const auto align = [&] { bytes.resize((bytes.size() + 7) / 8 * 8); };
  const auto put_text = [&](char code, char type, const std::string& text) {
    align();
    bytes += {code, 1, type, 0};
    put_number(static_cast<uint32_t>(text.size()));
    bytes += text + '\0';
  };
  put_number(4);   // of the body
  put_number(77);  // serial
  put_number(0);
  put_text(1, 'o', "/org/example");
  put_text(6, 's', destination);
  align();
  bytes += {8, 1, 'g', 0, 1, 'i', 0};
  put_text(2, 's', "org.example.Interface");
  put_text(3, 's', "Work");
  const auto field_bytes = static_cast<uint32_t>(bytes.size() - 16);
  std::memcpy(bytes.data() + 12, &field_bytes, 4);
  align();
  put_number(5);
  return bytes;
}

TEST(BusHeaderTest, HasTheFieldsOfACall) {
  const std::string bytes = Call("org.example.Service");
  const auto header = BusHeader::Parse(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->type, BusHeader::kCall);
  EXPECT_TRUE(header->is_answered);
  EXPECT_EQ(header->serial, 77u);
  EXPECT_EQ(header->destination, "org.example.Service");
  EXPECT_EQ(header->member, "Work");
  EXPECT_EQ(header->body_begin + header->body_bytes, bytes.size());
}

TEST(BusHeaderTest, OfCutAndChangedMessagesStaysWithinThem) {
  const std::string whole = Call("org.example.Service");
  const size_t header_bytes = whole.size() - 4;
  for (size_t size = 0; size + 8 < header_bytes; ++size)
    EXPECT_FALSE(BusHeader::Parse(std::string(whole, 0, size))) << size;
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    std::string changed(whole, 0, 1 + random() % whole.size());
    for (int change = 0; change < 3; ++change)
      changed[random() % changed.size()] = static_cast<char>(random());
    const auto header = BusHeader::Parse(changed);
    if (!header) continue;
    const auto is_within = [&](std::string_view text) {
      return text.empty() ||
             (text.data() >= changed.data() && text.data() + text.size() <= changed.data() + changed.size());
    };
    EXPECT_TRUE(is_within(header->destination) && is_within(header->member));
  }
}

void Send(BusCalls* calls, const std::string& bytes, int64_t now_ns = 1) {
  iovec pieces[2] = {{const_cast<char*>(bytes.data()), 20},
                     {const_cast<char*>(bytes.data()) + 20, bytes.size() - 20}};
  ASSERT_TRUE(BusCalls::MayBeCall(pieces[0].iov_base, pieces[0].iov_len));
  calls->Note(7, pieces, 2, bytes.size(), now_ns);
}

TEST(BusCallsTest, KnowTheLastOneOfEachThread) {
  BusCalls calls;
  EXPECT_FALSE(calls.LastOf(gettid()));
  Send(&calls, Call("org.example.First"), 1);
  Send(&calls, Call("org.example.Second"), 2);
  std::thread([&] { Send(&calls, Call("org.example.Other"), 3); }).join();
  const auto last = calls.LastOf(gettid());
  ASSERT_TRUE(last);
  EXPECT_STREQ(last->destination, "org.example.Second");
  EXPECT_STREQ(last->member, "Work");
  EXPECT_EQ(last->serial, 77u);
  EXPECT_EQ(last->fd, 7);
}

TEST(BusCallsTest, AreThoseThatAreAnswered) {
  BusCalls calls;
  constexpr uint8_t kNoReplyExpected = 1;
  Send(&calls, Call("org.example.Service", kNoReplyExpected));
  Send(&calls, Call(std::string(200, 'a')));  // too long to be kept
  EXPECT_FALSE(calls.LastOf(gettid()));
}

TEST(BusCallsTest, OfLibrariesAreThoseOfTheirThreads) {
  for (const char* name : {"gdbus", "QDBusConnection"}) {
    BusCalls calls;
    Send(&calls, Call("org.example.Own"), 5);
    bool is_found = false;
    std::thread([&] {
      pthread_setname_np(pthread_self(), name);
      Send(&calls, Call("org.example.Service"), 3);
      const auto last = calls.LastOfWorkers(base::Process::Own(), 2);
      is_found = last && std::string(last->destination) == "org.example.Service" &&
                 !calls.LastOfWorkers(base::Process::Own(), 4);
    }).join();
    EXPECT_TRUE(is_found) << name;
  }
}

TEST(BusCallsTest, AreReadFromAnotherProcess) {
  BusCalls calls, copy;
  Send(&calls, Call("org.example.Service"));
  const base::Process other = base::Process::Other(getpid());
  ASSERT_TRUE(copy.CopyFrom(other, reinterpret_cast<uint64_t>(&calls)));
  const auto last = copy.LastOf(gettid());
  ASSERT_TRUE(last);
  EXPECT_STREQ(last->destination, "org.example.Service");
  EXPECT_FALSE(copy.CopyFrom(other, 0));
}

TEST(BusCallsTest, AreFoundInAProcessWithTheSameProgram) {
  stack::ModuleMap own, other(base::Process::Other(getpid()));
  own.Refresh();
  other.Refresh();
  EXPECT_EQ(FindBusCalls(own, other), reinterpret_cast<uint64_t>(&ProcessBusCalls()));
  stack::ModuleMap foreign(base::Process::Other(1));
  foreign.Refresh();
  EXPECT_EQ(FindBusCalls(own, foreign), 0u);
}

constexpr int64_t kLongNs = 10 * base::kNsPerSecond;

class BusTest : public ::testing::Test {
 protected:
  BusTest() {
    const std::string path = directory_ / "bus";
    address_.sun_family = AF_UNIX;
    path.copy(address_.sun_path, sizeof address_.sun_path - 1);
  }
  int32_t Ask(const char* name, int64_t wait_ns = kLongNs) {
    return AskBusForProcess(reinterpret_cast<const sockaddr*>(&address_), sizeof address_, name, wait_ns);
  }

  testing::ScopedTempDirectory directory_;
  sockaddr_un address_{};
};

TEST_F(BusTest, SaysWhichProcessHasAName) {
  const std::string address = "--address=unix:path=" + (directory_ / "bus");
  testing::Process bus({"/usr/bin/dbus-daemon", "--session", "--nofork", "--nopidfile", address});
  ASSERT_TRUE(testing::WaitUntil([&] { return access(address_.sun_path, F_OK) == 0; }, 10));
  EXPECT_EQ(Ask("org.freedesktop.DBus"), bus.pid());
  EXPECT_EQ(Ask("org.example.None"), 0);
  kill(bus.pid(), SIGSTOP);
  EXPECT_EQ(Ask("org.freedesktop.DBus", base::kNsPerMs), 0);
  kill(bus.pid(), SIGKILL);
}

TEST_F(BusTest, MayBeNone) {
  EXPECT_EQ(Ask("org.freedesktop.DBus"), 0);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  for (const std::string& answer :
       {std::string("REJECTED\r\n"), std::string(8192, 'x'), "OK 1\r\n" + std::string(8192, 'l')}) {
    std::thread server([&] {
      const int client = accept(listener, nullptr, nullptr);
      [[maybe_unused]] const ssize_t sent = send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      close(client);
    });
    EXPECT_EQ(Ask("org.freedesktop.DBus"), 0);
    server.join();
  }
  close(listener);
}

}  // namespace
}  // namespace lagwatch::watchdog

// SPDX-License-Identifier: Apache-2.0
#include "sdk/waits/wait_home.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ctime>
#include <vector>

#include "watchdog/evidence/idle_places.h"

namespace lagwatch::sdk {
namespace {

constexpr uintptr_t kSite = 0x1000;
constexpr uintptr_t kOtherSite = 0x2000;
constexpr uintptr_t kFrame = 0x7fff'0000;
constexpr uintptr_t kDeeper = kFrame - 4096;
constexpr uintptr_t kShallower = kFrame + 4096;

class WaitHomeTest : public ::testing::Test {
 protected:
  ~WaitHomeTest() override {
    for (int descriptor : opened_) close(descriptor);
  }
  int Open() {
    opened_.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return opened_.back();
  }
  static std::vector<pollfd> Set(const std::vector<int>& descriptors) {
    std::vector<pollfd> set;
    for (int descriptor : descriptors) set.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    return set;
  }
  static void Pause() {
    constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'200'000};
    nanosleep(&kPause, nullptr);
  }
  // Whether the wait serves. Each is a long one.
  bool Wait(const WaitCall& call) {
    const bool serves = home_.Serves(call);
    Pause();
    EXPECT_EQ(home_.GoesOn(true), !serves);
    return serves;
  }
  bool Epoll(int epoll, uintptr_t site = kSite, uintptr_t frame = kFrame) {
    return Wait({WaitSet::Epoll(epoll), site, frame});
  }
  bool Poll(const std::vector<int>& descriptors, uintptr_t site = kSite, uintptr_t frame = kFrame) {
    return Wait(CallOf(descriptors, site, frame));
  }
  // Valid until the next one.
  WaitCall CallOf(const std::vector<int>& descriptors, uintptr_t site, uintptr_t frame) {
    set_ = Set(descriptors);
    return {WaitSet::Poll(set_.data(), set_.size()), site, frame};
  }

  std::vector<pollfd> set_;
  WaitHome home_{};
  std::vector<int> opened_;
};

TEST_F(WaitHomeTest, AWaitAboveServesUntilThereIsAHome) {
  const int home = Open();
  const int other = Open();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Epoll(home));
  EXPECT_TRUE(Epoll(other, kOtherSite, kShallower));
  EXPECT_TRUE(Epoll(home));
  EXPECT_FALSE(Epoll(other, kOtherSite, kDeeper));
}

// In the first dispatch of a loop.
TEST_F(WaitHomeTest, AnEarlyWaitIsAHandlersIfTheThreadComesBack) {
  const int wake = Open();
  const int display = Open();
  EXPECT_TRUE(Poll({display, wake}));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(Poll({Open()}, kOtherSite, kFrame + 100));  // beside it, in steps
  EXPECT_TRUE(home_.is_doubtful());
  EXPECT_FALSE(home_.has_shown_handler());
  EXPECT_TRUE(Poll({display, wake}));
  EXPECT_TRUE(home_.has_shown_handler());
  EXPECT_EQ(home_.handler_since_ns(), 0);
  EXPECT_TRUE(Poll({display, wake}));
  EXPECT_FALSE(home_.has_shown_handler());
}

TEST_F(WaitHomeTest, AnEarlyWaitMayBeAnotherLoops) {
  const int wake = Open();
  const int display = Open();
  const int server = Open();
  EXPECT_TRUE(Poll({display, wake}));
  EXPECT_FALSE(Poll({server}, kOtherSite, kDeeper));
  constexpr timespec kWork{.tv_sec = 0, .tv_nsec = 60'000'000};
  nanosleep(&kWork, nullptr);
  EXPECT_TRUE(Poll({server}, kOtherSite, kDeeper));
  EXPECT_TRUE(home_.has_shown_handler());
  EXPECT_GT(home_.handler_since_ns(), 0);  // that loop's handler, not what it waited for before
}

TEST_F(WaitHomeTest, StandardInputIsALoopsFromTheBegin) {
  EXPECT_TRUE(Poll({STDIN_FILENO}));
  EXPECT_FALSE(Poll({Open()}));  // a script's functions have no frames in C
  EXPECT_TRUE(Poll({STDIN_FILENO}));
  EXPECT_TRUE(home_.has_shown_handler());
  EXPECT_TRUE(Poll({Open()}, kOtherSite, kShallower));
}

TEST_F(WaitHomeTest, ASetFromAfterAFirstWaitLacksWhatWasNotReady) {
  const int display = Open();
  const int wake = Open();
  fd_set both;
  FD_ZERO(&both);
  FD_SET(display, &both);
  const int limit = wake + 1;
  home_.NoteFirst({WaitSet::Select(limit, &both, nullptr, nullptr), kSite, kFrame});
  for (int i = 0; i < 3; ++i) {
    FD_SET(wake, &both);
    Wait({WaitSet::Select(limit, &both, nullptr, nullptr), kSite, kFrame});
  }
  EXPECT_FALSE(home_.is_home_shared());
}

TEST_F(WaitHomeTest, TheSameLoopNestedServes) {
  const int home = Open();
  for (int i = 0; i < 3; ++i) Epoll(home);
  EXPECT_TRUE(Epoll(home, kOtherSite, kDeeper));
}

TEST_F(WaitHomeTest, APolledLoopIsKnownByItsDescriptors) {
  const int display = Open();
  const int wake = Open();
  const int dialog = Open();
  for (int i = 0; i < 3; ++i) Poll({display, wake});
  EXPECT_TRUE(Poll({wake, dialog, display}, kOtherSite, kDeeper));  // a dialog has more sources
  EXPECT_FALSE(Poll({dialog}, kSite, kDeeper));                     // a private context
  EXPECT_FALSE(Poll({display}, kOtherSite, kDeeper));               // the answer to a request
  EXPECT_TRUE(Poll({display, dialog}));                             // a source went
  EXPECT_TRUE(Poll({display, wake}));
}

TEST_F(WaitHomeTest, ASelectedLoopIsKnownByItsDescriptors) {
  const int terminal = Open();
  const int child = Open();
  fd_set both;
  FD_ZERO(&both);
  FD_SET(terminal, &both);
  FD_SET(child, &both);
  fd_set one;
  FD_ZERO(&one);
  FD_SET(child, &one);
  const int limit = child + 1;
  for (int i = 0; i < 3; ++i) Wait({WaitSet::Select(limit, &both, nullptr, nullptr), kSite, kFrame});
  EXPECT_TRUE(Wait({WaitSet::Select(limit, &one, nullptr, &both), kSite, kDeeper}));
  EXPECT_FALSE(Wait({WaitSet::Select(limit, &one, nullptr, nullptr), kSite, kDeeper}));
}

TEST_F(WaitHomeTest, ALoopOfOneDescriptorIsKnownByItsPlace) {
  const int server = Open();
  for (int i = 0; i < 2; ++i) Poll({server});
  EXPECT_EQ(home_.home_frame(), 0u);
  Poll({server});
  EXPECT_EQ(home_.home_frame(), kFrame);
  EXPECT_TRUE(home_.is_home_shared());
  EXPECT_FALSE(Poll({Open()}, kOtherSite, kDeeper));
  EXPECT_TRUE(home_.is_doubtful());                     // a client may have gone on to its loop
  EXPECT_TRUE(Poll({Open()}, kOtherSite, kShallower));  // as it has here,
  EXPECT_TRUE(Poll({Open()}, kOtherSite, kFrame));      // or to another server
  EXPECT_TRUE(Poll({server}, kOtherSite, kDeeper));     // nested, or a request
}

TEST_F(WaitHomeTest, AClientOfOneServerHasALoopOfManyDescriptors) {
  const int server = Open();
  const int wake = Open();
  for (int i = 0; i < 4; ++i) Poll({server});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Poll({wake, server, Open()}, kOtherSite, kDeeper) && i > 2);
  EXPECT_TRUE(Poll({wake, server}, kOtherSite, kDeeper));
}

TEST_F(WaitHomeTest, AClientOfOneServerHasALoopBelowItOfAnotherOne) {
  const int server = Open();
  const int display = Open();
  for (int i = 0; i < 4; ++i) Poll({server});
  const uint32_t moves = home_.home_moves();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(Poll({display}, kOtherSite, kDeeper));
    EXPECT_TRUE(home_.is_doubtful());
  }
  home_.Serves(CallOf({display}, kOtherSite, kDeeper));
  Pause();
  EXPECT_FALSE(home_.GoesOn(true));  // it has waited there more often
  EXPECT_EQ(home_.home_frame(), kDeeper);
  EXPECT_EQ(home_.home_moves(), moves + 1);
  EXPECT_FALSE(home_.is_doubtful());
}

TEST_F(WaitHomeTest, AHomeThatGoesToAnotherPlaceOfTheSameLoopHasNotMoved) {
  const std::vector<int> descriptors = {Open(), Open()};
  for (int i = 0; i < 4; ++i) Poll(descriptors);
  const uint32_t moves = home_.home_moves();
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(Poll(descriptors, kOtherSite));
  EXPECT_EQ(home_.home_site(), kOtherSite);
  EXPECT_EQ(home_.home_moves(), moves);
  const std::vector<int> others = {Open(), Open()};
  for (int i = 0; i < 28; ++i) Poll(others, kSite + 8, kShallower);
  EXPECT_EQ(home_.home_site(), kSite + 8);
  EXPECT_EQ(home_.home_moves(), moves + 1);
}

TEST_F(WaitHomeTest, AWaitOfOtherDescriptorsIsDoubtfulUntilTheLoopIsProven) {
  const int display = Open();
  const int wake = Open();
  for (int i = 0; i < 4; ++i) Poll({display, wake});
  EXPECT_FALSE(Poll({Open(), wake}, kOtherSite, kDeeper));
  EXPECT_TRUE(home_.is_doubtful());
  Poll({display, wake});
  EXPECT_FALSE(Poll({Open(), wake}, kOtherSite, kDeeper));
  EXPECT_FALSE(home_.is_doubtful());  // it has come back
}

// A greeting is exchanged in one loop, and another one serves for good, a call deeper.
TEST_F(WaitHomeTest, AWaitBelowALoopThatHasLivedForShortIsDoubtful) {
  const int display = Open();
  const int wake = Open();
  for (int i = 0; i < 15; ++i) Poll({display, wake});
  EXPECT_FALSE(Poll({Open(), wake}, kOtherSite, kDeeper));
  EXPECT_TRUE(home_.is_doubtful());
}

TEST_F(WaitHomeTest, AWaitForOneDescriptorBelowAYoungLoopIsItsHandlers) {
  const int display = Open();
  const int wake = Open();
  for (int i = 0; i < 15; ++i) Poll({display, wake});
  EXPECT_FALSE(Poll({Open()}, kOtherSite, kDeeper));
  EXPECT_FALSE(home_.is_doubtful());
}

TEST_F(WaitHomeTest, AWaitBelowALoopThatHasLivedForLongIsItsHandlers) {
  const int display = Open();
  const int wake = Open();
  for (int i = 0; i < 3; ++i) Poll({display, wake});
  constexpr timespec kLife{.tv_sec = 0, .tv_nsec = 550'000'000};
  nanosleep(&kLife, nullptr);
  for (int i = 0; i < 8; ++i) Poll({display, wake});
  EXPECT_FALSE(Poll({Open(), wake}, kOtherSite, kDeeper));
  EXPECT_FALSE(home_.is_doubtful());
}

class ScriptHomeTest : public WaitHomeTest {
 protected:
  ScriptHomeTest() { WaitHome::scripts_have_no_frames.store(true); }
  ~ScriptHomeTest() override { WaitHome::scripts_have_no_frames.store(false); }
};

// subprocess.run() in a handler of a loop of one descriptor.
TEST_F(ScriptHomeTest, AHandlersWaitAtTheLoopsPlaceIsKnownByWhatItHasClosed) {
  const int server = Open();
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(Poll({server}));
  const int output = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Poll({output}));
  EXPECT_TRUE(home_.is_doubtful());
  close(output);
  EXPECT_TRUE(Poll({server}));
  EXPECT_TRUE(home_.has_shown_handler());
  EXPECT_EQ(home_.handler_since_ns(), 0);
}

TEST_F(ScriptHomeTest, AClientOfTwoServersHasNoHandlers) {
  const int server = Open();
  const int other = Open();
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(Poll({server}));
  EXPECT_FALSE(Poll({other}));
  EXPECT_TRUE(Poll({server}));
  EXPECT_GT(home_.handler_since_ns(), 0);  // only what has run since that wait
}

TEST_F(WaitHomeTest, SleepsAreDoubtfulForAsLongAsTheHomeIsNew) {
  const int socket = Open();
  for (int i = 0; i < 3; ++i) Poll({socket});
  EXPECT_EQ(home_.doubtful_depth(), watchdog::kDeepestStackBytes);
  for (int i = 0; i < 7; ++i) Poll({socket});
  EXPECT_EQ(home_.doubtful_depth(), 0u);
}

// A script's functions have no frames in C, and all poll at one place.
TEST_F(WaitHomeTest, AHandlerMayWaitWhereTheLoopDoes) {
  const int display = Open();
  const int wake = Open();
  const int child = Open();
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(Poll({display, wake}));
  EXPECT_FALSE(Poll({child}));
  EXPECT_TRUE(home_.is_doubtful());
  EXPECT_FALSE(Poll({}));  // select.select([], [], [], 1)
  EXPECT_TRUE(Poll({display, wake}));
  EXPECT_FALSE(Poll({child}));
  EXPECT_FALSE(home_.is_doubtful());
}

TEST_F(WaitHomeTest, ALoopMayWaitForThisAndThatInTurn) {
  const int one[] = {Open(), Open()};
  const int other[] = {Open(), Open()};
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(Poll({one[0], one[1]}));
    EXPECT_TRUE(Poll({other[0], other[1]}));
  }
}

TEST_F(WaitHomeTest, ALoopThatOnlyWaitsToBeWokenUpHasAHome) {
  opened_.push_back(eventfd(0, EFD_CLOEXEC));
  const int wake = opened_.back();
  for (int i = 0; i < 3; ++i) Poll({wake});
  EXPECT_TRUE(Poll({wake}, kSite, kDeeper));
  EXPECT_FALSE(Poll({Open()}, kOtherSite, kDeeper));
}

// select(2) and poll(2) without descriptors, as in older Pythons' time.sleep().
// Ruby sleeps in poll(), with the descriptor that it is woken up by. Its methods have no frames in C.
TEST_F(WaitHomeTest, AWaitOnlyToBeWokenUpIsAHandlersAtAnyHeight) {
  opened_.push_back(eventfd(0, EFD_CLOEXEC));
  const int wake = opened_.back();
  const int server = Open();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Poll({wake, server}));
  EXPECT_FALSE(Poll({wake}, kOtherSite, kShallower));
  EXPECT_TRUE(Poll({wake, server}));
  EXPECT_TRUE(Poll({server}, kOtherSite, kShallower));  // no sleep
  EXPECT_TRUE(Poll({wake}));                            // the loop, without its server
}

TEST_F(WaitHomeTest, ASleepBelowALoopOfOneDescriptorIsItsHandlers) {
  const int socket = Open();
  EXPECT_TRUE(Poll({}, kOtherSite, kDeeper));  // nothing is known yet
  EXPECT_TRUE(Poll({socket}));
  EXPECT_FALSE(Poll({}, kOtherSite, kDeeper));
  EXPECT_TRUE(Poll({socket}));
  EXPECT_FALSE(Poll({}, kOtherSite, kFrame));  // the loop waits in a function of its own
  EXPECT_TRUE(Poll({}, kOtherSite, kShallower));
}

TEST_F(WaitHomeTest, SleepsThatOutnumberTheLoopsWaitsAreALoop) {
  const int display = Open();
  EXPECT_TRUE(Poll({display}));  // while it connects
  for (int i = 0; i < 6; ++i) Poll({}, kOtherSite, kDeeper);
  EXPECT_TRUE(Poll({}, kOtherSite, kDeeper));
}

TEST_F(WaitHomeTest, AWaitOnAShallowerStackIsOfAnotherLoop) {
  const int home = Open();
  for (int i = 0; i < 3; ++i) Epoll(home);
  EXPECT_TRUE(Epoll(Open(), kOtherSite, kShallower));
}

TEST_F(WaitHomeTest, ALoopIsNotTakenForTheRequestsToOneOfItsServers) {
  const int server = Open();
  const int wake = Open();
  Poll({server}, kSite, kDeeper);
  for (int i = 0; i < 3; ++i) Poll({wake, server});
  EXPECT_FALSE(Poll({server}, kSite, kDeeper));
  EXPECT_FALSE(Poll({Open()}, kOtherSite, kDeeper));
}

TEST_F(WaitHomeTest, ALoopThatEnclosesTheHomeTakesOver) {
  opened_.push_back(eventfd(0, EFD_CLOEXEC));
  const int answer = opened_.back();
  const int display = Open();
  const int wake = Open();
  for (int i = 0; i < 8; ++i) Poll({answer}, kSite, kDeeper);  // a client's requests, before its loop begins
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Poll({display, wake}, kSite, kFrame));
  EXPECT_FALSE(Poll({answer}, kSite, kDeeper));  // one more, in a handler
  EXPECT_TRUE(Poll({display, wake}, kSite, kFrame));
}

TEST_F(WaitHomeTest, WaitsAroundTheHomeMustFollowEachOther) {
  const int home = Open();
  const int other = Open();
  for (int i = 0; i < 10; ++i) Epoll(home);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) EXPECT_TRUE(Epoll(other, kOtherSite, kShallower));
    EXPECT_TRUE(Epoll(home));
  }
}

TEST_F(WaitHomeTest, AWaitOnAnotherStackSaysNothing) {
  const int home = Open();
  for (int i = 0; i < 3; ++i) Epoll(home);
  EXPECT_TRUE(Epoll(Open(), kOtherSite, kFrame - (uintptr_t{1} << 30)));
}

TEST_F(WaitHomeTest, ALoopWhoseDescriptorIsClosedIsOver) {
  const int home = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < 3; ++i) Epoll(home);
  const int other = Open();
  close(home);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Epoll(other, kOtherSite, kDeeper));
  EXPECT_FALSE(Epoll(Open(), kSite, kDeeper - 64));  // that is the home now
}

TEST_F(WaitHomeTest, SetsThatCannotBeReadHaveNoDescriptors) {
  int descriptors[4];
  auto* nowhere = reinterpret_cast<pollfd*>(uintptr_t{16});
  EXPECT_EQ(WaitSet::Poll(nowhere, 3).CopyDescriptors(base::Process::Own(), false, descriptors, 4), 0u);
  const int display = Open();
  const int wake = Open();
  for (int i = 0; i < 3; ++i) Poll({display, wake});
  EXPECT_FALSE(home_.Serves({WaitSet::Poll(nowhere, 2), kOtherSite, kDeeper}));
}

TEST_F(WaitHomeTest, ASelectIsReadToItsLimit) {
  fd_set reads;
  FD_ZERO(&reads);
  for (int descriptor = 3; descriptor < FD_SETSIZE; descriptor += 2) FD_SET(descriptor, &reads);
  int descriptors[FD_SETSIZE];
  for (const int limit : {FD_SETSIZE, 701}) {  // the kernel looks at none from the limit on
    const auto found = WaitSet::Select(limit, &reads, nullptr, nullptr)
                           .CopyDescriptors(base::Process::Own(), true, descriptors, FD_SETSIZE);
    ASSERT_EQ(found, static_cast<size_t>((limit - 3 + 1) / 2));
    EXPECT_EQ(descriptors[0], 3);
    EXPECT_LT(descriptors[found - 1], limit);
    EXPECT_GE(descriptors[found - 1], limit - 2);
  }
}

TEST_F(WaitHomeTest, WhatIsWaitedForMostTakesOverAtTheBegin) {
  const int early = Open();
  const int home = Open();
  for (int i = 0; i < 3; ++i) Epoll(early, kOtherSite, kFrame);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(Epoll(home, kSite, kDeeper));
  home_.Serves({WaitSet::Epoll(home), kSite, kDeeper});
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'200'000};
  nanosleep(&kPause, nullptr);
  EXPECT_FALSE(home_.GoesOn(true));  // a dispatch of its own follows
  EXPECT_TRUE(Epoll(home, kSite, kDeeper));
}

}  // namespace
}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/text_cell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace lagwatch::sdk {
namespace {

std::string TextOf(const TextCell& scene) {
  char text[TextCell::kMaxBytes];
  scene.Read(text);
  return {text, strnlen(text, sizeof text)};
}

TEST(TextCell, IsTheLastThatWasSet) {
  TextCell scene;
  EXPECT_EQ(TextOf(scene), "");
  for (int i = 0; i < 30; ++i) {
    scene.Set(("scene " + std::to_string(i)).c_str());
    EXPECT_EQ(TextOf(scene), "scene " + std::to_string(i));
  }
  scene.Set(nullptr);
  EXPECT_EQ(TextOf(scene), "");
}

TEST(TextCell, IsCutBetweenTwoCharacters) {
  TextCell scene;
  scene.Set(std::string(64, 'a').c_str());
  EXPECT_EQ(TextOf(scene), std::string(64, 'a'));
  scene.Set(std::string(1000, 'b').c_str());
  EXPECT_EQ(TextOf(scene), std::string(64, 'b'));
  scene.Set((std::string(63, 'c') + "ü").c_str());
  EXPECT_EQ(TextOf(scene), std::string(63, 'c'));
}

TEST(TextCell, IsNeverSeenHalfWritten) {
  TextCell scene;
  std::atomic<bool> is_over{false};
  std::vector<std::thread> writers;
  for (char letter : {'a', 'b', 'c'}) {
    writers.emplace_back([&, text = std::string(64, letter)] {
      while (!is_over.load()) scene.Set(text.c_str());
    });
  }
  int seen = 0;
  while (seen < 20'000) {
    std::string text = TextOf(scene);
    if (text.empty()) continue;
    ++seen;
    ASSERT_EQ(text, std::string(64, text[0]));
  }
  is_over = true;
  for (std::thread& writer : writers) writer.join();
  scene.Set("after");
  EXPECT_EQ(TextOf(scene), "after");
}

}  // namespace
}  // namespace lagwatch::sdk

// SPDX-License-Identifier: Apache-2.0
#include "sdk/android/src/main/cpp/message_tag.h"

#include <gtest/gtest.h>

#include <string>

namespace lagwatch::android {
namespace {

std::string TagOf(const std::string& line) {
  char tag[kTagBytes];
  WriteMessageTag(line, tag);
  return tag;
}

TEST(MessageTag, NamesCallbackHandlerAndWhatWithoutPackagesAndHashes) {
  const std::string begin = ">>>>> Dispatching to Handler ";
  EXPECT_EQ(TagOf(begin + "(android.app.ActivityThread$H) {1f2e3d} null: 159"), "ActivityThread$H: 159");
  EXPECT_EQ(TagOf(begin + "(com.example.Main$H) {1f2e3d} com.example.Import@6d2c7b: 7"),
            "Import (Main$H): 7");
  EXPECT_EQ(TagOf(begin + "(android.os.Handler) {1f2e3d} com.example.Import@6d2c7b: 0"), "Import");
  EXPECT_EQ(
      TagOf(begin + "(android.os.Handler) {1f2e3d} com.example.Host$$Lambda$14/0x0000000800c03a00@1b2c: 0"),
      "Host$$Lambda$14");
  EXPECT_EQ(TagOf(begin + "(android.view.Choreographer$FrameHandler) {a1} "
                          "android.view.Choreographer$FrameDisplayEventReceiver@6d: 0"),
            "Choreographer$FrameDisplayEventReceiver (Choreographer$FrameHandler)");
}

TEST(MessageTag, TakesOtherLinesAsTheyAre) {
  EXPECT_EQ(TagOf(""), "");
  EXPECT_EQ(TagOf("dispatchTouchEvent"), "dispatchTouchEvent");
  EXPECT_EQ(TagOf(">>>>> Dispatching to MyHandler null: 3"), "MyHandler null: 3");
  EXPECT_EQ(TagOf(">>>>> Dispatching to Handler (com.example.H"), "Handler (com.example.H");
  EXPECT_EQ(TagOf(">>>>> Dispatching to Handler (com.example.H)"), "H");
}

TEST(MessageTag, CutsLongOnes) { EXPECT_EQ(TagOf(std::string(500, 'x')), std::string(kTagBytes - 1, 'x')); }

}  // namespace
}  // namespace lagwatch::android

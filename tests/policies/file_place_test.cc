// SPDX-License-Identifier: Apache-2.0
#include "policies/file_place.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lagwatch::policies {
namespace {

TEST(FilePlace, IsClassifiedByThePathAlone) {
  EXPECT_EQ(FileClassOf(""), "");
  EXPECT_EQ(FileClassOf("socket:[12]"), "socket");
  EXPECT_EQ(FileClassOf("pipe:[12]"), "pipe");
  EXPECT_EQ(FileClassOf("/home/jane/notes.txt"), "home");
  EXPECT_EQ(FileClassOf("/home/jane/.cache/app/x"), "cache");
  EXPECT_EQ(FileClassOf("/root/.config/app.ini"), "settings");
  EXPECT_EQ(FileClassOf("/usr/lib/libm.so"), "program");
  EXPECT_EQ(FileClassOf("/etc/hosts"), "settings");
  EXPECT_EQ(FileClassOf("/var/lib/app/db"), "data");
  EXPECT_EQ(FileClassOf("/tmp/x"), "temporary");
  EXPECT_EQ(FileClassOf("/dev/pts/3"), "terminal");
  EXPECT_EQ(FileClassOf("plugins/a.so"), "relative");
  EXPECT_EQ(FileClassOf("/data/x"), "other");
  EXPECT_EQ(FileClassOf("/library-of-jane/x"), "other");
  EXPECT_EQ(FileClassOf("/data/jane/.cache/x", "/data/jane/"), "cache");
  EXPECT_EQ(FileClassOf("/opt/jane/x", "/opt/jane"), "home");
}

std::string Shown(const char* path) { return ShownPath(path).c_str(); }

TEST(FilePlace, ShowsNoNamesOfAUsersFiles) {
  EXPECT_EQ(Shown("/usr/lib/libm.so.6"), "/usr/lib/libm.so.6");
  EXPECT_EQ(Shown("plugins/a.so"), "…/*.so") << "it may be deep in a home";
  EXPECT_EQ(Shown("/data/jane/taxes/2026.ods"), "/data/…/*.ods");
  EXPECT_EQ(Shown("/tmp/letter to john.odt"), "/tmp/*.odt");
  EXPECT_EQ(Shown("/run/user/1000/gvfs/smb-share:server=nas/x.ods"), "/run/user/1000/gvfs/…/*.ods");
  EXPECT_EQ(Shown("/run/user/1000/doc/7f/x.ods"), "/run/user/1000/doc/…/*.ods");
  EXPECT_STREQ(ShownPath("/opt/jane/notes/x.txt", "/opt/jane").c_str(), "/opt/jane/notes/*.txt");
  EXPECT_STREQ(ShownPath("/opt/janes/x.txt", "/opt/jane").c_str(), "/opt/janes/x.txt");
  EXPECT_STREQ(ShownPath("/etc/hosts", "/").c_str(), "/etc/hosts");
  EXPECT_EQ(Shown("/home/jane/Documents/taxes/2026.ods"), "/home/jane/Documents/…/*.ods");
  EXPECT_EQ(Shown("/home/jane/secret"), "/home/jane/*");
  EXPECT_EQ(Shown("/home/jane/.config/editor/session/7.json"), "/home/jane/.config/editor/…/*.json");
  EXPECT_EQ(Shown("/home/jane/a.letter to john"), "/home/jane/*");
  EXPECT_EQ(Shown("/media/jane/STICK/photos/b.jpeg"), "/media/jane/STICK/photos/*.jpeg");
  EXPECT_EQ(Shown("/home/jane"), "/home/jane");
  EXPECT_LT(Shown(("/" + std::string(1000, 'x')).c_str()).size(), 200u);
}

std::string Resolved(const char* folder, const char* path) {
  return std::string(ResolvedPath(folder, path).view());
}

TEST(FilePlace, PathsAreResolvedBeforeTheyAreJudged) {
  EXPECT_EQ(Resolved("/usr", "//root/x"), "/root/x");
  EXPECT_EQ(Resolved("/usr", "/etc/../home/jane/./x"), "/home/jane/x");
  EXPECT_EQ(Resolved("/home/jane", "taxes/2026.ods"), "/home/jane/taxes/2026.ods");
  EXPECT_EQ(Resolved("/usr/share", "../../../home/jane/x"), "/home/jane/x");
  EXPECT_EQ(Resolved("/usr/", "lib/"), "/usr/lib/");
  EXPECT_EQ(Resolved("", "a/../b"), "a/../b");
  EXPECT_EQ(Resolved("/usr", "*/x"), "*/x") << "of another folder";
  EXPECT_EQ(Resolved("/usr", "socket:[1]"), "socket:[1]");
  EXPECT_EQ(Resolved("/", ".."), "/");
  EXPECT_LE(Resolved("/usr", std::string(1000, 'x').c_str()).size(), 256u);
}

TEST(FilePlace, MostPathsShareAFolder) {
  const auto common = [](const std::vector<std::string_view>& paths) { return FindCommonFolder(paths); };
  EXPECT_EQ(common({}).folder, "");
  EXPECT_EQ(common({"a", "b"}).folder, "");
  EXPECT_EQ(common({"plugins/a/x", "plugins/b/x", "plugins/c/x", "other/x"}).folder, "plugins/");
  EXPECT_EQ(common({"plugins/a/x", "plugins/b/x", "plugins/c/x", "other/x"}).percent, 75);
  EXPECT_EQ(common({"/srv/a/1", "/srv/a/2", "/srv/a/b/3"}).folder, "/srv/a/");
  EXPECT_EQ(common({"/x", "/y", "/z"}).folder, "");
}

}  // namespace
}  // namespace lagwatch::policies

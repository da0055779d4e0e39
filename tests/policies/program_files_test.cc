// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/program_files.h"

#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

TEST(ProgramFiles, HaveWhatIsInThePackagesFolder) {
  EXPECT_TRUE(ProgramFiles("/usr/lib/firefox/firefox").Has("/usr/lib/firefox/libxul.so"));
  EXPECT_TRUE(
      ProgramFiles("/usr/lib/postgresql/15/bin/postgres").Has("/usr/lib/postgresql/15/lib/plpgsql.so"));
  const ProgramFiles mailer("/usr/bin/evolution");
  EXPECT_TRUE(mailer.Has("/usr/lib/x86_64-linux-gnu/evolution/libevolution-mail.so"));
  EXPECT_TRUE(mailer.Has("/usr/lib/evolution-data-server/plugin.so"));
  EXPECT_FALSE(mailer.Has("/usr/lib/x86_64-linux-gnu/gtk-3.0/modules/libgail.so"));
  EXPECT_FALSE(mailer.Has("/usr/lib/x86_64-linux-gnu/libz.so.1"));
}

TEST(ProgramFiles, HaveWhatIsNamedAfterTheProgram) {
  const ProgramFiles gimp("/usr/bin/gimp-2.10");
  EXPECT_TRUE(gimp.Has("/usr/lib/x86_64-linux-gnu/libgimpwidgets-2.0.so.0"));
  EXPECT_FALSE(gimp.Has("/usr/lib/x86_64-linux-gnu/libgtk-3.so.0"));
  EXPECT_FALSE(ProgramFiles("/usr/bin/gimp-plugin").Has("/usr/lib/libgimp-2.0.so.0")) << "of another program";
}

TEST(ProgramFiles, HaveNothingByTooShortANameOrNone) {
  EXPECT_FALSE(ProgramFiles("/usr/bin/ss").Has("/usr/lib/libssl.so.3"));
  EXPECT_FALSE(ProgramFiles("").Has("/usr/lib/libssl.so.3"));
  EXPECT_FALSE(ProgramFiles("/srv/app").Has("/usr/lib"));
}

}  // namespace
}  // namespace lagwatch::policies

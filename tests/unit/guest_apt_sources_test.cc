// Apt's source files, as found on machines, and the private source derived from them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/guest/apt_sources.h"
#include "harness/guest/debian_kernel.h"

namespace blkfair {
namespace {

using Words = std::vector<std::string>;

TEST(AptOneLine, ReadsPlainLinesAndOptions) {
  const auto sources = ParseOneLineSources(
      "deb http://deb.debian.org/debian bookworm main contrib\n"
      "  deb\t[ arch=amd64 signed-by=/usr/share/keyrings/a.gpg,/b.gpg ] https://m.example/debian/ "
      "trixie main # ours\n");
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].uris, Words{"http://deb.debian.org/debian"});
  EXPECT_EQ(sources[0].suites, Words{"bookworm"});
  EXPECT_EQ(sources[0].components, (Words{"main", "contrib"}));
  EXPECT_TRUE(sources[0].options.empty());
  EXPECT_EQ(sources[1].uris, Words{"https://m.example/debian/"});
  EXPECT_EQ(sources[1].components, Words{"main"});
  ASSERT_EQ(sources[1].options.size(), 1u);
  EXPECT_EQ(sources[1].options[0].first, "Signed-By");
  EXPECT_EQ(sources[1].options[0].second, "/usr/share/keyrings/a.gpg /b.gpg");
}

TEST(AptOneLine, LeavesOutWhatIsNoBinarySource) {
  EXPECT_TRUE(ParseOneLineSources("# deb http://deb.debian.org/debian bookworm main\n"
                                  "deb-src http://deb.debian.org/debian bookworm main\n"
                                  "deb cdrom:[Debian_12]/ bookworm main\n"
                                  "deb [arch=amd64 http://deb.debian.org/debian bookworm main\n"
                                  "deb http://deb.debian.org/debian\n"
                                  "debris\n\n")
                  .empty());
}

TEST(AptDeb822, ReadsStanzasWithCommentsContinuationsAndOddSpelling) {
  const auto sources = ParseDeb822Sources(
      "# of the installer\n"
      "types: deb deb-src\n"
      "# http://snapshot.debian.org/archive/debian/20250520T000000Z\n"
      "URIs: http://deb.debian.org/debian\n"
      "  http://ftp.example/debian\n"
      "SUITES: bookworm bookworm-updates\n"
      "Components: main\n"
      "Signed-By:\n"
      " -----BEGIN PGP PUBLIC KEY BLOCK-----\n"
      " .\n"
      " mQINB\n"
      " -----END PGP PUBLIC KEY BLOCK-----\n"
      "\n \n"
      "Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: sid\nComponents: main\n"
      "\n"
      "Enabled: no\n"
      "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: trixie\nComponents: main\n");
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].uris, (Words{"http://deb.debian.org/debian", "http://ftp.example/debian"}));
  EXPECT_EQ(sources[0].suites, (Words{"bookworm", "bookworm-updates"}));
  ASSERT_EQ(sources[0].options.size(), 1u);
  EXPECT_EQ(sources[0].options[0].second,
            "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINB\n"
            " -----END PGP PUBLIC KEY BLOCK-----");
}

TEST(AptDerive, TakesMirrorSecurityMirrorAndKeysFromTheInstalledSources) {
  const auto installed = ParseOneLineSources(
      "deb https://packages.example/apt bookworm main\n"
      "deb https://download.docker.com/linux/debian bookworm stable\n"
      "deb https://apt.postgresql.org/pub/repos/apt bookworm-pgdg main\n"
      "deb [signed-by=/k.gpg] http://mirror.example/debian bookworm main\n"
      "deb http://security.debian.org/debian-security bookworm-security main\n");
  const auto derived = DeriveSources(installed, {"bookworm", "bookworm-security"});
  ASSERT_TRUE(derived) << derived.error().message;
  EXPECT_EQ(*derived,
            "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\n"
            "Components: main\nArchitectures: amd64\nSigned-By: /k.gpg\n\n"
            "Types: deb\nURIs: http://security.debian.org/debian-security\n"
            "Suites: bookworm-security\nComponents: main\nArchitectures: amd64\n\n");
}

TEST(AptDerive, EmbeddedKeySurvivesTheRoundTrip) {
  const std::string stanza =
      "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm-backports\n"
      "Components: main\nArchitectures: amd64\nSigned-By:\n -----BEGIN-----\n .\n abc\n\n";
  const auto derived = DeriveSources(ParseDeb822Sources(stanza), {"bookworm-backports"});
  ASSERT_TRUE(derived) << derived.error().message;
  EXPECT_EQ(*derived, stanza);
}

TEST(AptDerive, GoesWithoutSecurityWhereThereIsNoSecurityMirror) {
  const auto derived =
      DeriveSources(ParseOneLineSources("deb http://deb.debian.org/debian trixie main\n"),
                    {"bookworm", "bookworm-security"});
  ASSERT_TRUE(derived) << derived.error().message;
  EXPECT_NE(derived->find("Suites: bookworm\n"), std::string::npos);
  EXPECT_EQ(derived->find("security"), std::string::npos);
}

TEST(AptDerive, NamesTheWayOutWhereThereIsNoDebianMirror) {
  const auto derived = DeriveSources(
      ParseOneLineSources("deb http://archive.ubuntu.com/ubuntu noble main\n"), {"bookworm"});
  ASSERT_FALSE(derived);
  EXPECT_EQ(derived.error().kind, ErrorKind::kUnmet);
  EXPECT_NE(derived.error().message.find("by its path"), std::string::npos);
}

TEST(AptNewest, FollowsDebiansOrderNotTheAlphabets) {
  const auto newest = NewestPackage(
      " linux-image-6.1.0-9-amd64 | 6.1.27-1 | http://deb.debian.org/debian bookworm/main amd64\n"
      "linux-image-6.1.0-40-amd64 | 6.1.153-1 | http://deb.debian.org/debian bookworm/main\n"
      "linux-image-6.1.0-39-amd64 | 6.1.153-1~rc1 | http://deb.debian.org/debian bookworm/main\n"
      "not a line of madison\n");
  ASSERT_TRUE(newest) << newest.error().message;
  EXPECT_EQ(*newest, "linux-image-6.1.0-40-amd64=6.1.153-1");
}

TEST(AptNewest, IsEmptyWhenNothingIsOffered) {
  const auto newest = NewestPackage("");
  ASSERT_TRUE(newest);
  EXPECT_EQ(*newest, "");
}

}  // namespace
}  // namespace blkfair

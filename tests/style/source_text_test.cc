#include "tests/style/source_text.h"

#include <gtest/gtest.h>

#include <array>

namespace blkfair::style {
namespace {

TEST(CodeOnly, BlanksCommentsAndKeepsPlaces) {
  EXPECT_EQ(CodeOnly("int a;  // new\n/* x\ny */int b;"), "int a;        \n    \n    int b;");
}

TEST(CodeOnly, BlanksInsidesOfLiterals) {
  EXPECT_EQ(CodeOnly(R"(f("a\"b", 'x'))"), R"(f("    ", ' '))");
}

TEST(CodeOnly, BlanksRawStrings) {
  EXPECT_EQ(CodeOnly("f(R\"x(a\")\" )x\", g)"), "f(R\"x(     )x\", g)");
}

TEST(CodeOnly, TakesDigitSeparatorsForCode) {
  EXPECT_EQ(CodeOnly("1'000'000; // '"), "1'000'000;     ");
}

TEST(CodeOnly, SurvivesUnfinishedText) {
  EXPECT_EQ(CodeOnly("\"abc"), "\"   ");
  EXPECT_EQ(CodeOnly("/* a"), "    ");
  EXPECT_EQ(CodeOnly("\"a\\"), "\"  ");
}

TEST(StringLiterals, NamesLineAndText) {
  const auto literals = StringLiterals("// \"no\"\nf(\"yes\");\n");
  ASSERT_EQ(literals.size(), 1U);
  EXPECT_EQ(literals[0].line, 2U);
  EXPECT_EQ(literals[0].text, "yes");
}

TEST(StringLiterals, KnowsWhatIsAppended) {
  const auto literals = StringLiterals("\"a\" + \"b\" +\n  \"c\"");
  ASSERT_EQ(literals.size(), 3U);
  EXPECT_FALSE(literals[0].appended);
  EXPECT_TRUE(literals[1].appended);
  EXPECT_TRUE(literals[2].appended);
}

TEST(Includes, TellsQuotedFromAngle) {
  const auto includes = Includes("#include <a/b.h>\n\n#include \"c.h\"\n//#include \"d.h\"\n");
  ASSERT_EQ(includes.size(), 2U);
  EXPECT_EQ(includes[0].path, "a/b.h");
  EXPECT_FALSE(includes[0].quoted);
  EXPECT_EQ(includes[1].path, "c.h");
  EXPECT_TRUE(includes[1].quoted);
  EXPECT_EQ(includes[1].line, 3U);
}

TEST(FunctionBodies, FindsDefinitionsAndNotCalls) {
  constexpr std::array<std::string_view, 1> kNames = {"Submit"};
  const auto bodies = FunctionBodies(
      "void G() { Submit(x); }\nint A::Submit(int n) const {\n  if (n) { h(); }\n  return 1;\n}\n",
      kNames);
  ASSERT_EQ(bodies.size(), 1U);
  EXPECT_EQ(bodies[0].line, 2U);
  EXPECT_NE(bodies[0].code.find("return 1"), std::string::npos);
}

TEST(FindToken, NeedsWholeWords) {
  EXPECT_EQ(FindToken("renew(new X, newer)", "new").size(), 1U);
  EXPECT_EQ(FindToken("std::string s; mystd::string", "std::string").size(), 1U);
}

}  // namespace
}  // namespace blkfair::style

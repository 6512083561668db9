//===- VocabularyTest.cpp - tokens, marks and their errors ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/vocabulary.h"
#include "runtime/text.h"

#include <gtest/gtest.h>

using namespace attn;

namespace {

std::optional<Vocabulary> parse(std::string_view text,
                                std::vector<std::string> &problems,
                                const MarkNames &names = {},
                                bool addUnknown = false) {
  problems.clear();
  auto result =
      Vocabulary::parse(text, "v", "source", names, addUnknown, problems);
  EXPECT_EQ(result.has_value(), problems.empty());
  return result;
}

std::vector<std::string> problemsOf(std::string_view text,
                                    const MarkNames &names = {},
                                    bool addUnknown = false) {
  std::vector<std::string> problems;
  parse(text, problems, names, addUnknown);
  return problems;
}

using Lines = std::vector<std::string>;

TEST(Vocabulary, IsTakenVerbatim) {
  std::vector<std::string> problems;
  auto vocabulary = parse("a \n \n\tb\r\nlast", problems);
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->tokens(), (Lines{"a ", " ", "\tb\r", "last"}));
  EXPECT_EQ(vocabulary->find(" "), 1);
  EXPECT_EQ(vocabulary->find("a"), -1);
}

TEST(Vocabulary, RecognisesMarksInAnyCase) {
  std::vector<std::string> problems;
  auto first = parse("<PAD>\n<UNK>\n<start>\n<End>\nx\n", problems);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->marks().padding, 0);
  EXPECT_EQ(first->marks().unknown, 1);
  EXPECT_EQ(first->marks().start, 2);
  EXPECT_EQ(first->marks().end, 3);
  auto second = parse("<blank>\n<s>\n</s>\n", problems);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->marks().padding, 0);
  EXPECT_EQ(second->marks().start, 1);
  EXPECT_EQ(second->marks().end, 2);
  EXPECT_EQ(second->marks().unknown, -1);
}

TEST(Vocabulary, TwoCandidatesAreAnErrorUnlessNamed) {
  EXPECT_EQ(problemsOf("<s>\n</s>\n<BOS>\n"),
            Lines{"v:3: expected one start token, but got '<BOS>' and, in line "
                  "1, '<s>'; name one with start = \"...\""});
  MarkNames names;
  names.start = "<BOS>";
  std::vector<std::string> problems;
  auto vocabulary = parse("<s>\n</s>\n<BOS>\nm\n", problems, names);
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->marks().start, 2);
  names.end = "n";
  EXPECT_EQ(problemsOf("<BOS>\nm\n", names),
            Lines{"v:1: expected the end token 'n', but got no such line"});
}

TEST(Vocabulary, AddsAnUnknownToken) {
  std::vector<std::string> problems;
  auto vocabulary = parse("a\nb\n", problems, {}, true);
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->size(), 3);
  EXPECT_EQ(vocabulary->marks().unknown, 2);
  EXPECT_EQ(problemsOf("a\n<unk>\n", {}, true).size(), 1u);
}

TEST(Vocabulary, ReportsEveryBadLine) {
  EXPECT_EQ(
      problemsOf(std::string_view("a\nb\na\n\xc3\x28\nb\nx\0y\n", 15)),
      (Lines{"v:3: expected different tokens, but got 'a' again, first in line "
             "1",
             "v:4: expected UTF-8 text, but got the byte '\\xc3' at column 1",
             "v:5: expected different tokens, but got 'b' again, first in line "
             "2",
             "v:6: expected text, but got a zero byte"}));
  EXPECT_EQ(problemsOf(""),
            Lines{"v:1: expected 1 to 2147483646 tokens, but got 0"});
}

TEST(Vocabulary, AFileOfAnotherKind) {
  // However long, its problems are few.
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "\xff\n";
  Lines problems = problemsOf(text);
  ASSERT_EQ(problems.size(), 21u);
  EXPECT_EQ(problems[20], "v: and 1979 more problems");
  EXPECT_EQ(problemsOf("a\r\nb\r\n"),
            Lines{"v:1: expected lines that end with a newline, but got a "
                  "carriage return before each"});
  EXPECT_EQ(problemsOf("a\n\r\n"), Lines());
}

TEST(Vocabulary, NoFile) {
  std::vector<std::string> problems;
  EXPECT_FALSE(Vocabulary::read("/no/such", "x", {}, false, problems));
  EXPECT_EQ(problems.size(), 1u);
}

TEST(Vocabulary, UnknownWords) {
  std::vector<std::string> problems;
  const char *const words[] = {"a", "zebra"};
  std::vector<int32_t> ids(2);
  std::string error;
  auto with = parse("a\n<unk>\n", problems);
  ASSERT_TRUE(with);
  EXPECT_TRUE(with->lookUp(words, ids.data(), error));
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 1}));
  auto without = parse("a\nb\n", problems);
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->lookUp(words, ids.data(), error));
  EXPECT_EQ(error, "expected words of vocabulary 'source', which has no "
                   "unknown token, but got 'zebra' as word 2");
}

TEST(Text, KnowsUtf8) {
  for (const char *good : {"a", "ä", "ก", "𝄞", "\x7f"})
    EXPECT_EQ(findInvalidUtf8(good), std::string_view::npos) << good;
  // Overlong, surrogate, beyond Unicode, lone continuation, cut.
  for (const char *bad : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\x80", "\xe0\xb8"})
    EXPECT_EQ(findInvalidUtf8(bad), 0u);
}

TEST(Text, MeasuresEdits) {
  EXPECT_EQ(editDistance("kitten", "sitting", 9), 3u);
  EXPECT_EQ(editDistance("", "abc", 9), 3u);
  EXPECT_EQ(editDistance("abcdef", "ghijkl", 2), 3u);
}

} // namespace

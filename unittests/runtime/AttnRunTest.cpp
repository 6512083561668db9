//===- AttnRunTest.cpp - attn-run on a small library ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/alignment_grid.h"
#include "tools/decode/option_parser.h"
#include "unittests/runtime/test_files.h"

#include <gtest/gtest.h>

#include <sys/wait.h>

using namespace attn::test;
using namespace attn::tool;

namespace {

struct Output {
  int status = -1;
  std::string out, err;
};

std::string readFile(const std::string &path) {
  std::string text;
  FILE *file = fopen(path.c_str(), "r");
  for (int c; file && (c = fgetc(file)) != EOF;)
    text += static_cast<char>(c);
  if (file)
    fclose(file);
  return text;
}

Output runTool(const std::string &arguments, const std::string &input) {
  TemporaryFile in(input), out(""), err("");
  int status = system((std::string(ATTN_RUN) + " " + arguments + " < " +
                       in.path + " > " + out.path + " 2> " + err.path)
                          .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readFile(out.path),
          readFile(err.path)};
}

class AttnRun : public testing::Test {
protected:
  AttnRun()
      : weights(makeSafetensors(
            "{\"table\": {\"dtype\": \"F32\", \"shape\": [7, 7], "
            "\"data_offsets\": [0, 196]}}",
            floatBytes([] {
              std::vector<float> table(49);
              for (int i = 0; i < 49; ++i)
                table[i] = static_cast<float>(i * 37 % 23) / 11.5f;
              return table;
            }()))) {}

  Output run(const std::string &options, const std::string &input) {
    return runTool(std::string(ATTN_FAKE_LIBRARY) + " --weights " +
                       weights.path + " " + options,
                   input);
  }
  /// Expects a status and one message, and nothing printed.
  void expectError(const Output &output, int status,
                   const std::string &message) {
    EXPECT_EQ(output.status, status);
    EXPECT_EQ(output.err, "attn-run: error: " + message + "\n");
    EXPECT_EQ(output.out, "");
  }

  TemporaryFile weights;
};

size_t countLines(const std::string &text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(AttnRun, PrintsALineForALine) {
  Output output = run("", "a b\n\nc  c \nb");
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.err, "");
  ASSERT_EQ(countLines(output.out), 4u);
  EXPECT_NE(output.out.find("\n\n"), std::string::npos);
  // Streaming changes nothing, nor do Windows' line ends.
  EXPECT_EQ(run("--batch-size 1", "a b\r\n\r\nc c\r\nb\r\n").out, output.out);
}

TEST_F(AttnRun, SplitsAndJoinsCharacters) {
  Output spaced = run("", "a b c\n");
  Output joined = run("--characters --output-characters", "abc\n");
  std::string expected;
  for (char c : spaced.out)
    if (c != ' ')
      expected += c;
  EXPECT_EQ(joined.out, expected);
}

TEST_F(AttnRun, PrintsLists) {
  Output output = run("--beam 3 --nbest=3", "a b\n\nc\n");
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(countLines(output.out), 3u + 1 + 1 + 1 + 3 + 1) << output.out;
  EXPECT_NE(output.out.find("\t-"), std::string::npos);
  EXPECT_NE(output.out.find("\n\n\t0.000000\n\n"), std::string::npos);
}

TEST_F(AttnRun, PrintsJson) {
  Output output = run("--json", "b\n\n");
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(output.out.find("{\"hypotheses\": [{\"text\": \""), 0u);
  for (const char *part :
       {"\"tokens\": [\"", "\"score\": -", "\"logprob\": -",
        "\"word_logprobs\": [-", "\"alignment\": [[0.", "\"finished\": "})
    EXPECT_NE(output.out.find(part), std::string::npos) << part;
  EXPECT_NE(output.out.find("\n{\"hypotheses\": [{\"text\": \"\", \"tokens\": "
                            "[], \"score\": 0, \"logprob\": 0, "
                            "\"word_logprobs\": [], \"alignment\": [], "
                            "\"finished\": true}]}\n"),
            std::string::npos)
      << output.out;
}

TEST_F(AttnRun, ForcesTargets) {
  TemporaryFile targets("A B\nD\n");
  Output output = run("--force " + targets.path, "a b\nc\n");
  EXPECT_EQ(output.status, 0) << output.err;
  ASSERT_EQ(countLines(output.out), 2u);
  std::string first = output.out.substr(0, output.out.find('\n'));
  EXPECT_EQ(std::count(first.begin(), first.end(), ' '), 2);
  EXPECT_EQ(first[0], '-');
  expectError(
      run("--force " + targets.path, "a b\n"), 1,
      "expected a target for each of the 1 sentences, but got 2 lines: " +
          targets.path);
  expectError(run("--force /no/such", "a\n"), 1,
              "expected a readable file after --force, but got 'No such file "
              "or directory': /no/such");
}

TEST_F(AttnRun, DrawsAlignments) {
  Output output = run("--align", "a b\n");
  EXPECT_EQ(output.status, 0);
  EXPECT_NE(output.out.find("   a    b </s>\n"), std::string::npos)
      << output.out;
  EXPECT_NE(output.out.find("█ 75"), std::string::npos);
  EXPECT_EQ(output.out.substr(output.out.size() - 2), "\n\n");
}

TEST_F(AttnRun, SentencesFailAlone) {
  Output output = run("--json", "a\nE a\n\xff\nb\n");
  EXPECT_EQ(output.status, 1);
  EXPECT_EQ(output.err,
            "attn-run: error: line 2: expected finite logits, but got a NaN or "
            "an infinity as the model's output for token 2\n"
            "attn-run: error: line 3: expected UTF-8 text, but got the byte "
            "'\\xff' at column 1\n");
  ASSERT_EQ(countLines(output.out), 4u);
  EXPECT_NE(output.out.find("{\"hypotheses\": [], \"error\": \"expected UTF-8"),
            std::string::npos);
  EXPECT_EQ(countLines(run("", "a\nE a\nb\n").out), 3u);
}

TEST_F(AttnRun, WrongCommandLines) {
  expectError(run("--beem 3", "a\n"), 2,
              "expected a known option, but got '--beem'; the nearest is "
              "--beam; see --help");
  expectError(run("--beam", "a\n"), 2,
              "expected K after --beam, but got nothing");
  expectError(run("--beam 0", "a\n"), 2,
              "expected an integer of at least 1 after --beam, but got '0'");
  expectError(run("--beam 3x", "a\n"), 2,
              "expected an integer of at least 1 after --beam, but got '3x'");
  expectError(run("--alpha nan --normalize length", "a\n"), 2,
              "expected a number of at least 0 after --alpha, but got 'nan'");
  expectError(run("--alpha 1", "a\n"), 2,
              "expected --normalize length with --alpha, but got no "
              "--normalize");
  expectError(run("--normalize gnmt", "a\n"), 2,
              "expected none or length after --normalize, but got 'gnmt'");
  expectError(run("--nbest 2", "a\n"), 2,
              "expected --nbest of at most --beam, which is 1, but got 2");
  expectError(run("--json=yes", "a\n"), 2,
              "expected --json without a value, but got 'yes'");
  expectError(run("other.so", "a\n"), 2,
              "expected 1 argument, but got 'other.so' as well; see --help");
  expectError(runTool("", ""), 2, "expected LIB, but got nothing; see --help");
  expectError(run("--beam 100000", "a\n"), 1,
              "expected a beam of 1 to 65536, but got 100000");
}

TEST_F(AttnRun, WrongLibraries) {
  expectError(runTool("/no/such.so", ""), 1,
              "expected a readable file, but got 'No such file or directory': "
              "/no/such.so");
  expectError(runTool(weights.path, ""), 1,
              "expected a compiled model (a shared object), but got another "
              "kind of file: " +
                  weights.path);
  expectError(runTool(ATTN_OTHER_LIBRARY, ""), 1,
              std::string("expected a library with one symbol attn_model_*, "
                          "but got none: ") +
                  ATTN_OTHER_LIBRARY);
  expectError(runTool(ATTN_FAKE_LIBRARY, ""), 1,
              "expected a weights file for model 'fake', which was compiled "
              "without weights, but got none");
  // Cut anywhere, it is no library, but never a crash.
  std::string whole = readFile(ATTN_FAKE_LIBRARY);
  for (size_t size = 0; size < whole.size(); size += whole.size() / 16 + 1) {
    TemporaryFile cut(whole.substr(0, size));
    Output output = runTool(cut.path, "");
    EXPECT_EQ(output.status, 1) << size;
    EXPECT_EQ(countLines(output.err), 1u) << output.err;
  }
}

TEST(AlignmentGrid, KnowsWidths) {
  EXPECT_EQ(displayWidth("abc"), 3u);
  EXPECT_EQ(displayWidth("日本"), 4u);
  EXPECT_EQ(displayWidth("กั"), 1u);
  EXPECT_EQ(displayWidth("é"), 1u);
}

TEST(AlignmentGrid, DrawsShadesAndNumbers) {
  const float weights[] = {1.0f, 0.0f, 0.5f, 0.26f, 0.001f, 0.06f};
  EXPECT_EQ(drawAlignment({"x", "longer"}, {"日", " ", "ab"}, weights),
            "         日    ␣   ab\n"
            "x      █100    · ▓ 50\n"
            "longer ▒ 26    · ░  6\n");
}

} // namespace

//===- AttnRunTest.cpp - attn-run on a small library ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/alignment_grid.h"
#include "tools/decode/alignment_svg.h"
#include "tools/decode/option_parser.h"
#include "unittests/runtime/test_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// `redirections` come after those of the test.
Output runTool(const std::string &arguments, const std::string &input,
               const std::string &redirections = "") {
  TemporaryFile in(input), out(""), err("");
  int status =
      system((std::string(ATTN_RUN) + " " + arguments + " < " + in.path +
              " > " + out.path + " 2> " + err.path + " " + redirections)
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

  Output run(const std::string &options, const std::string &input,
             const std::string &redirections = "") {
    return runTool(std::string(ATTN_FAKE_LIBRARY) + " --weights " +
                       weights.path + " " + options,
                   input, redirections);
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

std::string manyLines(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    for (int word = 0; word < 1 + i * 7 % 11; ++word)
      lines += std::string(word ? " " : "") + "abc"[(i + word * i) % 3];
    lines += "\n";
  }
  return lines;
}

TEST_F(AttnRun, PrintsALineForALine) {
  Output output = run("", "a b\n\nc  c \nb");
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.err, "");
  ASSERT_EQ(countLines(output.out), 4u);
  EXPECT_NE(output.out.find("\n\n"), std::string::npos);
  // Streaming changes nothing, nor do Windows' line ends.
  EXPECT_EQ(run("--batch-size 1", "a b\r\n\r\nc c\r\nb\r\n").out, output.out);
  EXPECT_EQ(run("--threads 2", "a b\r\n\r\nc c\r\nb\r\n").out, output.out);
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

// Perplexity is exp(-log p / tokens), end tokens among them.
TEST_F(AttnRun, Summary) {
  TemporaryFile targets("A B\nD\nA\nB\nA Z\n");
  std::string plain = run("--force " + targets.path, "a b\nc\n\nE a\nb\n").out;
  Output output =
      run("--summary --force " + targets.path, "a b\nc\n\nE a\nb\n");
  EXPECT_EQ(output.status, 1);
  ASSERT_EQ(countLines(output.out), 6u);
  EXPECT_EQ(output.out.substr(0, plain.size()), plain);
  double sum = 0, value;
  size_t tokens = 0;
  for (const char *at = plain.c_str(); *at; at += strcspn(at, " \n") + 1)
    if (sscanf(at, "%lf", &value) == 1 && *at == '-') {
      sum += value;
      ++tokens;
    }
  size_t sentences, skipped, count;
  double logprob, perplexity;
  ASSERT_EQ(sscanf(output.out.c_str() + plain.size(),
                   "%zu sentences, %zu skipped, %zu tokens, log p %lf, "
                   "perplexity %lf",
                   &sentences, &skipped, &count, &logprob, &perplexity),
            5)
      << output.out;
  // An empty source, a sentence that fails and a target that does not exist.
  EXPECT_EQ(sentences, 2u);
  EXPECT_EQ(skipped, 3u);
  EXPECT_EQ(tokens, 5u);
  EXPECT_EQ(count, tokens);
  EXPECT_NEAR(logprob, sum, 1e-5);
  EXPECT_NEAR(perplexity, std::exp(-sum / 5), 1e-4);
  output =
      run("--json --summary --force " + targets.path, "a b\nc\n\nE a\nb\n");
  EXPECT_NE(output.out.find("}\n{\"summary\": {\"sentences\": 2, \"skipped\": "
                            "3, \"tokens\": 5, \"logprob\": -"),
            std::string::npos)
      << output.out;
  // Batches change nothing, to the last digit.
  EXPECT_EQ(run("--json --summary --window 1 --force " + targets.path,
                "a b\nc\n\nE a\nb\n")
                .out,
            output.out);
  expectError(run("--summary", "a\n"), 2,
              "expected --force with --summary, but got none");
}

// What is printed token by token is what is printed at once.
TEST_F(AttnRun, Streams) {
  std::string lines = "a b\n\nc c\nE a\nb\n";
  Output plain = run("", lines), output = run("--stream", lines);
  EXPECT_EQ(plain.status, 1);
  EXPECT_EQ(output.status, 1);
  // The fourth line fails at its second token.
  std::string wanted = plain.out;
  size_t failed = wanted.find('\n', wanted.find("\n\n") + 2) + 1;
  EXPECT_EQ(output.out.substr(0, failed), wanted.substr(0, failed));
  EXPECT_EQ(countLines(output.out), 5u);
  EXPECT_EQ(output.out.substr(output.out.rfind('\n', output.out.size() - 2)),
            wanted.substr(wanted.rfind('\n', wanted.size() - 2)));
  EXPECT_EQ(run("--stream --output-characters --sample --seed 3", "a b\n").out,
            run("--output-characters --sample --seed 3", "a b\n").out);
  output = run("--stream", manyLines(50), "> /dev/full");
  EXPECT_EQ(output.status, 1);
  EXPECT_EQ(output.err, "attn-run: error: expected writable standard output, "
                        "but got 'No space left on device'\n");
  for (const char *other : {"--json", "--nbest", "--beam"})
    expectError(run("--stream --sample " + std::string(other) +
                        (*(other + 2) == 'j' ? "" : " 2"),
                    "a\n"),
                2,
                "expected --stream to have one result as it comes, but got " +
                    std::string(other) + " as well");
}

// The small model leaves NaN on its padding, which is seen, and reads one
// position after the other: by its place.
TEST_F(AttnRun, Diagnoses) {
  TemporaryFile picture("");
  Output output =
      run("--diagnose --align-svg " + picture.path, "a b c\n\nE a\nb a\n");
  EXPECT_EQ(output.status, 1);
  EXPECT_EQ(countLines(output.err), 1u);
  for (const char *part : {"  reads padding: weight nan", "2 sentences, ",
                           "reads padding          2 of 2 sentences (100.00 %)",
                           "from their places: attention follows the places\n"})
    EXPECT_NE(output.out.find(part), std::string::npos) << output.out;
  std::string svg = readFile(picture.path);
  EXPECT_NE(svg.find("<rect class=\"m\""), std::string::npos);
  EXPECT_NE(svg.find("line 4: -"), std::string::npos);
  Output json = run("--diagnose --json", "a b c\n\nE a\nb a\n");
  EXPECT_EQ(countLines(json.out), 5u);
  for (const char *part :
       {"{\"text\": \"", "\"padding\": {\"weight\": null, ",
        "{\"text\": \"\", \"diagnosis\": null}\n",
        "{\"text\": \"\", \"diagnosis\": null, \"error\": \"expected finite",
        "\n{\"summary\": {\"sentences\": 2, "})
    EXPECT_NE(json.out.find(part), std::string::npos) << json.out;
  EXPECT_EQ(run("--diagnose --window 1", "a b c\n\nE a\nb a\n").out,
            output.out);
  for (const char *other : {"--nbest 2 --beam 2", "--stream", "--align"})
    EXPECT_EQ(run("--diagnose " + std::string(other), "a\n").status, 2);
}

TEST_F(AttnRun, Ensembles) {
  std::vector<float> table(49);
  for (int i = 0; i < 49; ++i)
    table[i] = static_cast<float>(i * 29 % 31) / 9.5f;
  TemporaryFile other(
      makeSafetensors("{\"table\": {\"dtype\": \"F32\", \"shape\": [7, 7], "
                      "\"data_offsets\": [0, 196]}}",
                      floatBytes(table)));
  std::string member = std::string(" --ensemble ") + ATTN_FAKE_LIBRARY;
  std::string same = member + " --weights " + weights.path;
  std::string second = member + " --weights " + other.path;
  std::string lines = manyLines(20);
  std::string plain = run("--beam 2 --nbest 2", lines).out;
  EXPECT_EQ(run("--beam 2 --nbest 2" + same, lines).out.size(), plain.size());
  std::string both = run("--beam 2 --nbest 2" + second, lines).out;
  EXPECT_NE(both, plain);
  EXPECT_EQ(
      run("--beam 2 --nbest 2 --threads 2 --window 3" + second, lines).out,
      both);
  EXPECT_NE(
      run("--beam 2 --nbest 2" + second + " --ensemble-weight 3", lines).out,
      both);
  // --weights before any --ensemble are the first library's.
  EXPECT_EQ(runTool("--weights " + weights.path + " " + ATTN_FAKE_LIBRARY +
                        " --beam 2 --nbest 2" + second,
                    lines)
                .out,
            both);
  expectError(run("--ensemble /no/such.so", "a\n"), 1,
              "expected a readable file, but got 'No such file or directory': "
              "/no/such.so");
  expectError(run("--ensemble-weight 2" + second, "a\n"), 2,
              "expected --ensemble before it and a number after "
              "--ensemble-weight, but got '2'");
  expectError(run(second + " --ensemble-weight 0", "a\n"), 2,
              "expected a number greater than 0 after --ensemble-weight, but "
              "got '0'");
}

TEST_F(AttnRun, Alternatives) {
  TemporaryFile prefixes("A\nB D\n");
  std::string options = "--alternatives --nbest 3 --prefix " + prefixes.path;
  Output output = run(options, "a b\nc\n");
  EXPECT_EQ(output.status, 0) << output.err;
  ASSERT_EQ(countLines(output.out), 8u);
  EXPECT_EQ(output.out.substr(0, 2), "A ");
  EXPECT_EQ(run(options + " --window 1", "a b\nc\n").out, output.out);
  EXPECT_EQ(run(options + " --beam 2 --threads 2", "a b\nc\n").status, 0);
  expectError(run("--alternatives --force " + prefixes.path, "a\n"), 2,
              "expected one of --force and --alternatives, but got both");
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

TEST_F(AttnRun, BansAndPrefixes) {
  std::string plain = run("", "a b\nc\n").out;
  std::string first = plain.substr(0, plain.find(' '));
  EXPECT_EQ(run("--ban " + first, "a b\n").out.find(first), std::string::npos);
  TemporaryFile bans("D A\n" + first + "\n");
  EXPECT_EQ(run("--ban-file " + bans.path, "a b\n").out,
            run("--ban 'D A' --ban " + first, "a b\n").out);
  // A token of several characters is one where tokens are characters.
  Output end = run("--output-characters --ban '</s>'", "a b\n");
  EXPECT_EQ(end.status, 0) << end.err;
  TemporaryFile prefixes(first + "\n\n"), one("A\n"), wrong("A\nZ\n");
  EXPECT_EQ(run("--prefix " + prefixes.path, "a b\nc\n").out, plain);
  EXPECT_EQ(run("--window 1 --prefix " + prefixes.path, "a b\nc\n").out, plain);
  expectError(
      run("--prefix " + one.path, "a\nb\n"), 1,
      "expected a prefix for each of the 2 sentences, but got 1 lines: " +
          one.path);
  Output output = run("--prefix " + wrong.path, "a\nb\n");
  EXPECT_EQ(output.status, 1);
  EXPECT_EQ(output.out[0], 'A');
  EXPECT_EQ(output.err,
            "attn-run: error: line 2: prefix: expected words of vocabulary "
            "'target', which has no unknown token, but got 'Z' as word 1\n");
}

// R13.
TEST_F(AttnRun, WindowsChangeNothing) {
  std::string lines = manyLines(50);
  for (const char *options :
       {"--json --beam 3 --nbest 2",
        "--sample --nbest 3 --seed 7 --temperature 1.5 --top-k 5 --epsilon .1",
        "--preset marian --beam 4", "--preset fairseq", "--preset opennmt",
        "--preset ctranslate2", "--preset hf --beam 3",
        "--alternatives --nbest 3 --beam 2"}) {
    Output output = run(options, lines);
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_NE(output.out, "");
    for (const char *more :
         {" --window 1", " --window 7", " --window 20 --batch-size 3"})
      EXPECT_EQ(run(options + std::string(more), lines).out, output.out);
  }
  EXPECT_NE(run("--sample --seed 1", lines).out,
            run("--sample --seed 2", lines).out);
}

// R17: a preset is what docs/decoding.md says.
TEST_F(AttnRun, PresetsAreSetsOfOptions) {
  const std::pair<const char *, const char *> presets[] = {
      {"ctranslate2", "--beam 2 --normalize length --stop count "
                      "--max-length-factor 0 --max-length-offset 256 "
                      "--min-length 1"},
      {"fairseq", "--beam 5 --normalize length --stop count "
                  "--max-length-factor 0 --max-length-offset 201 "
                  "--end-at-maximum --min-length 1"},
      {"hf", "--normalize length --stop estimate"},
      {"marian", "--beam 12 --refill never --max-length-factor 3 "
                 "--max-length-offset 3 --ban-unknown"},
      {"nematus", "--beam 5 --refill never --max-length-factor 0 "
                  "--max-length-offset 200"},
      {"opennmt", "--beam 5 --stop top --refill next --max-length-factor 0 "
                  "--max-length-offset 250"}};
  std::string lines = manyLines(30);
  for (auto [name, options] : presets) {
    // Another preset before it leaves nothing behind.
    std::string output =
        run("--json --preset fairseq --preset " + std::string(name) +
                (std::string(name) == "hf"
                     ? " --beam 4 --max-length-factor 2 --max-length-offset 10"
                     : ""),
            lines)
            .out;
    EXPECT_EQ(output, run("--json " + std::string(options) +
                              (std::string(name) == "hf" ? " --beam 4" : ""),
                          lines)
                          .out)
        << name;
  }
}

TEST_F(AttnRun, AlignmentsByHead) {
  std::string average = run("--json", "b\n").out;
  EXPECT_EQ(run("--json --align-head 0", "b\n").out, average);
  EXPECT_NE(
      run("--json --align-head all", "b\n").out.find("\"alignment\": [[[0."),
      std::string::npos);
}

TEST_F(AttnRun, DrawsPictures) {
  TemporaryFile picture("before");
  std::string plain = run("", "a b\n\nc\n").out;
  Output output = run("--align-svg " + picture.path, "a b\n\nc\n");
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out, plain);
  std::string svg = readFile(picture.path);
  EXPECT_EQ(svg.find("<?xml version=\"1.0\""), 0u);
  EXPECT_NE(svg.find(">line 1: -"), std::string::npos);
  EXPECT_NE(svg.find(">line 3: -"), std::string::npos);
  EXPECT_NE(svg.find("&lt;/s&gt;"), std::string::npos);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  expectError(run("--align-svg /no/such/file.svg", "a\n"), 1,
              "expected a file that can be written, but got 'No such file or "
              "directory': /no/such/file.svg");
  // Where everything fails, the file is as it was.
  TemporaryFile kept("before"), targets("A\nB\n");
  EXPECT_EQ(run("--align-svg " + kept.path + " --force " + targets.path, "a\n")
                .status,
            1);
  EXPECT_EQ(readFile(kept.path), "before");
}

TEST_F(AttnRun, LongLines) {
  std::string word(1 << 20, 'x');
  EXPECT_EQ(run("", word + "\n").out, run("", "zebra\n").out);
  std::string words;
  while (words.size() < 1 << 20)
    words += "a b c ";
  Output output = run("", "a\n" + words + "\nb\n");
  EXPECT_EQ(output.status, 1);
  EXPECT_EQ(output.err, "attn-run: error: line 2: expected at most 4096 "
                        "tokens, but got more; see --max-source-length\n");
  EXPECT_EQ(countLines(output.out), 3u);
  EXPECT_EQ(run("--max-source-length 2", "a b c\n").status, 1);
}

TEST_F(AttnRun, OutputThatCannotBeWritten) {
  Output output = run("", manyLines(2000), "> /dev/full");
  EXPECT_EQ(output.status, 1);
  EXPECT_EQ(output.err, "attn-run: error: expected writable standard output, "
                        "but got 'No space left on device'\n");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  output = run("", manyLines(2000), ">&" + std::to_string(ends[1]));
  close(ends[1]);
  EXPECT_EQ(output.status, 1);
  EXPECT_EQ(output.err, "attn-run: error: expected writable standard output, "
                        "but got 'Broken pipe'\n");
}

TEST_F(AttnRun, ShowsProgressInATerminal) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
    GTEST_SKIP() << "no terminals here";
  std::string name = ptsname(terminal);
  int other = open(name.c_str(), O_RDWR | O_NOCTTY);
  ASSERT_GE(other, 0);
  auto shown = [&](const std::string &options) {
    Output output = run("--window 20 " + options, manyLines(50), "2> " + name);
    EXPECT_EQ(output.status, 0);
    EXPECT_EQ(countLines(output.out), 50u);
    std::string text;
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    char buffer[4096];
    for (ssize_t size; (size = read(terminal, buffer, sizeof(buffer))) > 0;)
      text.append(buffer, static_cast<size_t>(size));
    return text;
  };
  std::string text = shown("");
  EXPECT_NE(text.find("attn-run: 20 sentences"), std::string::npos) << text;
  EXPECT_NE(text.find("attn-run: 50 sentences, 100 % of the input read"),
            std::string::npos);
  // In the end it is erased.
  EXPECT_EQ(text.substr(text.size() - 4), "\r\033[K");
  EXPECT_EQ(shown("--quiet"), "");
  close(other);
  close(terminal);
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
              "expected --normalize length or gnmt with --alpha, but got none");
  expectError(run("--normalize wu", "a\n"), 2,
              "expected none, length or gnmt after --normalize, but got 'wu'");
  expectError(run("--coverage -1", "a\n"), 2,
              "expected a number of at least 0 after --coverage, but got '-1'");
  expectError(run("--top-p 1.5 --sample", "a\n"), 2,
              "expected a number greater than 0 and at most 1 after --top-p, "
              "but got '1.5'");
  expectError(run("--epsilon 1 --sample", "a\n"), 2,
              "expected a number of at least 0 and less than 1 after "
              "--epsilon, but got '1'");
  expectError(run("--temperature 2", "a\n"), 2,
              "expected --sample with --temperature, but got none");
  expectError(run("--sample --beam 2", "a\n"), 1,
              "expected a beam of 1 with sampling, but got 2");
  expectError(run("--force x --prefix y", "a\n"), 2,
              "expected one of --force and --prefix, but got both");
  expectError(
      run("--preset moses", "a\n"), 2,
      "expected one of ctranslate2|fairseq|hf|marian|nematus|opennmt after "
      "--preset, but got 'moses'");
  expectError(run("--ban Z", "a\n"), 1,
              "banned sequence 1: expected words of vocabulary 'target', which "
              "has no unknown token, but got 'Z' as word 1");
  expectError(run("--ban-file /no/such", "a\n"), 1,
              "expected a readable file after --ban-file, but got 'No such "
              "file or directory': /no/such");
  expectError(run("--align --align-head 1", "a\n"), 1,
              "expected an alignment_head of 0 to 0, ATTN_HEADS_AVERAGE or "
              "ATTN_HEADS_ALL, but got 1");
  expectError(run("--replace-unknown", "a\n"), 1,
              "expected a target vocabulary with an unknown token, but got "
              "'target', which has none");
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
  expectError(runTool(ATTN_OTHER_VERSION, ""), 1,
              std::string("expected a library with version 1 of the "
                          "interface, but got version 2: ") +
                  ATTN_OTHER_VERSION);
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

TEST_F(AttnRun, TakesDevices) {
  Output output = run("", "a b\n");
  EXPECT_EQ(run("--device cpu", "a b\n").out, output.out);
  expectError(run("--device cuda:0", "a b\n"), 1,
              "expected device 'cpu', for which the library was compiled, but "
              "got 'cuda:0'");
  expectError(run(std::string("--ensemble ") + ATTN_FAKE_LIBRARY +
                      " --weights " + weights.path + " --device vulkan",
                  "a b\n"),
              1,
              "expected device 'cpu', for which the library was compiled, but "
              "got 'vulkan'");
  Output list = run("--list-devices", "");
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_EQ(list.out.find("cpu\t"), 0u) << list.out;
  EXPECT_NE(list.out.find(" GiB\tthe processor\n"), std::string::npos);
  // Those of all kinds, whatever drivers there are, and whatever these forget
  // to give back.
  ASSERT_EQ(setenv("ASAN_OPTIONS", "detect_leaks=0", /*overwrite=*/1), 0);
  Output all = runTool("--list-devices", "");
  ASSERT_EQ(unsetenv("ASAN_OPTIONS"), 0);
  EXPECT_EQ(all.status, 0);
  EXPECT_EQ(all.out.find("cpu\n"), 0u) << all.out;
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

TEST(AlignmentPicture, StacksAndEscapes) {
  AlignmentPicture picture;
  const float weights[] = {1.0f, 0.25f, 0.004f, NAN};
  picture.add("one", {"<&\">", "\x01"}, {"日本", " "}, weights);
  std::string one = picture.svg();
  for (const char *part :
       {"&lt;&amp;&quot;&gt;", ">?<", ">日本<", ">␣<", "fill-opacity=\"1\"",
        "fill-opacity=\".25\"", ">100</text>", "<title>日本 → &lt;"})
    EXPECT_NE(one.find(part), std::string::npos) << part;
  EXPECT_EQ(one.find("nan"), std::string::npos);
  picture.add("two", {"x"}, {"a word that is much longer than the others"},
              weights);
  std::string two = picture.svg();
  EXPECT_GT(two.size(), one.size());
  EXPECT_NE(two.find("rotate(-45"), std::string::npos);
  EXPECT_NE(two.find("…"), std::string::npos);
}

} // namespace

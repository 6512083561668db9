//===- decode_tool.cpp - the command line of decoding tools ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/decode_tool.h"
#include "runtime/text.h"
#include "tools/decode/alignment_grid.h"
#include "tools/decode/result_json.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace attn::tool {

const char decodeDetails[] =
    "Standard input has a sentence a line, its tokens separated by spaces. "
    "For\n"
    "each line, in order:\n"
    "  (nothing else said)   the best text\n"
    "  --nbest N, N > 1      `text<TAB>score` for each hypothesis, the best "
    "first,\n"
    "                        and an empty line\n"
    "  --force FILE          log p of each token of the target and of its end\n"
    "  --json                {\"hypotheses\": [{\"text\": ..., \"tokens\": "
    "[...],\n"
    "                        \"score\": ..., \"logprob\": ..., "
    "\"word_logprobs\": "
    "[...],\n"
    "                        \"alignment\": [[...]], \"finished\": true}]}\n"
    "tokens have no end token; word_logprobs and the rows of alignment do. An\n"
    "empty line gives an empty result. A sentence that cannot be decoded "
    "gives\n"
    "an empty result too, a message on standard error, and in the end status "
    "1.";

void addDecodeOptions(OptionParser &parser, DecodeSettings &settings) {
  attn_decode_options &options = settings.options;
  parser.addHeading("search");
  parser.addSize("beam", "K", "width of the beam; 1 is greedy (default 1)", 1,
                 options.beam);
  parser.addSize("nbest", "N", "hypotheses to print, at most K (default 1)", 1,
                 options.nbest);
  parser.addOption(
      "normalize", "none|length",
      "score: S, the sum of log p, or S / tokens^A\n(default none)",
      [&](const std::string &value, std::string &expected) {
        expected = "none or length";
        settings.normalizeGiven = true;
        options.normalization =
            value == "length" ? ATTN_NORMALIZE_LENGTH : ATTN_NORMALIZE_NONE;
        return value == "none" || value == "length";
      });
  parser.addOption("alpha", "A", "exponent of --normalize length (default 1)",
                   [&](const std::string &value, std::string &expected) {
                     settings.alphaGiven = true;
                     expected = "a number of at least 0";
                     return readNumber(value, 0, options.alpha);
                   });
  parser.addNumber("max-length-factor", "F",
                   "emit at most floor(F * source tokens) + N tokens,\nthe "
                   "end token included in the result, not in\nthe source "
                   "(default 2)",
                   0, options.max_length_factor);
  parser.addInteger("max-length-offset", "N", "see there (default 10)", 0,
                    options.max_length_offset);
  parser.addInteger("min-length", "N",
                    "tokens before the end token may follow (default 0)", 0,
                    options.min_length);
  parser.addText("force", "FILE",
                 "do not search: score the targets in FILE, one a\nline",
                 settings.forcePath);
  parser.addSize("batch-size", "N",
                 "sentences to decode together; changes no result\n(default "
                 "32)",
                 1, options.batch_size);
  parser.addHeading("input and output");
  parser.addFlag("characters",
                 "tokens of the input are the characters of the line",
                 settings.characters);
  parser.addFlag("output-characters",
                 "join tokens of the output without spaces (and split\nthose "
                 "of --force into characters)",
                 settings.outputCharacters);
  parser.addFlag("json", "print an object a line", settings.json);
  parser.addFlag("align",
                 "draw the weights, in per cent: a row for each token of\nthe "
                 "target, a column for each of the source",
                 settings.align);
  parser.addHeading("other");
}

void printError(const std::string &tool, const std::string &message) {
  for (size_t from = 0; from <= message.size();) {
    size_t end = std::min(message.find('\n', from), message.size());
    fprintf(stderr, "%s: error: %s\n", tool.c_str(),
            message.substr(from, end - from).c_str());
    from = end + 1;
  }
}

namespace {

/// A line of input and the tokens in it. Empty lines are fine, and so are those
/// with an error: both have a line of output.
struct Line {
  std::vector<std::string> tokens;
  std::string error;
};

class LineReader {
public:
  explicit LineReader(FILE *file) : file(file) {}
  ~LineReader() { free(text); }
  LineReader(const LineReader &) = delete;
  LineReader &operator=(const LineReader &) = delete;

  /// False at the end of the file or where reading fails.
  bool next(bool characters, Line &line);
  bool failed() const { return ferror(file); }

private:
  FILE *file;
  char *text = nullptr;
  size_t capacity = 0;
};

bool LineReader::next(bool characters, Line &line) {
  line = Line();
  ssize_t size = getline(&text, &capacity, file);
  if (size < 0)
    return false;
  std::string_view rest(text, static_cast<size_t>(size));
  for (char end : {'\n', '\r'})
    if (!rest.empty() && rest.back() == end)
      rest.remove_suffix(1);
  size_t bad = std::min(findInvalidUtf8(rest), rest.find('\0'));
  if (bad != std::string_view::npos) {
    line.error = "expected UTF-8 text, but got the byte " +
                 quote(rest.substr(bad, 1)) + " at column " +
                 std::to_string(bad + 1);
    return true;
  }
  while (!rest.empty()) {
    size_t length = characters ? utf8Length(rest) : rest.find(' ');
    std::string_view token = rest.substr(0, length);
    if (!token.empty())
      line.tokens.emplace_back(token);
    rest.remove_prefix(token.size());
    if (!characters && !rest.empty())
      rest.remove_prefix(1);
  }
  return true;
}

/// Sentences as the C interface takes them.
class Sentences {
public:
  /// Refers to the line's tokens.
  void add(const Line &line) {
    std::vector<const char *> &words = all.emplace_back();
    for (const std::string &token : line.tokens)
      words.push_back(token.c_str());
  }
  const attn_sentences &view() {
    lengths.clear();
    tokens.clear();
    for (const std::vector<const char *> &words : all) {
      lengths.push_back(words.size());
      tokens.push_back(words.data());
    }
    result = {sizeof(attn_sentences), all.size(), lengths.data(), tokens.data(),
              nullptr};
    return result;
  }

private:
  std::vector<std::vector<const char *>> all;
  std::vector<size_t> lengths;
  std::vector<const char *const *> tokens;
  attn_sentences result = {};
};

/// Decodes batches of lines and prints what comes of them.
class Runner {
public:
  Runner(const std::string &tool, const DecodeSettings &settings,
         const attn_api &api, const attn_model *model)
      : tool(tool), settings(settings), api(api), model(model),
        info(*api.info(model)), options(settings.options) {
    if (settings.align || (settings.json && info.has_alignment))
      options.want_alignment = 1;
  }
  ~Runner() { api.clear_error(&error); }

  /// Whether the options fit the model; prints why not.
  bool checkOptions() {
    Sentences none;
    return decode(none.view(), nullptr) != nullptr;
  }
  /// `targets` is empty where nothing is forced. False where everything failed.
  bool run(const std::vector<Line> &lines, const std::vector<Line> &targets);
  bool allDecoded() const { return sentenceErrors == 0; }

private:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  Results decode(const attn_sentences &sentences,
                 const attn_sentences *forced) {
    attn_decode_options mine = options;
    mine.forced = forced;
    Results results(api.decode(model, &sentences, &mine, &error),
                    api.free_results);
    if (!results)
      printError(tool, error.message);
    return results;
  }
  std::string joinTokens(const attn_hypothesis &hypothesis) const;
  void print(const Line &line, const attn_results *results, size_t number,
             const std::string &problem);
  void printAlignment(const Line &line, const attn_hypothesis &hypothesis);

  const std::string &tool;
  const DecodeSettings &settings;
  const attn_api &api;
  const attn_model *model;
  const attn_model_info &info;
  attn_decode_options options;
  attn_error error = ATTN_ERROR_INIT;
  size_t lineNumber = 0;
  size_t sentenceErrors = 0;
};

std::string Runner::joinTokens(const attn_hypothesis &hypothesis) const {
  std::string text;
  for (size_t i = 0; i < hypothesis.length; ++i) {
    if (i && !settings.outputCharacters)
      text += ' ';
    text += hypothesis.tokens[i];
  }
  return text;
}

bool Runner::run(const std::vector<Line> &lines,
                 const std::vector<Line> &targets) {
  // What is wrong already takes its place with an empty sentence.
  static const Line empty;
  Sentences sources, forced;
  for (size_t i = 0; i < lines.size(); ++i) {
    bool wrong = !lines[i].error.empty() ||
                 (!targets.empty() && !targets[i].error.empty());
    sources.add(wrong ? empty : lines[i]);
    if (!targets.empty())
      forced.add(wrong ? empty : targets[i]);
  }
  Results results =
      decode(sources.view(), targets.empty() ? nullptr : &forced.view());
  if (!results)
    return false;
  for (size_t i = 0; i < lines.size(); ++i) {
    ++lineNumber;
    std::string problem = lines[i].error;
    if (problem.empty() && !targets.empty() && !targets[i].error.empty())
      problem = "forced target: " + targets[i].error;
    const attn_result *result = api.result(results.get(), i);
    if (problem.empty() && result->status != ATTN_OK)
      problem = result->message;
    if (!problem.empty()) {
      ++sentenceErrors;
      printError(tool, "line " + std::to_string(lineNumber) + ": " + problem);
    }
    print(lines[i], results.get(), i, problem);
  }
  return true;
}

void Runner::print(const Line &line, const attn_results *results, size_t number,
                   const std::string &problem) {
  std::vector<const attn_hypothesis *> hypotheses;
  if (problem.empty())
    for (size_t rank = 0; rank < api.result(results, number)->hypothesis_count;
         ++rank)
      hypotheses.push_back(api.hypothesis(results, number, rank));

  if (settings.json) {
    std::string text = "{\"hypotheses\": [";
    for (const attn_hypothesis *hypothesis : hypotheses) {
      if (text.back() != '[')
        text += ", ";
      appendJson(text, *hypothesis, joinTokens(*hypothesis));
    }
    text += "]";
    if (!problem.empty()) {
      text += ", \"error\": ";
      appendJsonString(text, problem);
    }
    text += "}\n";
    fwrite(text.data(), 1, text.size(), stdout);
    return;
  }

  bool list = options.nbest > 1;
  for (const attn_hypothesis *hypothesis : hypotheses) {
    std::string text;
    if (!settings.forcePath.empty())
      for (size_t i = 0; i < hypothesis->emitted; ++i)
        text += (i ? " " : "") + formatFixed(hypothesis->word_logprobs[i]);
    else
      text = joinTokens(*hypothesis);
    if (list)
      text += "\t" + formatFixed(hypothesis->score);
    text += "\n";
    fwrite(text.data(), 1, text.size(), stdout);
    if (settings.align)
      printAlignment(line, *hypothesis);
  }
  if (hypotheses.empty() && !list)
    putchar('\n');
  if (list || settings.align)
    putchar('\n');
}

void Runner::printAlignment(const Line &line,
                            const attn_hypothesis &hypothesis) {
  auto endToken = [&](int32_t number) -> std::string {
    const attn_vocabulary *vocabulary =
        api.vocabulary(model, static_cast<size_t>(number));
    return vocabulary->end < 0 ? "" : vocabulary->tokens[vocabulary->end];
  };
  if (!hypothesis.emitted)
    return;
  std::vector<std::string> rows(hypothesis.tokens,
                                hypothesis.tokens + hypothesis.length);
  if (hypothesis.emitted > hypothesis.length)
    rows.push_back(endToken(info.target_vocabulary));
  std::vector<std::string> columns = line.tokens;
  if (info.source_has_end)
    columns.push_back(endToken(info.source_vocabulary));
  // An encoder that makes sequences shorter has memory positions without names.
  if (columns.size() != hypothesis.memory_positions) {
    columns.clear();
    for (size_t i = 0; i < hypothesis.memory_positions; ++i)
      columns.push_back(std::to_string(i));
  }
  std::string grid = drawAlignment(rows, columns, hypothesis.alignment);
  fwrite(grid.data(), 1, grid.size(), stdout);
}

/// Reads all lines of a file of forced targets. False after a message.
bool readTargets(const std::string &tool, const DecodeSettings &settings,
                 std::vector<Line> &targets) {
  FILE *file = fopen(settings.forcePath.c_str(), "re");
  bool failed = !file;
  if (file) {
    LineReader reader(file);
    for (Line line; reader.next(settings.outputCharacters, line);)
      targets.push_back(std::move(line));
    failed = reader.failed();
  }
  if (failed)
    printError(tool, "expected a readable file after --force, but got " +
                         quote(strerror(errno)) + ": " + settings.forcePath);
  if (file)
    fclose(file);
  return !failed;
}

} // namespace

int runDecodeTool(const std::string &tool, const DecodeSettings &settings,
                  const attn_api &api, const attn_model *model) {
  auto usage = [&](const std::string &message) {
    printError(tool, message);
    return 2;
  };
  bool force = !settings.forcePath.empty();
  if (settings.alphaGiven && !settings.normalizeGiven)
    return usage("expected --normalize length with --alpha, but got no "
                 "--normalize");
  if (settings.options.nbest > settings.options.beam)
    return usage("expected --nbest of at most --beam, which is " +
                 std::to_string(settings.options.beam) + ", but got " +
                 std::to_string(settings.options.nbest));
  if (force && settings.options.nbest > 1)
    return usage("expected --force to have one result a line, but got --nbest "
                 "as well");

  Runner runner(tool, settings, api, model);
  if (!runner.checkOptions())
    return 1;
  LineReader reader(stdin);
  std::vector<Line> lines, targets;
  auto fillLines = [&](size_t most) {
    lines.clear();
    for (Line line;
         lines.size() < most && reader.next(settings.characters, line);)
      lines.push_back(std::move(line));
    return !lines.empty();
  };

  if (force) {
    // All lines first: a count that does not fit is known before any output.
    if (!readTargets(tool, settings, targets))
      return 1;
    fillLines(SIZE_MAX);
    if (lines.size() != targets.size()) {
      printError(tool, "expected a target for each of the " +
                           std::to_string(lines.size()) +
                           " sentences, but got " +
                           std::to_string(targets.size()) +
                           " lines: " + settings.forcePath);
      return 1;
    }
    if (!lines.empty() && !runner.run(lines, targets))
      return 1;
  } else {
    // Who types sees each answer at once.
    size_t batch = isatty(STDIN_FILENO) ? 1 : settings.options.batch_size;
    while (fillLines(batch)) {
      if (!runner.run(lines, targets))
        return 1;
      fflush(stdout);
    }
  }
  if (reader.failed()) {
    printError(tool, "expected readable standard input, but got " +
                         quote(strerror(errno)));
    return 1;
  }
  if (fflush(stdout) != 0 || ferror(stdout)) {
    printError(tool, "expected writable standard output, but got " +
                         quote(strerror(errno)));
    return 1;
  }
  return runner.allDecoded() ? 0 : 1;
}

} // namespace attn::tool

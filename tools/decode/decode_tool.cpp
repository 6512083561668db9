//===- decode_tool.cpp - the command line of decoding tools ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/decode_tool.h"
#include "runtime/text.h"
#include "tools/decode/alignment_grid.h"
#include "tools/decode/alignment_svg.h"
#include "tools/decode/diagnose_model.h"
#include "tools/decode/diagnose_report.h"
#include "tools/decode/dump.h"
#include "tools/decode/frame_output.h"
#include "tools/decode/line_reader.h"
#include "tools/decode/output_file.h"
#include "tools/decode/progress.h"
#include "tools/decode/result_json.h"
#include "tools/decode/sentences.h"
#include "tools/decode/shortlist_files.h"
#include "tools/decode/source_line.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <unistd.h>

namespace attn::tool {

void printError(const std::string &tool, const std::string &message) {
  for (size_t from = 0; from <= message.size();) {
    size_t end = std::min(message.find('\n', from), message.size());
    fprintf(stderr, "%s: error: %s\n", tool.c_str(),
            message.substr(from, end - from).c_str());
    from = end + 1;
  }
}

namespace {

/// What a sentence of the input is given beside its source, or, without an
/// encoder, instead of it.
enum class Companion { None, Forced, Prefix };

/// Numbers of features that are read before they are decoded: 64 MiB.
constexpr size_t mostFeatures = size_t(1) << 24;

/// Decodes windows of lines and prints what comes of them.
class Runner {
public:
  Runner(const std::string &tool, const DecodeSettings &settings,
         const attn_api &api, const attn_model *model)
      : tool(tool), settings(settings), api(api), model(model),
        info(*api.info(model)), options(settings.options),
        companion(!settings.forcePath.empty()    ? Companion::Forced
                  : !settings.prefixPath.empty() ? Companion::Prefix
                                                 : Companion::None),
        progress(tool, settings.quiet || settings.stream) {
    if (settings.align || !settings.alignSvgPath.empty() || settings.diagnose ||
        (settings.json && info.has_alignment))
      options.want_alignment = 1;
    options.sampling = settings.sample;
    options.replace_unknown = settings.replaceUnknown;
    options.end_at_maximum = settings.endAtMaximum || options.end_at_maximum;
    options.alternatives = settings.alternatives;
    if (settings.stream) {
      options.on_token = printToken;
      options.on_token_context = this;
    }
    for (size_t i = 0; i < info.input_count; ++i)
      reader.inputs.push_back(api.input(model, i));
    // Forced features are read like an input.
    frameInput.struct_size = sizeof(frameInput);
    frameInput.name = "target";
    frameInput.vocabulary = -1;
    frameInput.rank = 1;
    frameShape = static_cast<int64_t>(info.frame_size);
    frameInput.shape = &frameShape;
    frameInput.width = info.frame_size;
    frameReader.inputs = {&frameInput};
    frameReader.mostPositions = SIZE_MAX;
    reader.characters = settings.characters;
    reader.mostPositions = settings.maxSourceLength;
    if (!info.has_encoder && companion == Companion::None &&
        info.target != ATTN_TARGET_FEATURES) {
      continuesLines = true;
      companion = Companion::Prefix;
    }
  }
  ~Runner() { api.clear_error(&error); }

  /// Reads what is banned, checks whether the options fit the model, and opens
  /// what is written to; prints what is wrong.
  bool prepare();
  /// `companions` is empty where there are none. False where everything failed.
  bool run(std::span<const std::string> texts,
           std::span<const Line> companions);
  /// Prints the summary and puts the picture in its place; prints what is
  /// wrong.
  bool finish();
  bool allDecoded() const { return sentenceErrors == 0; }
  /// Prints an error; false.
  bool fail(const std::string &message) {
    progress.erase();
    printError(tool, message);
    return false;
  }

private:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  Results decode(const attn_sentences *sentences,
                 const attn_sentences *companions, const uint64_t *numbers,
                 std::span<const SourceLine> lines) {
    attn_decode_options mine = options;
    mine.shortlists = shortlists.view(lines);
    mine.forced = companion == Companion::Forced ? companions : nullptr;
    mine.prefixes = companion == Companion::Prefix ? companions : nullptr;
    mine.sentence_numbers = numbers;
    Results results(api.decode(model, sentences, &mine, &error),
                    api.free_results);
    if (!results)
      fail(error.message);
    return results;
  }
  /// What stands beside a line, if something does. False after an error, which
  /// is the line's.
  const std::vector<std::string> *findCompanion(SourceLine &line,
                                                const Line *companion) const;
  /// Reads the forced features of a line, whose error it is if they are wrong.
  void readFrames(const std::vector<std::string> &words, SourceLine &line,
                  SourceInput &frames) const;
  bool decodeLines(std::vector<SourceLine> &lines,
                   std::span<const Line> companions);
  bool readBans();
  bool readShortlists();
  /// Prints a token that was just emitted; an attn_token_function.
  static int printToken(void *runner, const attn_token *token);
  /// Whether positions are printed.
  bool isNumber() const {
    return info.target == ATTN_TARGET_POSITIONS && !settings.words;
  }
  /// Makes sure that what was printed has arrived. False after a message.
  bool flush();
  void printSummary();
  std::string joinTokens(const attn_hypothesis &hypothesis) const;
  void print(const SourceLine &line, const attn_results *results, size_t number,
             const std::string &problem);
  void drawAlignments(const SourceLine &line, const attn_hypothesis &hypothesis,
                      size_t rank, bool asPicture);
  /// Dumps the best hypothesis of a line. False after a message.
  bool dump(const SourceLine &line, const attn_hypothesis &hypothesis);
  /// Prints what there is to say of a hypothesis of a line, or of what is wrong
  /// with it; null: there is none.
  void diagnoseLine(const SourceLine &line, const attn_hypothesis *hypothesis,
                    std::string problem);
  /// What was emitted, an end token included.
  std::vector<int32_t> emittedIds(const attn_hypothesis &hypothesis) const;
  void nameGrid(const SourceLine &line, const attn_hypothesis &hypothesis,
                std::vector<std::string> &rows,
                std::vector<std::string> &columns) const;

  const std::string &tool;
  const DecodeSettings &settings;
  const attn_api &api;
  const attn_model *model;
  const attn_model_info &info;
  attn_decode_options options;
  Companion companion;
  bool continuesLines = false; ///< Prefixes are the lines themselves.
  SourceReader reader;
  int64_t frameShape = 0;
  attn_input frameInput = {};
  SourceReader frameReader; ///< Of forced features.
  Progress progress;
  std::vector<Line> banLines;
  Sentences bans;
  attn_sentences banned = {};
  Shortlists shortlists;
  OutputFile pictureFile;
  AlignmentPicture picture;
  attn_error error = ATTN_ERROR_INIT;
  size_t lineNumber = 0;
  size_t sentenceErrors = 0;

  /// What was forced so far.
  struct Totals {
    size_t sentences = 0, skipped = 0, tokens = 0;
    double logprob = 0;
  } totals;
  DiagnosisTotals diagnoses;
};

int Runner::printToken(void *runner, const attn_token *token) {
  const Runner &self = *static_cast<Runner *>(runner);
  if (token->is_end)
    return 0;
  std::string text = self.isNumber() ? std::to_string(token->id) : token->text;
  if (token->position && (self.isNumber() || !self.settings.outputCharacters))
    putchar(' ');
  fputs(text.c_str(), stdout);
  // Nobody waits for what can no longer be printed.
  return fflush(stdout) != 0;
}

bool Runner::readBans() {
  static const attn_vocabulary none = {
      sizeof(attn_vocabulary), "", 0, nullptr, -1, -1, -1, -1};
  const attn_vocabulary *target =
      api.vocabulary(model, static_cast<size_t>(info.target_vocabulary));
  const attn_vocabulary &vocabulary = target ? *target : none;
  std::string problem;
  if (!settings.banPath.empty() &&
      !readLines(settings.banPath, "--ban-file", settings.outputCharacters,
                 banLines, problem))
    return fail(problem);
  for (size_t i = 0; i < banLines.size(); ++i)
    if (!banLines[i].error.empty())
      return fail("line " + std::to_string(i + 1) + " of " + settings.banPath +
                  ": " + banLines[i].error);
  for (const std::string &ban : settings.bans) {
    Line &line = banLines.emplace_back();
    splitLine(ban, settings.outputCharacters, SIZE_MAX, line);
    if (!line.error.empty())
      return fail("--ban: " + line.error);
    // A token may have a space in it, or several characters.
    for (size_t id = 0; id < vocabulary.size; ++id)
      if (ban == vocabulary.tokens[id])
        line.tokens = {ban};
  }
  if (settings.banUnknown && vocabulary.unknown >= 0)
    banLines.emplace_back().tokens = {vocabulary.tokens[vocabulary.unknown]};
  for (const Line &line : banLines)
    bans.add(line.tokens);
  if (!banLines.empty()) {
    banned = bans.view();
    options.banned = &banned;
  }
  return true;
}

bool Runner::readShortlists() {
  bool tokens = !settings.shortlistPath.empty();
  if (!tokens && settings.shortlistTablePath.empty())
    return true;
  const attn_vocabulary *target =
      api.vocabulary(model, static_cast<size_t>(info.target_vocabulary));
  const char *option = tokens ? "--shortlist" : "--shortlist-table";
  if (!target)
    return fail(std::string("expected a model that emits tokens with ") +
                option + ", but got " + quote(info.name));
  if (!tokens && info.source_vocabulary < 0)
    return fail(std::string("expected a model whose first input is tokens "
                            "with ") +
                option + ", but got " + quote(info.name));
  std::string problem;
  return (tokens
              ? shortlists.readTokens(settings.shortlistPath, *target, problem)
              : shortlists.readTable(settings.shortlistTablePath, *target,
                                     settings.shortlistFirst,
                                     settings.shortlistBest, problem)) ||
         fail(problem);
}

bool Runner::prepare() {
  if (info.target == ATTN_TARGET_FEATURES &&
      (settings.diagnose || settings.summary || !settings.dumpPath.empty()))
    return fail("expected a model that emits tokens or positions with "
                "--diagnose, --summary and --dump, but got " +
                quote(info.name));
  if (info.target != ATTN_TARGET_FEATURES && !settings.framesPath.empty())
    return fail("expected a model that emits features with --frames, but got " +
                quote(info.name));
  Sources none(reader.inputs);
  std::string problem;
  if (!readBans() || !readShortlists() ||
      !decode(none.view(), nullptr, nullptr, {}))
    return false;
  return settings.alignSvgPath.empty() ||
         pictureFile.open(settings.alignSvgPath, problem) || fail(problem);
}

bool Runner::flush() {
  return (fflush(stdout) == 0 && !ferror(stdout)) ||
         fail("expected writable standard output, but got " +
              quote(strerror(errno)));
}

void Runner::printSummary() {
  double perplexity =
      std::exp(-totals.logprob / static_cast<double>(totals.tokens));
  std::string text;
  if (settings.json) {
    text = "{\"summary\": {\"sentences\": " + std::to_string(totals.sentences) +
           ", \"skipped\": " + std::to_string(totals.skipped) +
           ", \"tokens\": " + std::to_string(totals.tokens) + ", \"logprob\": ";
    appendJsonNumber(text, totals.logprob);
    text += ", \"perplexity\": ";
    appendJsonNumber(text, perplexity);
    text += "}}\n";
  } else {
    text = std::to_string(totals.sentences) + " sentences, " +
           std::to_string(totals.skipped) + " skipped, " +
           std::to_string(totals.tokens) + " tokens, log p " +
           formatFixed(totals.logprob) + ", perplexity " +
           formatFixed(perplexity) + "\n";
  }
  fwrite(text.data(), 1, text.size(), stdout);
}

bool Runner::finish() {
  progress.erase();
  if (settings.summary)
    printSummary();
  if (settings.diagnose) {
    std::string text = describeTotals(diagnoses);
    if (settings.json) {
      text = "{\"summary\": ";
      appendJson(text, diagnoses);
      text += "}\n";
    }
    fwrite(text.data(), 1, text.size(), stdout);
  }
  if (!flush())
    return false;
  if (!pictureFile.isOpen())
    return true;
  std::string problem;
  pictureFile.write(picture.svg());
  return pictureFile.close(problem) || fail(problem);
}

std::string Runner::joinTokens(const attn_hypothesis &hypothesis) const {
  std::string text;
  for (size_t i = 0; i < hypothesis.length; ++i) {
    if (i && (isNumber() || !settings.outputCharacters))
      text += ' ';
    text +=
        isNumber() ? std::to_string(hypothesis.ids[i]) : hypothesis.tokens[i];
  }
  return text;
}

bool Runner::run(std::span<const std::string> texts,
                 std::span<const Line> companions) {
  for (size_t at = 0; at < texts.size();) {
    std::vector<SourceLine> lines;
    size_t features = 0;
    while (at + lines.size() < texts.size() && features < mostFeatures) {
      lines.push_back(reader.read(texts[at + lines.size()]));
      features += lines.back().featureCount();
    }
    if (!decodeLines(lines, companions.empty()
                                ? companions
                                : companions.subspan(at, lines.size())))
      return false;
    at += lines.size();
  }
  return true;
}

const std::vector<std::string> *Runner::findCompanion(SourceLine &line,
                                                      const Line *given) const {
  if (continuesLines)
    return &line.inputs[0].tokens;
  if (!given)
    return nullptr;
  const char *option = companion == Companion::Forced ? "--force" : "--prefix";
  if (line.error.empty() && !info.has_encoder && !line.inputs[0].tokens.empty())
    line.error = std::string("expected an empty line with ") + option +
                 " for model " + quote(info.name) +
                 ", which has no encoder, but got " +
                 std::to_string(line.inputs[0].tokens.size()) + " tokens";
  if (line.error.empty() && !given->error.empty())
    line.error =
        (companion == Companion::Forced ? "forced target: " : "prefix: ") +
        given->error;
  return &given->tokens;
}

void Runner::readFrames(const std::vector<std::string> &words, SourceLine &line,
                        SourceInput &frames) const {
  if (!line.error.empty())
    return;
  std::string path;
  for (const std::string &word : words)
    path += (path.empty() ? "" : " ") + word;
  SourceLine read = frameReader.read(path);
  frames = std::move(read.inputs[0]);
  if (!read.error.empty())
    line.error = "forced target: " + read.error;
}

bool Runner::decodeLines(std::vector<SourceLine> &lines,
                         std::span<const Line> companions) {
  // What is wrong already takes its place with an empty sentence.
  static const std::vector<std::string> empty;
  Sources sources(reader.inputs);
  Sentences others;
  std::vector<SourceInput> frames(lines.size());
  std::vector<uint64_t> numbers;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> *other =
        findCompanion(lines[i], companions.empty() ? nullptr : &companions[i]);
    bool ofFrames = other && info.target == ATTN_TARGET_FEATURES;
    if (ofFrames)
      readFrames(*other, lines[i], frames[i]);
    bool good = lines[i].error.empty();
    sources.add(good ? &lines[i] : nullptr);
    if (ofFrames)
      others.addFeatures(frames[i]);
    else if (other)
      others.add(good ? *other : empty);
    numbers.push_back(lineNumber + i);
  }
  attn_sentences beside = others.view();
  Results results = decode(sources.view(), &beside, numbers.data(), lines);
  if (!results)
    return false;
  progress.erase();
  for (size_t i = 0; i < lines.size(); ++i) {
    ++lineNumber;
    std::string problem = lines[i].error;
    const attn_result *result = api.result(results.get(), i);
    if (problem.empty() && result->status != ATTN_OK)
      problem = result->message;
    if (!problem.empty()) {
      ++sentenceErrors;
      fail("line " + std::to_string(lineNumber) + ": " + problem);
    }
    if (!settings.dumpPath.empty() && problem.empty() &&
        !dump(lines[i], *api.hypothesis(results.get(), i, 0)))
      return false;
    print(lines[i], results.get(), i, problem);
  }
  // Nobody waits for what can no longer be printed.
  if (!flush())
    return false;
  progress.show(lineNumber);
  return true;
}

std::vector<int32_t>
Runner::emittedIds(const attn_hypothesis &hypothesis) const {
  std::vector<int32_t> tokens(hypothesis.ids,
                              hypothesis.ids + hypothesis.emitted);
  return tokens;
}

void Runner::diagnoseLine(const SourceLine &line,
                          const attn_hypothesis *hypothesis,
                          std::string problem) {
  std::string text, json, described;
  if (hypothesis)
    text = joinTokens(*hypothesis);
  if (hypothesis && hypothesis->emitted) {
    Diagnosis diagnosis;
    std::vector<float> weights;
    if (!diagnoseSentence(api, model, reader.inputs, line,
                          emittedIds(*hypothesis), hypothesis->finished,
                          diagnosis, weights, problem)) {
      ++sentenceErrors;
      fail("line " + std::to_string(lineNumber) + ": --diagnose: " + problem);
    } else {
      diagnoses.add(diagnosis);
      std::vector<std::string> rows, columns;
      nameGrid(line, *hypothesis, rows, columns);
      described = describeDiagnosis(diagnosis, columns);
      appendJson(json, diagnosis);
      std::vector<AlignmentPicture::Margin> margins;
      for (size_t s = 0; s < diagnosis.positions; ++s)
        margins.push_back(
            {diagnosis.mass[s],
             diagnosis.isUnread(s)   ? AlignmentPicture::Margin::Unread
             : diagnosis.isReread(s) ? AlignmentPicture::Margin::Reread
                                     : AlignmentPicture::Margin::Plain});
      if (pictureFile.isOpen())
        picture.add("line " + std::to_string(lineNumber) + ": " +
                        formatFixed(hypothesis->score),
                    rows, columns, weights.data(), margins);
    }
  }
  if (settings.json) {
    described = "{\"text\": ";
    appendJsonString(described, text);
    described += ", \"diagnosis\": " + (json.empty() ? "null" : json);
    if (!problem.empty()) {
      described += ", \"error\": ";
      appendJsonString(described, problem);
    }
    text = described + "}\n";
  } else {
    text += "\n" + described;
  }
  fwrite(text.data(), 1, text.size(), stdout);
}

bool Runner::dump(const SourceLine &line, const attn_hypothesis &hypothesis) {
  if (!hypothesis.emitted)
    return true;
  std::vector<int32_t> tokens = emittedIds(hypothesis);
  Sources sentence(reader.inputs);
  sentence.add(&line);
  std::string folder = settings.dumpPath + "/" + std::to_string(lineNumber);
  std::string problem;
  if (dumpSentence(api, model, sentence.view(), tokens, folder, problem))
    return true;
  return fail("line " + std::to_string(lineNumber) + ": --dump: " + problem);
}

void Runner::print(const SourceLine &line, const attn_results *results,
                   size_t number, const std::string &problem) {
  std::vector<const attn_hypothesis *> hypotheses;
  if (problem.empty())
    for (size_t rank = 0; rank < api.result(results, number)->hypothesis_count;
         ++rank)
      hypotheses.push_back(api.hypothesis(results, number, rank));
  if (settings.diagnose)
    return diagnoseLine(line, hypotheses.empty() ? nullptr : hypotheses[0],
                        problem);
  if (pictureFile.isOpen())
    for (size_t rank = 0; rank < hypotheses.size(); ++rank)
      drawAlignments(line, *hypotheses[rank], rank, true);
  if (hypotheses.empty() || !hypotheses[0]->emitted) {
    ++totals.skipped;
  } else {
    ++totals.sentences;
    totals.tokens += hypotheses[0]->emitted;
    totals.logprob += hypotheses[0]->logprob;
  }

  // An empty sentence has no features and no file.
  std::string file, whatIsWrong;
  bool ofFrames = info.target == ATTN_TARGET_FEATURES;
  if (ofFrames && !settings.framesPath.empty() && !hypotheses.empty() &&
      hypotheses[0]->emitted) {
    file = writeFrames(settings.framesPath, lineNumber, *hypotheses[0],
                       info.frame_size, whatIsWrong);
    if (file.empty()) {
      ++sentenceErrors;
      fail("line " + std::to_string(lineNumber) + ": --frames: " + whatIsWrong);
    }
  }

  if (settings.json) {
    std::string text = "{\"hypotheses\": [";
    for (const attn_hypothesis *hypothesis : hypotheses) {
      if (text.back() != '[')
        text += ", ";
      if (ofFrames)
        appendFramesJson(text, *hypothesis, file,
                         options.alignment_head == ATTN_HEADS_ALL);
      else
        appendJson(text, *hypothesis, joinTokens(*hypothesis),
                   info.target == ATTN_TARGET_POSITIONS,
                   options.alignment_head == ATTN_HEADS_ALL);
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
  for (size_t rank = 0; rank < hypotheses.size(); ++rank) {
    const attn_hypothesis *hypothesis = hypotheses[rank];
    std::string text;
    if (ofFrames)
      text = describeFrames(*hypothesis, file);
    else if (companion == Companion::Forced)
      for (size_t i = 0; i < hypothesis->emitted; ++i)
        text += (i ? " " : "") + formatFixed(hypothesis->word_logprobs[i]);
    else if (!settings.stream)
      text = joinTokens(*hypothesis);
    if (list)
      text += "\t" + formatFixed(hypothesis->score);
    text += "\n";
    fwrite(text.data(), 1, text.size(), stdout);
    if (settings.align)
      drawAlignments(line, *hypothesis, rank, false);
  }
  if (hypotheses.empty() && !list)
    putchar('\n');
  if (list || settings.align)
    putchar('\n');
}

/// Names the tokens of a hypothesis, and the memory positions of its line.
void Runner::nameGrid(const SourceLine &line, const attn_hypothesis &hypothesis,
                      std::vector<std::string> &rows,
                      std::vector<std::string> &columns) const {
  auto endToken = [&](int32_t number) -> std::string {
    const attn_vocabulary *vocabulary =
        api.vocabulary(model, static_cast<size_t>(number));
    return !vocabulary || vocabulary->end < 0
               ? ""
               : vocabulary->tokens[vocabulary->end];
  };
  rows.clear();
  for (size_t i = 0; i < hypothesis.length; ++i)
    rows.push_back(hypothesis.tokens ? hypothesis.tokens[i]
                                     : std::to_string(i));
  if (hypothesis.emitted > hypothesis.length)
    rows.push_back(endToken(info.target == ATTN_TARGET_TOKENS
                                ? info.target_vocabulary
                                : info.source_vocabulary));
  columns.clear();
  if (info.aligned_input >= 0) {
    size_t aligned = static_cast<size_t>(info.aligned_input);
    columns = line.inputs[aligned].tokens;
    if (reader.inputs[aligned]->has_end)
      columns.push_back(endToken(reader.inputs[aligned]->vocabulary));
  } else {
    // Features, and what an encoder makes of a sequence, have no names.
    for (size_t i = 0; i < hypothesis.memory_positions; ++i)
      columns.push_back(std::to_string(i));
  }
}

/// Draws the weights of a hypothesis, a grid for each head: into the picture,
/// or on standard output.
void Runner::drawAlignments(const SourceLine &line,
                            const attn_hypothesis &hypothesis, size_t rank,
                            bool asPicture) {
  if (!hypothesis.emitted)
    return;
  std::vector<std::string> rows, columns;
  nameGrid(line, hypothesis, rows, columns);
  size_t cells = rows.size() * columns.size();
  std::vector<float> weights(cells);
  for (size_t head = 0; head < hypothesis.heads; ++head) {
    for (size_t i = 0; i < cells; ++i)
      weights[i] = hypothesis.alignment[i * hypothesis.heads + head];
    if (!asPicture) {
      std::string grid = drawAlignment(rows, columns, weights.data());
      if (head)
        grid = "\n" + grid;
      fwrite(grid.data(), 1, grid.size(), stdout);
      continue;
    }
    std::string title = "line " + std::to_string(lineNumber);
    if (options.nbest > 1)
      title += ", " + std::to_string(rank + 1);
    if (hypothesis.heads > 1)
      title += ", head " + std::to_string(head);
    picture.add(title + ": " + formatFixed(hypothesis.score), rows, columns,
                weights.data());
  }
}

} // namespace

int runDecodeTool(const std::string &tool, const DecodeSettings &settings,
                  const attn_api &api, const attn_model *model) {
  auto usage = [&](const std::string &message) {
    printError(tool, message);
    return 2;
  };
  const attn_decode_options &options = settings.options;
  bool force = !settings.forcePath.empty();
  bool prefix = !settings.prefixPath.empty();
  if (settings.alphaGiven && options.normalization == ATTN_NORMALIZE_NONE)
    return usage("expected --normalize length or gnmt with --alpha, but got "
                 "none");
  if (!settings.sample && !settings.alternatives &&
      options.nbest > options.beam)
    return usage("expected --nbest of at most --beam, which is " +
                 std::to_string(options.beam) + ", but got " +
                 std::to_string(options.nbest));
  if (!settings.sample && !settings.samplingOption.empty())
    return usage("expected --sample with " + settings.samplingOption +
                 ", but got none");
  if (force && (options.nbest > 1 || settings.sample))
    return usage("expected --force to have one result a line, but got " +
                 std::string(settings.sample ? "--sample" : "--nbest") +
                 " as well");
  if (force && prefix)
    return usage("expected one of --force and --prefix, but got both");
  if (force && settings.alternatives)
    return usage("expected one of --force and --alternatives, but got both");
  if (!settings.shortlistPath.empty() && !settings.shortlistTablePath.empty())
    return usage("expected one of --shortlist and --shortlist-table, but got "
                 "both");
  if (settings.shortlistTablePath.empty() && !settings.shortlistOption.empty())
    return usage("expected --shortlist-table with " + settings.shortlistOption +
                 ", but got none");
  if (settings.diagnose)
    for (auto [other, name] : {std::pair(options.nbest > 1, "--nbest"),
                               std::pair(settings.stream, "--stream"),
                               std::pair(settings.align, "--align")})
      if (other)
        return usage("expected --diagnose to have its own report of one result "
                     "a line, but got " +
                     std::string(name) + " as well");
  if (settings.summary && settings.diagnose)
    return usage("expected one of --summary and --diagnose, but got both");
  if (settings.summary && !force)
    return usage("expected --force with --summary, but got none");
  if (settings.stream)
    for (auto [other, name] :
         {std::pair(force, "--force"), std::pair(settings.json, "--json"),
          std::pair(options.nbest > 1, "--nbest"),
          std::pair(options.beam > 1, "--beam")})
      if (other)
        return usage("expected --stream to have one result as it comes, but "
                     "got " +
                     std::string(name) + " as well");

  // A reader that is gone is a failure to write, with a message, like others.
  signal(SIGPIPE, SIG_IGN);
  Runner runner(tool, settings, api, model);
  if (!runner.prepare())
    return 1;
  LineReader reader(stdin);
  std::vector<std::string> lines;
  std::vector<Line> companions;
  auto fillLines = [&](size_t most) {
    lines.clear();
    for (std::string line; lines.size() < most && reader.next(line);)
      lines.push_back(std::move(line));
    return !lines.empty();
  };

  // Who types sees each answer at once.
  size_t window = isatty(STDIN_FILENO) || settings.stream ? 1 : settings.window;
  if (force || prefix) {
    // All lines first: a count that does not fit is known before any output.
    std::string problem;
    if (!readLines(force ? settings.forcePath : settings.prefixPath,
                   force ? "--force" : "--prefix", settings.outputCharacters,
                   companions, problem)) {
      runner.fail(problem);
      return 1;
    }
    fillLines(SIZE_MAX);
    if (lines.size() != companions.size()) {
      runner.fail(
          "expected a " + std::string(force ? "target" : "prefix") +
          " for each of the " + std::to_string(lines.size()) +
          " sentences, but got " + std::to_string(companions.size()) +
          " lines: " + (force ? settings.forcePath : settings.prefixPath));
      return 1;
    }
    for (size_t at = 0; at < lines.size(); at += window) {
      size_t count = std::min(window, lines.size() - at);
      if (!runner.run(std::span(lines).subspan(at, count),
                      std::span(companions).subspan(at, count)))
        return 1;
    }
  } else {
    while (fillLines(window))
      if (!runner.run(lines, {}))
        return 1;
  }
  if (reader.failed()) {
    runner.fail("expected readable standard input, but got " +
                quote(strerror(errno)));
    return 1;
  }
  if (!runner.finish())
    return 1;
  return runner.allDecoded() ? 0 : 1;
}

} // namespace attn::tool

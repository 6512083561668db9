//===- decode_options.cpp - the options of decoding tools
//--------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/decode_tool.h"
#include "tools/decode/presets.h"

#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace attn::tool {

const char decodeDetails[] =
    "Standard input has a sentence a line, its tokens separated by spaces. "
    "What a\n"
    "model's encoder takes as features is the name of a file: .npy, or "
    "safetensors\n"
    "(FILE or FILE:TENSOR). Several inputs are separated by tabs. A model "
    "without an\n"
    "encoder continues its lines. For each line, in order:\n"
    "  (nothing else said)   the best text\n"
    "  --nbest N, N > 1      `text<TAB>score` for each hypothesis, the best "
    "first,\n"
    "                        and an empty line\n"
    "  --force FILE          log p of each token of the target and of its "
    "end;\n"
    "                        with --summary, one more line in the end: the "
    "totals\n"
    "  --diagnose            the text, what is remarkable, and in the end the "
    "totals\n"
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

/// Adds an option whose value is one of some names, by which numbers they
/// stand for.
template <typename T, size_t N>
static void addChoice(OptionParser &parser, const std::string &name,
                      const std::string &help,
                      const std::pair<const char *, T> (&choices)[N],
                      T &value) {
  std::vector<std::pair<std::string, T>> all(std::begin(choices),
                                             std::end(choices));
  std::string names, expected;
  for (size_t i = 0; i < N; ++i) {
    names += (i ? "|" : "") + all[i].first;
    expected += (i == 0 ? "" : i + 1 < N ? ", " : " or ") + all[i].first;
  }
  parser.addOption(
      name, names, help,
      [all, expected, &value](const std::string &given, std::string &message) {
        message = expected;
        for (const auto &[choice, number] : all)
          if (given == choice) {
            value = number;
            return true;
          }
        return false;
      });
}

/// Adds an option whose value is a number greater than 0 and at most `most`.
/// `given`, if there is one, becomes the name of the option.
static void addPositive(OptionParser &parser, const std::string &name,
                        const std::string &valueName, const std::string &help,
                        const std::string &expected, double most,
                        std::string *given, double &value) {
  parser.addOption(name, valueName, help,
                   [&value, name, expected, most,
                    given](const std::string &text, std::string &message) {
                     message = expected;
                     if (given)
                       *given = "--" + name;
                     return readNumber(text, 0, value) && value > 0 &&
                            value <= most;
                   });
}

constexpr double anyNumber = std::numeric_limits<double>::max();

static void addSearchOptions(OptionParser &parser, DecodeSettings &settings) {
  attn_decode_options &options = settings.options;
  parser.addHeading("search");
  parser.addOption("preset", presetNames(),
                   "rules of another system; options after it\nchange them",
                   [&](const std::string &value, std::string &expected) {
                     expected = "one of " + presetNames();
                     return applyPreset(value, settings);
                   });
  parser.addSize("beam", "K", "width of the beam; 1 is greedy (default 1)", 1,
                 options.beam);
  parser.addSize("nbest", "N",
                 "hypotheses to print, at most K, or samples, or\nalternatives "
                 "(default 1)",
                 1, options.nbest);
  addChoice(parser, "normalize",
            "score: S, the sum of log p; S / tokens^A; or\nS / ((5 + tokens) / "
            "6)^A (default none)",
            {std::pair("none", ATTN_NORMALIZE_NONE),
             std::pair("length", ATTN_NORMALIZE_LENGTH),
             std::pair("gnmt", ATTN_NORMALIZE_GNMT)},
            options.normalization);
  parser.addOption("alpha", "A", "exponent of --normalize (default 1)",
                   [&](const std::string &value, std::string &expected) {
                     settings.alphaGiven = true;
                     expected = "a number of at least 0";
                     return readNumber(value, 0, options.alpha);
                   });
  parser.addNumber("coverage", "B",
                   "add B * sum over the source of log(min(sum of\nweights, "
                   "1)) to scores (default 0)",
                   0, options.coverage);
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
  parser.addFlag("end-at-maximum",
                 "the last token that the maximum length permits is\nthe end "
                 "token",
                 settings.endAtMaximum);
  addPositive(parser, "stop-threshold", "P",
              "features: end where the probability of that is\ngreater "
              "(default 0.5)",
              "a number greater than 0 and at most 1", 1, nullptr,
              options.stop_threshold);
  parser.addInteger("stall", "N",
                    "features: end where the largest weight has stood\nstill "
                    "for N frames",
                    1, options.stall);
  addChoice(parser, "stop",
            "end when K are finished that none can beat; when\nP * K are "
            "finished; when the best is, and N are; or\nwhen K are that the "
            "best of the step does not beat\n(default bound)",
            {std::pair("bound", ATTN_STOP_BOUND),
             std::pair("count", ATTN_STOP_COUNT),
             std::pair("top", ATTN_STOP_TOP),
             std::pair("estimate", ATTN_STOP_ESTIMATE)},
            options.stop);
  addPositive(parser, "patience", "P", "see --stop count (default 1)",
              "a number greater than 0", anyNumber, nullptr, options.patience);
  addChoice(parser, "refill",
            "whether others take the places of hypotheses that\nended: at "
            "once, after a step, or never (default\nalways)",
            {std::pair("always", ATTN_REFILL_ALWAYS),
             std::pair("next", ATTN_REFILL_NEXT),
             std::pair("never", ATTN_REFILL_NEVER)},
            options.refill);
  parser.addText("force", "FILE",
                 "do not search: score the targets in FILE, one a\nline",
                 settings.forcePath);
  parser.addFlag("summary",
                 "with --force: print the totals and the perplexity in\nthe "
                 "end",
                 settings.summary);
  parser.addSize("batch-size", "N",
                 "sentences to decode together; changes no result\n(default "
                 "32)",
                 1, options.batch_size);
  parser.addSize("threads", "N",
                 "threads to decode with; changes no result (default 1)", 1,
                 options.threads);
}

static void addConstraintOptions(OptionParser &parser,
                                 DecodeSettings &settings) {
  attn_decode_options &options = settings.options;
  parser.addHeading("what may be emitted");
  parser.addText("prefix", "FILE",
                 "begin each result with the tokens in a line of "
                 "FILE;\nwithout an encoder, lines are prefixes already",
                 settings.prefixPath);
  parser.addFlag("alternatives",
                 "print --nbest results that differ in the first token\nbehind "
                 "the prefix, each the best with that token",
                 settings.alternatives);
  parser.addOption("ban", "TOKENS",
                   "do not emit this token, or these in a row; may be\ngiven "
                   "several times",
                   [&](const std::string &value, std::string &expected) {
                     expected = "tokens";
                     settings.bans.push_back(value);
                     return !value.empty();
                   });
  parser.addText("ban-file", "FILE", "the same for each line of FILE",
                 settings.banPath);
  parser.addFlag("ban-unknown",
                 "do not emit the unknown token, if there is one",
                 settings.banUnknown);
  parser.addText("shortlist", "FILE",
                 "emit the tokens in FILE only, one a line; faster where\nthey "
                 "are few",
                 settings.shortlistPath);
  parser.addText(
      "shortlist-table", "FILE",
      "emit translations of the source's tokens only: lines of\nFILE "
      "are `target source probability`",
      settings.shortlistTablePath);
  for (auto [name, help, count] :
       {std::tuple("shortlist-first",
                   "and the first N tokens of the vocabulary (default\n100)",
                   &settings.shortlistFirst),
        std::tuple("shortlist-best",
                   "of each source token, the N most likely translations\n"
                   "(default 100)",
                   &settings.shortlistBest)})
    parser.addOption(
        name, "N", help,
        [&settings, option = "--" + std::string(name),
         count = count](const std::string &value, std::string &expected) {
          expected = "an integer of at least 0";
          settings.shortlistOption = option;
          return parseNumber(value, *count);
        });
  parser.addInteger("no-repeat-ngram", "N", "emit no N tokens in a row twice",
                    1, options.no_repeat_ngram);
  addPositive(parser, "repetition-penalty", "P",
              "divide logits of tokens that were emitted before\nby P, or "
              "multiply negative ones (default 1)",
              "a number greater than 0", anyNumber, nullptr,
              options.repetition_penalty);
  parser.addFlag(
      "replace-unknown",
      "print the source word with the largest weight for\nan unknown "
      "token",
      settings.replaceUnknown);
}

static void addSamplingOptions(OptionParser &parser, DecodeSettings &settings) {
  attn_decode_options &options = settings.options;
  std::string &given = settings.samplingOption;
  parser.addHeading("sampling");
  parser.addFlag("sample", "do not search: draw --nbest samples",
                 settings.sample);
  addPositive(parser, "temperature", "T",
              "divide logits by T before drawing (default 1)",
              "a number greater than 0", anyNumber, &given,
              options.temperature);
  parser.addOption("top-k", "K", "draw from the K most likely tokens",
                   [&](const std::string &value, std::string &expected) {
                     expected = "an integer of at least 1";
                     given = "--top-k";
                     return parseNumber(value, options.top_k) &&
                            options.top_k > 0;
                   });
  addPositive(parser, "top-p", "P",
              "draw from the fewest tokens that have probability\nP together",
              "a number greater than 0 and at most 1", 1, &given,
              options.top_p);
  parser.addOption("epsilon", "E",
                   "draw from tokens of probability E at least, and\nthe most "
                   "likely",
                   [&](const std::string &value, std::string &expected) {
                     expected = "a number of at least 0 and less than 1";
                     given = "--epsilon";
                     return readNumber(value, 0, options.epsilon) &&
                            options.epsilon < 1;
                   });
  parser.addOption("seed", "N", "of the random numbers (default 0)",
                   [&](const std::string &value, std::string &expected) {
                     expected = "an integer of at least 0";
                     given = "--seed";
                     return parseNumber(value, options.seed);
                   });
}

static void addFileOptions(OptionParser &parser, DecodeSettings &settings) {
  attn_decode_options &options = settings.options;
  parser.addHeading("input and output");
  parser.addFlag("characters",
                 "tokens of the input are the characters of the line",
                 settings.characters);
  parser.addFlag("output-characters",
                 "join tokens of the output without spaces (and split\nthose "
                 "of --force, --prefix and --ban into characters)",
                 settings.outputCharacters);
  parser.addText("frames", "DIR",
                 "write the features of each line to DIR/LINE.npy, lines\n"
                 "counted from 1",
                 settings.framesPath);
  parser.addFlag("words",
                 "print the source's words at the positions that a\nmodel "
                 "emits, and not the positions",
                 settings.words);
  parser.addSize("window", "N",
                 "lines to read before they are decoded, those of\nsimilar "
                 "length together (default 512)",
                 1, settings.window);
  parser.addSize("max-source-length", "N",
                 "refuse lines of more tokens, or features of more\npositions "
                 "(default 4096)",
                 1, settings.maxSourceLength);
  parser.addFlag("stream",
                 "print each token as soon as it is there, a line\nafter the "
                 "other; greedy, or one sample",
                 settings.stream);
  parser.addFlag("json", "print an object a line", settings.json);
  parser.addFlag("align",
                 "draw the weights, in per cent: a row for each token of\nthe "
                 "target, a column for each of the source",
                 settings.align);
  parser.addFlag("diagnose",
                 "tell how the alignment of each result reads: what\nit never "
                 "reads, or again and again, where it\nstalls, whether padding "
                 "or the order of the source\nmatter; the totals in the end",
                 settings.diagnose);
  parser.addText("align-svg", "FILE", "draw the weights in an SVG picture",
                 settings.alignSvgPath);
  parser.addText(
      "dump", "DIR",
      "write what the model makes of each name of its spec\nwhile it "
      "says the best result: DIR/LINE/encoder.h.npy,\n"
      "DIR/LINE/decoder.s.npy with a row a step, lines\ncounted "
      "from 1; numpy reads them",
      settings.dumpPath);
  parser.addOption(
      "align-head", "average|all|N",
      "weights of which head, the first being 0 (default\naverage)",
      [&](const std::string &value, std::string &expected) {
        expected = "average, all or the number of a head";
        if (value == "average" || value == "all") {
          options.alignment_head =
              value == "all" ? ATTN_HEADS_ALL : ATTN_HEADS_AVERAGE;
          return true;
        }
        return parseNumber(value, options.alignment_head) &&
               options.alignment_head >= 0;
      });
  parser.addFlag("quiet", "show no progress", settings.quiet);
}

void addDecodeOptions(OptionParser &parser, DecodeSettings &settings) {
  addSearchOptions(parser, settings);
  addConstraintOptions(parser, settings);
  addSamplingOptions(parser, settings);
  addFileOptions(parser, settings);
  parser.addHeading("other");
}

} // namespace attn::tool

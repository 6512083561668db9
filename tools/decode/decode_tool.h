//===- decode_tool.h - the command line of decoding tools -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attn-run and attn-eval have in common: the options of decoding, a
// sentence a line on standard input, results on standard output.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_DECODE_TOOL_H
#define ATTN_TOOLS_DECODE_DECODE_TOOL_H

#include "attn/attn.h"
#include "tools/decode/option_parser.h"

#include <string>
#include <vector>

namespace attn::tool {

/// What the command line says of decoding.
struct DecodeSettings {
  attn_decode_options options = attn_default_decode_options();
  bool alphaGiven = false;
  bool sample = false;
  bool replaceUnknown = false;
  bool endAtMaximum = false;
  bool banUnknown = false;
  bool alternatives = false;
  bool stream = false;
  bool summary = false;
  bool diagnose = false;
  bool json = false;
  bool align = false;
  bool characters = false;
  bool outputCharacters = false;
  bool words = false;
  std::string framesPath;
  bool quiet = false;
  /// An option of sampling that was given, or empty.
  std::string samplingOption;
  std::string forcePath;
  std::string prefixPath;
  std::vector<std::string> bans;
  std::string banPath;
  /// Lists of tokens that results are made of, or empty.
  std::string shortlistPath, shortlistTablePath;
  /// See Shortlists::readTable.
  size_t shortlistFirst = 100, shortlistBest = 100;
  /// An option of such tables that was given, or empty.
  std::string shortlistOption;
  std::string alignSvgPath;
  /// Lines to read before they are decoded.
  size_t window = 512;
  /// Tokens that a line may have. Time and memory grow with the square of them.
  size_t maxSourceLength = 4096;
  /// A folder for the values of the names of the spec, or empty.
  std::string dumpPath;
};

/// Adds the options of decoding to a tool's own.
void addDecodeOptions(OptionParser &parser, DecodeSettings &settings);

/// What belongs at the end of the help of a decoding tool.
extern const char decodeDetails[];

/// Prints "tool: error: line" for each line of a message.
void printError(const std::string &tool, const std::string &message);

/// Decodes standard input to standard output. `api` needs the functions that
/// work on an open model only. Returns the exit status: 0, 1 if a sentence or
/// everything failed, 2 for options that exclude each other.
int runDecodeTool(const std::string &tool, const DecodeSettings &settings,
                  const attn_api &api, const attn_model *model);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_DECODE_TOOL_H

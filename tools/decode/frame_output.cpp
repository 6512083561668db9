//===- frame_output.cpp - what a model of features says -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/frame_output.h"
#include "tools/decode/npy.h"
#include "tools/decode/result_json.h"

#include <filesystem>
#include <string_view>

namespace attn::tool {

std::string writeFrames(const std::string &folder, size_t line,
                        const attn_hypothesis &hypothesis, size_t frameSize,
                        std::string &error) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    error = "expected to make a folder, but got: " + problem.message() + ": " +
            folder;
    return "";
  }
  std::string path = folder + "/" + std::to_string(line) + ".npy";
  std::string_view bytes(reinterpret_cast<const char *>(hypothesis.frames),
                         hypothesis.emitted * frameSize * sizeof(float));
  return writeNpy(path, /*isInteger=*/false, {hypothesis.emitted, frameSize},
                  bytes, error)
             ? path
             : "";
}

static const char *reasonOf(const attn_hypothesis &hypothesis) {
  return hypothesis.finished  ? "threshold"
         : hypothesis.stalled ? "stalled"
                              : "maximum";
}

std::string describeFrames(const attn_hypothesis &hypothesis,
                           const std::string &file) {
  return std::to_string(hypothesis.emitted) + "\t" + reasonOf(hypothesis) +
         (file.empty() ? "" : "\t" + file);
}

void appendFramesJson(std::string &json, const attn_hypothesis &hypothesis,
                      const std::string &file, bool byHead) {
  json += "{\"frames\": " + std::to_string(hypothesis.emitted) +
          ", \"ended\": \"" + reasonOf(hypothesis) + "\"";
  if (!file.empty()) {
    json += ", \"file\": ";
    appendJsonString(json, file);
  }
  json += ", \"stop_probabilities\": ";
  appendJsonNumbers(json, hypothesis.stop_probabilities, hypothesis.emitted);
  json += ", \"alignment\": ";
  appendAlignmentJson(json, hypothesis, byHead);
  json += "}";
}

} // namespace attn::tool

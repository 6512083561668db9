//===- result_json.cpp - hypotheses as text -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/result_json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace attn::tool {

void appendJsonString(std::string &json, std::string_view text) {
  json += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      json += escaped;
    } else {
      json += c;
    }
  }
  json += '"';
}

template <typename T> static void appendNumber(std::string &json, T value) {
  if (!std::isfinite(value)) {
    json += "null";
    return;
  }
  char text[40];
  auto [end, problem] = std::to_chars(text, text + sizeof(text), value);
  (void)problem; // 40 bytes hold every number.
  json.append(text, end);
}

template <typename T>
static void appendNumbers(std::string &json, const T *values, size_t count) {
  json += '[';
  for (size_t i = 0; i < count; ++i) {
    if (i)
      json += ", ";
    appendNumber(json, values[i]);
  }
  json += ']';
}

void appendAlignmentJson(std::string &json, const attn_hypothesis &hypothesis,
                         bool byHead) {
  json += '[';
  if (hypothesis.alignment) {
    const float *weights = hypothesis.alignment;
    for (size_t row = 0; row < hypothesis.emitted; ++row) {
      if (row)
        json += ", ";
      if (!byHead) {
        appendNumbers(json, weights, hypothesis.memory_positions);
        weights += hypothesis.memory_positions;
        continue;
      }
      json += '[';
      for (size_t at = 0; at < hypothesis.memory_positions; ++at) {
        if (at)
          json += ", ";
        appendNumbers(json, weights, hypothesis.heads);
        weights += hypothesis.heads;
      }
      json += ']';
    }
  }
  json += ']';
}

void appendJson(std::string &json, const attn_hypothesis &hypothesis,
                std::string_view text, bool hasPositions, bool byHead) {
  json += "{\"text\": ";
  appendJsonString(json, text);
  json += ", \"tokens\": [";
  for (size_t i = 0; i < hypothesis.length; ++i) {
    if (i)
      json += ", ";
    appendJsonString(json, hypothesis.tokens[i]);
  }
  if (hasPositions) {
    json += "], \"positions\": [";
    for (size_t i = 0; i < hypothesis.length; ++i)
      json += (i ? ", " : "") + std::to_string(hypothesis.ids[i]);
  }
  json += "], \"score\": ";
  appendNumber(json, hypothesis.score);
  json += ", \"logprob\": ";
  appendNumber(json, hypothesis.logprob);
  json += ", \"word_logprobs\": ";
  appendNumbers(json, hypothesis.word_logprobs, hypothesis.emitted);
  json += ", \"alignment\": ";
  appendAlignmentJson(json, hypothesis, byHead);
  json += ", \"finished\": ";
  json += hypothesis.finished ? "true}" : "false}";
}

void appendJsonNumber(std::string &json, double value) {
  appendNumber(json, value);
}

void appendJsonNumbers(std::string &json, const double *values, size_t count) {
  appendNumbers(json, values, count);
}

std::string formatFixed(double value) {
  char text[340];
  // Adding zero drops the sign of a zero.
  snprintf(text, sizeof(text), "%.6f", value + 0.0);
  return text;
}

} // namespace attn::tool

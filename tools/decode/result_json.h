//===- result_json.h - hypotheses as text ---------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_RESULT_JSON_H
#define ATTN_TOOLS_DECODE_RESULT_JSON_H

#include "attn/attn.h"

#include <string>
#include <string_view>

namespace attn::tool {

/// Appends text in quotes.
void appendJsonString(std::string &json, std::string_view text);

/// Appends a hypothesis as an object. Numbers read back as they are; one that
/// is not finite becomes null. `hasPositions`: its tokens are positions, which
/// are told as numbers too. `byHead`: each weight of the alignment is an
/// array of the heads' weights.
void appendJson(std::string &json, const attn_hypothesis &hypothesis,
                std::string_view text, bool hasPositions, bool byHead);

/// Appends a number that reads back as it is, or null where it is not finite.
void appendJsonNumber(std::string &json, double value);

/// Appends an array of such numbers.
void appendJsonNumbers(std::string &json, const double *values, size_t count);

/// Appends the alignment of a hypothesis, an array of rows; see appendJson.
void appendAlignmentJson(std::string &json, const attn_hypothesis &hypothesis,
                         bool byHead);

/// With six decimals.
std::string formatFixed(double value);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_RESULT_JSON_H

//===- frame_output.h - what a model of features says -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_FRAME_OUTPUT_H
#define ATTN_TOOLS_DECODE_FRAME_OUTPUT_H

#include "attn/attn.h"

#include <cstddef>
#include <string>

namespace attn::tool {

/// Writes the features of a line to FOLDER/LINE.npy, [frames, frame size], f32.
/// The name of the file; empty, and a message, on failure.
std::string writeFrames(const std::string &folder, size_t line,
                        const attn_hypothesis &hypothesis, size_t frameSize,
                        std::string &error);

/// `frames TAB reason TAB file`: how many there are, why they end (threshold,
/// stalled or maximum) and where they are, if somewhere.
std::string describeFrames(const attn_hypothesis &hypothesis,
                           const std::string &file);

/// The same as an object, with the probabilities to stop and the alignment.
void appendFramesJson(std::string &json, const attn_hypothesis &hypothesis,
                      const std::string &file, bool byHead);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_FRAME_OUTPUT_H

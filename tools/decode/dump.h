//===- dump.h - what a model computes, for numpy ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_DUMP_H
#define ATTN_TOOLS_DECODE_DUMP_H

#include "attn/attn.h"

#include <string>
#include <vector>

namespace attn::tool {

/// Lets the model say `tokens` (target ids, an end token included) of one
/// sentence, given for each input, and writes what it makes of each name of its
/// spec into the new folder `folder`: `encoder.h.npy` of the sentence,
/// `decoder.s.npy` with the steps as its first dimension. False and a message
/// on failure.
bool dumpSentence(const attn_api &api, const attn_model *model,
                  const attn_sentences *sentence,
                  const std::vector<int32_t> &tokens, const std::string &folder,
                  std::string &error);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_DUMP_H

//===- diagnose_model.h - diagnose what a model says ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_DIAGNOSE_MODEL_H
#define ATTN_TOOLS_DECODE_DIAGNOSE_MODEL_H

#include "attn/attn.h"
#include "tools/decode/diagnose.h"
#include "tools/decode/source_line.h"

#include <string>
#include <vector>

namespace attn::tool {

/// Lets a model with an alignment say `tokens` (target ids; `finished`: the end
/// token is the last) of a line, alone, beside a longer sentence, and with the
/// positions of its inputs in reverse. `weights` become [tokens, positions],
/// averaged over heads. False and a message on failure; what the model refuses
/// besides the sentence itself is not measured.
bool diagnoseSentence(const attn_api &api, const attn_model *model,
                      const std::vector<const attn_input *> &inputs,
                      const SourceLine &line,
                      const std::vector<int32_t> &tokens, bool finished,
                      Diagnosis &diagnosis, std::vector<float> &weights,
                      std::string &error);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_DIAGNOSE_MODEL_H

//===- ensemble.h - several models as one ---------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models of other libraries are reached as their users reach them: step by
// step, through the table of each.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ENSEMBLE_H
#define ATTN_RUNTIME_ENSEMBLE_H

#include "attn/attn.h"
#include "runtime/backend.h"

#include <span>
#include <string>

namespace attn {

class Model;

/// Whether a model can decode together with another one; if not, a message.
bool checkMember(const Model &model, const attn_member &member,
                 std::string &error);

/// Answers with the mean of logits, weighted: the model's own count 1.
/// Normalised, it is the mean of log-probabilities, normalised again. Whatever
/// else there is, the alignment and the lengths of memory, is the model's.
class EnsembleBackend final : public Backend {
public:
  /// Of members that were checked.
  EnsembleBackend(const Model &model, std::span<const attn_member> members)
      : model(model), members(members) {}

  DecodingPtr encode(std::span<const SourceSpan> sentences, int64_t rows,
                     int64_t steps, Arena &memory, std::string &error) override;

private:
  const Model &model;
  std::span<const attn_member> members;
};

} // namespace attn

#endif // ATTN_RUNTIME_ENSEMBLE_H

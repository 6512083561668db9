//===- c_api.h - the C interface over any opened model --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// attn/attn.h without what needs a compiled library, so that whatever has a
// Backend can be used like a library.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_C_API_H
#define ATTN_RUNTIME_C_API_H

#include "attn/attn.h"
#include "runtime/model.h"

#include <memory>

struct attn_model {
  std::unique_ptr<attn::Model> model;
  attn_model_info info;
  std::vector<attn_vocabulary> vocabularies;
  std::vector<std::vector<const char *>> tokens; ///< By vocabulary.
};

namespace attn {

/// The table with `name`, `has_weights` and `open` left null.
attn_api modelApi();

/// Adds the functions that decode step by step to a table.
void addStepApi(attn_api &api);

/// Makes an opened model a handle; the table's `close` gives it back.
attn_model *wrapModel(std::unique_ptr<Model> model);

/// Drops the message of an error, which may be null.
void clearError(attn_error *error);

/// Stores a failure in an error, which may be null. Does not throw.
void setError(attn_error *error, attn_status status, const char *message);

/// Copies an options structure that the caller may know in an older or a newer
/// version onto defaults. False and a message where that cannot be.
bool copyOptions(void *to, size_t size, const void *from, const char *name,
                 std::string &error);

/// Whether sentences are given as they must be; if not, a message.
bool checkSentences(const attn_sentences &sentences, const char *what,
                    std::string &error);

/// Writes the ids of one sentence of a caller's, as many as it is long. False
/// and a message on failure.
bool readSentence(const attn_sentences &sentences, size_t number,
                  const Vocabulary &vocabulary, int32_t *ids,
                  std::string &error);

} // namespace attn

#endif // ATTN_RUNTIME_C_API_H

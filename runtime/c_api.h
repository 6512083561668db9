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
  std::vector<attn_input> inputs;
};

namespace attn {

/// The table with `name`, `has_weights` and `open` left null.
attn_api modelApi();

/// What a sentence of at most `longest` positions for any input takes.
void takeSource(const Model &model, size_t longest, Layout &layout);

/// Adds the functions that decode step by step to a table.
void addStepApi(attn_api &api);

/// Makes an opened model a handle; the table's `close` gives it back.
attn_model *wrapModel(std::unique_ptr<Model> model);

/// Drops the message of an error, which may be null.
void clearError(attn_error *error);

/// Stores a failure in an error, which may be null. Does not throw.
void setError(attn_error *error, attn_status status, const char *message);

/// The same, of the exception that is being handled.
void setCaught(attn_error *error);

/// Copies an options structure that the caller may know in an older or a newer
/// version onto defaults. False and a message where that cannot be.
bool copyOptions(void *to, size_t size, const void *from, const char *name,
                 std::string &error);

/// What a caller gives for each input of a model: an array of structures, whose
/// size is the caller's.
class SourceSentences {
public:
  /// Whether they are given as they must be; if not, a message.
  bool read(const Model &model, const attn_sentences *given,
            std::string &error);

  /// How many sentences there are.
  size_t count() const { return first ? (*this)[0].count : 0; }
  /// The longest that a sentence is for any input.
  size_t longest() const;
  /// What is given for an input; for a model without an encoder there is one.
  attn_sentences operator[](size_t input) const;

  /// Reads one sentence for all inputs. Takes the memory that `takeSource`
  /// says. False and a message on failure.
  bool read(const Model &model, size_t number, Arena &memory,
            std::span<InputSource> &source, std::string &error) const;

private:
  const char *first = nullptr;
  size_t stride = 0, inputs = 0;
};

} // namespace attn

#endif // ATTN_RUNTIME_C_API_H

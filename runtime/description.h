//===- description.h - what a compiled model says of itself ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The description of docs/architecture.md as structures.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_DESCRIPTION_H
#define ATTN_RUNTIME_DESCRIPTION_H

#include "runtime/vocabulary.h"
#include "runtime/weights.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// An axis that sequences lie on: the length of an input, or the length of
/// another axis divided by a stride and rounded up.
struct Axis {
  std::string name;
  int32_t input = -1; ///< -1: the axis is derived.
  int32_t of = -1;    ///< An axis before this one.
  int64_t stride = 1;
};

/// What limits the length of a sequence: a table that is indexed by its
/// positions (R20).
struct LengthLimit {
  int64_t length = 0; ///< Of the sequence at most, its end token included.
  std::string table;  ///< A parameter, or empty.
  int64_t size = 0;   ///< The rows of the table.

  /// "at most 5 tokens, because 'encoder.places' has 5 rows"
  std::string describe(const char *what) const;
};

/// The input whose length an axis is, or is derived from.
size_t axisInput(const std::vector<Axis> &axes, int32_t axis);

/// An input of the encoder: tokens of a vocabulary, or features.
struct Input {
  std::string name;
  int32_t vocabulary = -1;      ///< -1: features.
  std::vector<int64_t> shape{}; ///< Of the features of one position.
  bool end = false; ///< Whether the end token is added to each sentence.
  int32_t axis = 0; ///< That of an input, not a derived one.
  std::optional<LengthLimit> limit{};

  bool isTokens() const { return vocabulary >= 0; }
  /// The numbers that a position has.
  int64_t width() const;
};

/// What the decoder emits.
struct Target {
  enum class Kind {
    Tokens,    ///< of a vocabulary
    Positions, ///< of the memories on an axis
    Features   ///< vectors of numbers
  };
  int32_t vocabulary = 0; ///< Of tokens.
  int32_t start = -1;     ///< -1: a zero vector precedes the first one.
  std::optional<LengthLimit> limit;
  Kind kind = Kind::Tokens;
  int32_t axis = 0;             ///< Of positions.
  std::vector<int64_t> shape{}; ///< Of features.

  /// The numbers of a vector of features, 0 where it emits none.
  int64_t width() const;
};

/// The read whose weights are reported.
struct Alignment {
  int32_t axis = 0;
  int64_t heads = 1;
};

/// One dimension of a buffer.
struct Dimension {
  enum class Kind { Number, Sentences, Rows, Past, Slots, Best, Outputs, Axis };
  Kind kind = Kind::Number;
  int64_t number = 0; ///< The size, or the number of the axis.
};

enum class BufferRole {
  Parameter,
  Prepared,
  Input,
  Length,
  Memory,
  MemoryLength,
  InitialState,
  State,
  NextState,
  Token,
  Position,
  Sentence,
  Slot, ///< [rows, past] where each row's past positions are kept
  Past, ///< [slots, ...] one cache
  TargetLength,
  Logits,
  BestLogit, ///< [rows, best] instead of logits: the best ones, in order
  BestToken, ///< [rows, best] their tokens
  ChunkSum,  ///< [rows, 2, chunks] maxima, and sums of exponentials
  Weights,
  Frame,     ///< [rows, ...] the features before
  NextFrame, ///< [rows, ...] the features predicted
  Stop,      ///< [rows] the logit of the probability that they are the last
  Observed
};

/// One buffer of a program.
struct Buffer {
  BufferRole role = BufferRole::Parameter;
  int32_t index = 0;
  std::string type = "f32";
  std::vector<Dimension> dims;
  std::string name; ///< Of an observed value.
  /// Whether it is a constant of the output layer, the packed weight [outputs /
  /// 16, ..., 16] or the bias [outputs], that another one of fewer outputs may
  /// take the place of.
  bool ofOutputs = false;
};

using Program = std::vector<Buffer>;

struct Description {
  std::string model;
  std::string precision; ///< Of the weights of products, as for `attnc`.
  std::vector<Vocabulary> vocabularies;
  std::vector<Axis> axes;
  std::vector<Input> inputs;
  Target target;
  std::optional<Alignment> alignment;
  std::vector<Parameter> parameters;
  /// Tensors of a weights file that may stay unused, see Weights::bind.
  std::vector<std::string> ignored;
  Program prepare;
  Program encode;
  Program step;
  /// Empty where the model has no parallel form.
  Program force;

  /// The input on whose positions an input lies: mostly itself.
  size_t inputOver(const Input &input) const {
    return axisInput(axes, input.axis);
  }
  bool emits(Target::Kind kind) const { return target.kind == kind; }
  /// Which vocabulary hypotheses are made of; an empty one where they are made
  /// of something else.
  const Vocabulary &targetVocabulary() const {
    static const Vocabulary none;
    return emits(Target::Kind::Tokens)
               ? vocabularies[static_cast<size_t>(target.vocabulary)]
               : none;
  }
  /// Whether the last one of the target's positions is a source's end token.
  bool positionsEnd() const;
};

/// The length of an axis where that input has the given length.
int64_t axisLength(const std::vector<Axis> &axes, int32_t axis,
                   int64_t inputLength);

/// The bytes of an element of a buffer's type, 0 for unknown types.
size_t bufferTypeSize(std::string_view type);

/// Whether the parts of a description fit each other; if not, a message.
bool checkDescription(const Description &description, std::string &error);

/// Reads a description and checks it.
bool parseDescription(std::string_view json, Description &description,
                      std::string &error);

} // namespace attn

#endif // ATTN_RUNTIME_DESCRIPTION_H

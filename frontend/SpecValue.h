//===- SpecValue.h - what an expression of a spec denotes -------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_SPECVALUE_H
#define ATTN_FRONTEND_SPECVALUE_H

#include "frontend/AST.h"
#include "frontend/Shapes.h"

#include "dialect/Axes.h"
#include "mlir/IR/Value.h"

#include <memory>

namespace mlir::attn::frontend {

/// What the elements of a value are.
enum class Element { Real, Integer, Boolean, Token };

/// What a value is computed for. A value of a lower level meets one of a higher
/// level by being repeated.
enum class Level {
  Constant, // the whole model: parameters and numbers
  Sentence, // every sentence
  Row,      // every row of a decoder step, that is, every hypothesis
  Pair,     // one query and one memory position, in an attention block
};

/// A sequence that values lie on. Two values lie on one sequence exactly if
/// they share the object.
struct SequenceAxis {
  /// What messages call it: an input, a memory, "past".
  std::string name;
  /// One length per sentence or per row, as the level says.
  mlir::Value lengths;
  Level level = Level::Sentence;
  /// The number of the memory axis it is, in a decoder; -1 for others.
  int64_t memoryIndex = -1;
  llvm::SMLoc declared;
};

/// A number known at compile time.
struct Constant {
  bool isInteger = true;
  int64_t integer = 0;
  double real = 0;

  static Constant get(int64_t value) {
    return {true, value, static_cast<double>(value)};
  }
  static Constant get(double value) { return {false, 0, value}; }
};

struct VocabularyInfo;
struct Read;

/// A value of the language: a number, a tensor with axes and features, or the
/// state of an LSTM. An error has been reported and silences what uses it.
struct SpecValue {
  enum class Kind { Error, Number, Tensor, LstmState };

  Kind kind = Kind::Error;
  Constant number;

  /// The tensor, or the hidden vector of a state.
  mlir::Value ir;
  /// The cell of a state.
  mlir::Value cell;
  Element element = Element::Real;
  Level level = Level::Constant;
  /// The sequence the value lies on, or none.
  const SequenceAxis *axis = nullptr;
  /// The vocabulary of tokens.
  const VocabularyInfo *vocabulary = nullptr;
  /// The read that the value is the context of: `c.weights`, `c.valid`.
  std::shared_ptr<const Read> read;
  /// A tensor of ones that stands for the weights of a sum; factors of it
  /// vanish.
  bool isOne = false;

  bool isError() const { return kind == Kind::Error; }
  bool isNumber() const { return kind == Kind::Number; }
  bool isTensor() const { return kind == Kind::Tensor; }
  bool isState() const { return kind == Kind::LstmState; }

  /// The features; none for a number.
  ShapeRef getShape() const {
    return ir ? mlir::attn::getFeatures(ir.getType()) : ShapeRef();
  }
  unsigned getNumAxes() const {
    return ir ? mlir::attn::getNumAxes(ir.getType()) : 0;
  }
  bool isReal() const { return element == Element::Real; }

  static SpecValue get(Constant number) {
    SpecValue value;
    value.kind = Kind::Number;
    value.number = number;
    value.element = number.isInteger ? Element::Integer : Element::Real;
    return value;
  }
  static SpecValue getTensor(mlir::Value ir, Element element, Level level,
                             const SequenceAxis *axis = nullptr) {
    SpecValue value;
    value.kind = Kind::Tensor;
    value.ir = ir;
    value.element = element;
    value.level = level;
    value.axis = axis;
    return value;
  }
  /// A tensor where this one is, with other elements or features.
  SpecValue withTensor(mlir::Value tensor, Element newElement) const {
    SpecValue value = getTensor(tensor, newElement, level, axis);
    if (newElement == Element::Token)
      value.vocabulary = vocabulary;
    return value;
  }
  SpecValue withTensor(mlir::Value tensor) const {
    return withTensor(tensor, element);
  }
};

/// What a call of an attention block leaves beside its context.
struct Read {
  SpecValue weights;
  SpecValue valid;
  /// Computes the scores, -inf where the position is masked. Absent where they
  /// say nothing.
  std::function<SpecValue()> makeScores;
  /// Whether anything but the scores matters is known where the decoder ends:
  /// the context, and whether the scores were asked for.
  mlir::Value context;
  mutable bool scoresUsed = false;
  /// The path of the call: `decoder.layer.5.cross`.
  std::string path;
  /// The queries' sequence, or null for one query.
  const SequenceAxis *queries = nullptr;
  /// The calls that lead to the read from the body of the decoder: the same in
  /// every turn of a repeat.
  llvm::SmallVector<const CallExpr *, 4> site;
};

/// What messages call the kind of elements: "real numbers".
llvm::StringRef describe(Element element);

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_SPECVALUE_H
